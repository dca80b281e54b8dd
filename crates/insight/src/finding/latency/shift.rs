//! `level-shift`: round trips went from one level to another and stayed there, as when a route fails over. Nothing need be
//! lost for it.

use super::super::{Finding, Severity};
use super::name;
use model::latency::{EgressResult, HostNoise};
use model::run::Run;

/// Each shift of each path.
pub(in super::super) fn level_shift(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let largest = egress.shifts.iter().max_by_key(|shift| shift.from.0.abs_diff(shift.to.0))?;
    let name = name(run, egress);
    let parts: Vec<String> = egress
        .shifts
        .iter()
        .take(MOST_REPORTED)
        .map(|shift| format!("from {} to {} at {} into the run", shift.from, shift.to, shift.at))
        .collect();
    let more = match egress.shifts.len().saturating_sub(MOST_REPORTED) {
        0 => String::new(),
        more => format!(", and {more} times more"),
    };
    let title = format!("The round trip {name} changed its level {}{more}", parts.join(", "));
    // A thread that waits for a CPU beside other work makes a level of its own.
    let busy = run.summary.noise.filter(HostNoise::is_busy).map(|noise| noise.longest_wait());
    let may_be_host = busy.is_some_and(|wait| largest.from.0.abs_diff(largest.to.0) < wait.0);
    let severity = if may_be_host { Severity::Info } else { Severity::Warning };
    let finding = Finding::new("level-shift", severity, None, title)
        .with("from_ns", largest.from.0)
        .with("to_ns", largest.to.0)
        .with("at_ns", largest.at.0)
        .with("shifts_count", egress.shifts.len() as u64);
    Some(finding.advise(
        "Compare the time with the logs of routers: a route that failed over, a tunnel or a radio link that took another path. The median and the percentiles are of both levels together: measure again to have those of the new one.",
    ))
}

/// More changes do not fit a sentence.
const MOST_REPORTED: usize = 3;
