//! The heading: from where to where, and what the test does.

use super::super::{Paint, Style};
use super::phrases;
use model::host::Host;
use model::plan::Plan;
use model::units::count;

/// The heading of one test; `from` names this end.
pub(super) fn of_plan(plan: &Plan, from: Option<&str>, style: &Style) -> String {
    let title = format!("Throughput to {}: {}", plan.target.host, phrases::test(&plan.test));
    let from = from.map(|from| format!("from {from} ")).unwrap_or_default();
    let route = format!("{from}to {}, {} protocol", plan.target.address, plan.protocol);
    join(&title, &[route], style)
}

pub(in crate::format) fn host_line(host: &Host) -> String {
    let mut parts = vec![host.name.clone()];
    parts.extend(Some(&host.kernel).filter(|kernel| !kernel.is_empty()).cloned());
    if host.cpus > 0 {
        parts.push(count(host.cpus, "CPU"));
    }
    if let Some(nic) = &host.nic {
        let speed = match (nic.link_bps, nic.is_virtual) {
            (Some(rate), _) => format!(", {rate}"),
            (None, true) => ", virtual".into(),
            (None, false) => String::new(),
        };
        parts.push(format!("{} (MTU {}{speed})", nic.name, nic.mtu));
    }
    parts.push(host.version.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

pub(super) fn join(title: &str, lines: &[String], style: &Style) -> String {
    let title: String =
        style.wrap(title, 0).iter().map(|line| style.paint(Paint::Bold, line) + "\n").collect();
    let lines = lines.iter().flat_map(|line| style.wrap(line, 2));
    title + &lines.map(|line| format!("  {}\n", style.paint(Paint::Dim, &line))).collect::<String>()
}
