//! `outage` of round trips: no reply came for a while, and then again, or never.

use super::super::outage::{ADVICE, END, LEAST, LONG, SILENT};
use super::super::text::count;
use super::super::{Finding, Severity};
use super::{each_way, name};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;

/// For a second or more no reply came, and so many messages in a row were lost as chance does not lose.
pub(in super::super) fn outage(run: &Run) -> Vec<Finding> {
    each_way(run, finding)
}

fn finding(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let silence = egress.silence.filter(|silence| silence.length >= LEAST)?;
    let missing = silence.missing?;
    let counted = &egress.counted;
    // Of the other messages, one at least: of none nothing is known.
    let (sent, lost) = (counted.asked.saturating_sub(missing), counted.lost.saturating_sub(missing));
    let usual = lost.max(1) as f64 / sent.max(1) as f64;
    let by_chance = usual.min(1.0).powf(missing as f64) * sent as f64;
    if by_chance > CHANCE || counted.received == 0 {
        return None;
    }
    let (at, length) = (silence.at, silence.length);
    let name = name(run, egress);
    let lost = count(missing, "message");
    let title = match silence.ended {
        true => format!(
            "No reply came {name} for {length}, from {at} into the run on, and {lost} in a row were lost"
        ),
        false => format!("No reply came {name} any more from {at} into the run on, for {length} to its end"),
    };
    let long = !silence.ended || length >= LONG;
    let severity = if long { Severity::Problem } else { Severity::Warning };
    let finding = Finding::new("outage", severity, Direction::Up, title)
        .everywhere()
        .with("began_ns", at.0)
        .with("length_ns", length.0)
        .with("lost_count", missing)
        .with(END, if silence.ended { "replies came again" } else { SILENT });
    Some(finding.advise(format!("{ADVICE} Percentiles are of the replies that came.")))
}

/// How often chance loses so many in a row in such a run.
const CHANCE: f64 = 0.01;
