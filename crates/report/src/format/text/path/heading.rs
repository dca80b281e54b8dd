//! The request of the run, its far end and its method; and the questions that it could not answer.

use super::super::super::{Paint, Style};
use super::super::heading::{host_line, join};
use model::path::{PathMethod, PathPlan, PathResult, PathStarted, Unknown};
use model::plan::Direction;
use model::run::Run;

/// The heading as the run begins.
pub(in super::super) fn started(begun: &PathStarted, style: &Style) -> String {
    let mut lines = vec![route(&begun.plan, begun.plan.method)];
    lines.push(format!("this end: {}", host_line(&begun.host)));
    lines.extend(begun.peer.as_ref().map(|host| format!("far end: {}", host_line(host))));
    join(&subject(Some(&begun.plan)), &lines, style)
}

/// The heading of a run, stored or just finished.
pub(in super::super) fn of_run(run: &Run, style: &Style) -> String {
    let method = run.summary.path.as_ref().map(|path| path.method);
    let mut lines: Vec<String> = Vec::new();
    lines.extend(run.path.as_ref().map(|plan| route(plan, method.unwrap_or(plan.method))));
    lines.extend(run.started.map(|started| format!("started {started}")));
    lines.extend(run.host.as_ref().map(|host| format!("this end: {}", host_line(host))));
    lines.extend(run.peer.as_ref().map(|host| format!("far end: {}", host_line(host))));
    join(&subject(run.path.as_ref()), &lines, style)
}

/// `Packet sizes on the path to far.example`.
pub(in crate::format) fn subject(plan: Option<&PathPlan>) -> String {
    match plan {
        Some(PathPlan { target, service: Some(service), .. }) => {
            format!("The largest datagram that UDP port {} of {} answers", service.port, target.host)
        }
        Some(plan) => format!("Packet sizes on the path to {}", plan.target.host),
        None => "Packet sizes on a path".into(),
    }
}

fn route(plan: &PathPlan, method: PathMethod) -> String {
    let ip = plan.target.address.ip();
    if plan.service.is_some() {
        return format!("to {ip}");
    }
    // Without a port several are tried.
    let address = match plan.target.address.port() {
        0 => ip.to_string(),
        _ => plan.target.address.to_string(),
    };
    match method {
        PathMethod::Auto => format!("to {address}, whatever answers"),
        PathMethod::Native => format!("to {address}, with pathmeter at the far end"),
        PathMethod::Icmp => format!("to {ip}, by ICMP echo"),
        PathMethod::Udp => format!("to {ip}, by datagrams to closed ports"),
        PathMethod::Tcp => format!("to {address}, by TCP"),
    }
}

/// The list of what could not be found out, and what it takes.
pub(super) fn not_known(path: &PathResult, style: &Style) -> String {
    if path.unknown.is_empty() {
        return String::new();
    }
    let mut text = super::title("Not known", style);
    for one in &path.unknown {
        for (index, line) in style.wrap(&unknown(one), 4).iter().enumerate() {
            let mark = if index == 0 { style.paint(Paint::Warning, "? ") } else { "  ".into() };
            text.push_str(&format!("  {mark}{line}\n"));
        }
    }
    text
}

/// `down: fragments: …`
pub(in crate::format) fn unknown(unknown: &Unknown) -> String {
    let direction = unknown.direction.map(|direction| format!(" {direction}")).unwrap_or_default();
    format!("{}{direction}: {}", insight::finding::capital(&unknown.what), unknown.why)
}

/// The directions that were looked at.
pub(super) fn known_ways(path: &PathResult) -> Vec<Direction> {
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter(|direction| path.in_direction(*direction).is_some())
        .collect()
}
