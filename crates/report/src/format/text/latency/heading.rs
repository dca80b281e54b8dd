//! The heading of a latency run: to where, how, and by which paths.

use super::super::super::Style;
use super::super::heading::join;
use super::super::lines::without_marks;
use super::super::phrases;
use model::latency::{EgressEnds, LatencyMode, LatencyPlan, LatencyStarted, WaitMode};
use model::plan::{ENDLESS, End};
use model::units::count;

/// The text on a terminal when the paths are open.
pub(in super::super) fn started(begun: &LatencyStarted, style: &Style) -> String {
    let plan = &begun.plan;
    let ends = plan.egress_paths.iter().zip(&begun.ends);
    let mut lines: Vec<String> = match begun.ends.as_slice() {
        [one] => vec![format!("from {}, {} protocol", ends_line(one), plan.protocol)],
        _ => {
            let several = ends.map(|(egress, ends)| format!("{}: {}", egress.label, ends_line(ends)));
            std::iter::once(format!("{} protocol", plan.protocol)).chain(several).collect()
        }
    };
    lines.push(waits(plan));
    join(&without_marks(&title(plan)), &lines, style)
}

/// What is measured, and to where.
pub(in crate::format) fn title(plan: &LatencyPlan) -> String {
    let hosts = plan.egress_paths.iter().map(|egress| format!("`{}`", egress.target.host));
    let mut hosts: Vec<String> = hosts.collect();
    hosts.dedup();
    let by = match (plan.egress_paths.len(), hosts.as_slice()) {
        (0 | 1, _) => String::new(),
        (egress_paths, _) => format!(" by {egress_paths} paths"),
    };
    let to = match hosts.as_slice() {
        [first, _, ..] => format!("{first} and {} more", count(hosts.len() as u64 - 1, "host")),
        hosts => hosts.join(", "),
    };
    format!("Latency to {to}{by}: {}", phrase(plan))
}

/// A latency run in a phrase: `UDP ping-pong, 64-byte messages, 10 s`.
pub(in crate::format) fn phrase(plan: &LatencyPlan) -> String {
    let mode = match plan.mode {
        LatencyMode::UnderLoad => "at a fixed rate".into(),
        LatencyMode::Throughput => "one way".into(),
        mode => mode.to_string(),
    };
    let size = match plan.mode {
        LatencyMode::Playback => format!("messages of up to {} bytes", plan.size),
        _ => format!("{}-byte messages", plan.size),
    };
    let mut parts = vec![format!("{} {mode}", plan.transport), size];
    parts.extend(plan.rate.map(|rate| rate.to_string()));
    parts.push(match plan.end {
        End::Time(ENDLESS) => phrases::UNTIL_STOPPED.into(),
        End::Time(time) => phrases::span(time),
        End::Bytes(bytes) => bytes.to_string(),
        End::Blocks(messages) => count(messages, "message"),
    });
    if plan.load.is_some() {
        parts.push("idle and under load".into());
    }
    parts.join(", ")
}

/// `10.0.0.4:40000 (seen as 203.0.113.7:40000) to 192.0.2.7:5210`.
pub(in crate::format) fn ends_line(ends: &EgressEnds) -> String {
    let observed =
        ends.seen_as.filter(|observed| observed.ip().to_canonical() != ends.local.ip().to_canonical());
    let observed = observed.map(|observed| format!(" (seen as {observed})")).unwrap_or_default();
    format!("{}{observed} to {}", ends.local, ends.remote)
}

/// How this end waits, and what that costs.
pub(in crate::format) fn waits(plan: &LatencyPlan) -> String {
    let how = match plan.wait {
        WaitMode::Spin => "waits by spinning",
        WaitMode::Hybrid => "spins for 50 µs, then sleeps",
        WaitMode::Block => "waits in the kernel",
    };
    let why = plan.wait_reason.trim_end_matches('.');
    if why.is_empty() { how.into() } else { format!("{how}: {why}") }
}
