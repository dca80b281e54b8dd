//! `outage` of round trips: no reply came for a while, and then again, or never.

use super::super::outage::{ADVICE, END, LONG, SILENT};
use super::super::text::count;
use super::super::{Finding, Severity};
use super::{directed, name};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;
use model::sample::Silence;
use model::units::Nanos;

/// The outages of a path: of those that were observed, the ones that chance does not make.
pub(super) fn outages(egress: &EgressResult) -> Vec<Silence> {
    if egress.counted.received == 0 {
        return Vec::new();
    }
    let all = match egress.outages.as_slice() {
        [] => egress.silence.as_slice(),
        all => all,
    };
    let worth = |one: &&Silence| one.length >= shortest(egress) && one.missing > Some(0);
    let candidates: Vec<Silence> = all.iter().filter(worth).copied().collect();
    // The share of the other messages that is usually lost, by the rule of succession: a single reply does not make it 100 %.
    let within: u64 = candidates.iter().filter_map(|one| one.missing).fold(0, u64::saturating_add);
    let (sent, lost) =
        (egress.counted.asked.saturating_sub(within), egress.counted.lost.saturating_sub(within));
    let usual = (lost as f64 + 1.0) / (sent as f64 + 2.0);
    let is_chance = |one: &Silence| usual.powf(one.missing.unwrap_or(0) as f64) * sent as f64 > CHANCE;
    candidates.into_iter().filter(|one| !is_chance(one)).collect()
}

/// Messages lost in outages.
pub(super) fn lost_in_outages(egress: &EgressResult) -> u64 {
    let missing = outages(egress).iter().filter_map(|one| one.missing).fold(0, u64::saturating_add);
    missing.min(egress.counted.lost)
}

/// Some intervals between messages, and longer than a burst of loss.
fn shortest(egress: &EgressResult) -> Nanos {
    let interval = egress.elapsed.0 / egress.counted.asked.max(1);
    Nanos(interval.saturating_mul(INTERVALS)).clamp(LEAST, MOST)
}

/// Reports messages lost in a row where chance does not explain it.
pub(in super::super) fn outage(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let outages = outages(egress);
    let longest = outages.iter().max_by_key(|one| (!one.ended, one.length))?;
    let missing = longest.missing?;
    let (at, length) = (longest.at, longest.length);
    let name = name(run, egress);
    let lost = count(missing, "message");
    let title = match longest.ended {
        true => format!(
            "No reply came {name} for {length}, from {at} into the run on, and {lost} in a row were lost"
        ),
        false => format!("No reply came {name} any more from {at} into the run on, for {length} to its end"),
    };
    let all: Nanos = outages.iter().map(|one| one.length).sum();
    let more = match outages.len() {
        1 => String::new(),
        number => format!("; with others, {number} such times of {all} in all"),
    };
    let long = !longest.ended || length >= LONG;
    let severity = if long { Severity::Problem } else { Severity::Warning };
    let finding = Finding::new("outage", severity, Direction::Up, title + &more);
    let finding = directed(finding, egress.counted.lost_up, egress.counted.lost_down)
        .with("began_ns", at.0)
        .with("length_ns", length.0)
        .with("lost_count", missing)
        .with("outages_count", outages.len() as u64)
        .with("outages_total_ns", all.0)
        .with("outages_lost_count", lost_in_outages(egress))
        .with(END, if longest.ended { "replies came again" } else { SILENT });
    Some(finding.advise(format!("{ADVICE} Percentiles are of the replies that came.")))
}

/// How often chance loses so many in a row in such a run.
const CHANCE: f64 = 0.01;
/// Intervals between messages.
const INTERVALS: u64 = 5;
const LEAST: Nanos = Nanos::from_millis(100);
/// A silence of this length is an outage in any case.
const MOST: Nanos = Nanos::from_secs(1);
