//! The plan of a plan, shown before the first frame: what is done how often, and how long it takes at most.

use crate::commands::progress::about;
use engine::run::DevicePlan;
use model::dut::{PlanRow, Setup};
use model::plan::Directions;
use model::units::Nanos;
use report::format::Style;
use std::fmt::Write;

/// The plan for people, as wide as the screen.
pub(super) fn text(plan: &DevicePlan, style: &Style) -> String {
    let style = &style.prose();
    let mut text = String::new();
    for bench in &plan.benches {
        let title = bench.device.title().map(|title| format!(": {title}")).unwrap_or_default();
        let _ = writeln!(text, "{}{title}", bench.device.name());
    }
    let setup = &plan.setup;
    let names: Vec<String> = setup.streams.iter().map(ToString::to_string).collect();
    text.push_str(&style.list(&[format!("Frames: {}; {}", joined(&names), directions(setup))], "  "));
    let trials = setup.plan();
    for test in &setup.tests {
        let rows: Vec<&PlanRow> = trials.rows.iter().filter(|row| row.test == *test).collect();
        let Some(first) = rows.first() else { continue };
        let count = rows.iter().map(|row| row.trials).max().unwrap_or_default();
        let most: Nanos = rows.iter().map(|row| row.most).sum();
        let only = if rows.len() < names.len() { format!(" ({} only)", first.stream) } else { String::new() };
        let each = format!("{count} × {}", first.trial);
        let _ = writeln!(text, "  {:<22} {each:<16} at most {}{only}", test.to_string(), about(most));
    }
    text.push_str(&style.list(&plan.notes, "  - "));
    let each = if plan.benches.len() > 1 { " for all" } else { "" };
    let most = format!(
        "At most {}{each}, but for trials that this host spoils, which are repeated. Ctrl-C ends it with what was measured.",
        about(plan.most())
    );
    text + &style.list(&[most], "")
}

/// From which port to which.
fn directions(setup: &Setup) -> &'static str {
    match setup.streams.first().map(|stream| stream.directions) {
        Some(Directions::Both) => "both directions at once",
        Some(Directions::Down) => "from the second port to the first",
        _ => "from the first port to the second",
    }
}

/// `IPv4 64, 512, 1518, IPv6 78`: the name of the IP version where it changes.
fn joined(streams: &[String]) -> String {
    let mut last = "";
    let mut parts = Vec::new();
    for stream in streams {
        let (network, frames) = stream.split_once(' ').unwrap_or(("", stream));
        parts.push(if network == last { frames.to_owned() } else { stream.clone() });
        last = network;
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ip_version_stands_where_it_changes() {
        assert_eq!(joined(&["IPv4 64", "IPv4 imix", "IPv6 84"].map(str::to_owned)), "IPv4 64, imix, IPv6 84");
    }
}
