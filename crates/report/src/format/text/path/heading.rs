//! The request of the run, its far end and its method; and the questions that it could not answer.

use super::super::super::Style;
use super::super::heading::{host_line, join};
use model::path::{PathMethod, PathPlan, PathResult, PathStarted, Unknown};
use model::plan::Direction;

/// The text on a terminal when a run about packet sizes begins.
pub fn started(begun: &PathStarted, style: &Style) -> String {
    let mut lines = vec![format!("to {}", route(&begun.plan, begun.plan.method))];
    lines.push(format!("this end: {}", host_line(&begun.host)));
    lines.extend(begun.peer.as_ref().map(|host| format!("far end: {}", host_line(host))));
    join(&subject(Some(&begun.plan)), &lines, style)
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

/// The far end and the kind of probes.
pub(in crate::format) fn route(plan: &PathPlan, method: PathMethod) -> String {
    let ip = plan.target.address.ip();
    if plan.service.is_some() {
        return ip.to_string();
    }
    // Without a port several are tried.
    let address = match plan.target.address.port() {
        0 => ip.to_string(),
        _ => plan.target.address.to_string(),
    };
    match method {
        PathMethod::Auto => format!("{address}, whatever answers"),
        PathMethod::Native => format!("{address}, with pathmeter at the far end"),
        PathMethod::Icmp => format!("{ip}, by ICMP echo"),
        PathMethod::Udp => format!("{ip}, by datagrams to closed ports"),
        PathMethod::Tcp => format!("{address}, by TCP"),
    }
}

/// `down: fragments: …`
pub(in crate::format) fn unknown(unknown: &Unknown) -> String {
    let direction = unknown.direction.map(|direction| format!(" ({direction})")).unwrap_or_default();
    format!("{}{direction}: {}", insight::finding::capital(&unknown.what), unknown.why)
}

/// The directions that were looked at.
pub(in crate::format) fn known_directions(path: &PathResult) -> Vec<Direction> {
    Direction::BOTH.into_iter().filter(|direction| path.in_direction(*direction).is_some()).collect()
}
