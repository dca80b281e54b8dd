//! Messages that never came back, and messages that this host did not send in time.

use super::super::text::{count, grouped, percent};
use super::super::{Finding, Severity};
use super::{each_way, name, one_way, share, silence};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;

/// Round trips lost on the path, or one-way messages that the far end did not receive.
pub(in super::super) fn loss(run: &Run) -> Vec<Finding> {
    each_way(run, |run, egress| if one_way(run) { messages(run, egress) } else { round_trips(run, egress) })
}

/// This host could not keep the times at which messages were due.
pub(in super::super) fn behind(run: &Run) -> Vec<Finding> {
    each_way(run, late)
}

fn round_trips(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    let part = share(counted.lost, counted.asked);
    if !worth_telling(counted.lost, part) || silence::silent(run, egress) {
        return None;
    }
    let place = match (counted.lost_up, counted.lost_down) {
        (Some(up), Some(down)) => format!(": {up} up, {down} down"),
        _ => String::new(),
    };
    let place = match silence::said(run) {
        Some(said) => format!("{place}; {said}"),
        None => place,
    };
    let title = format!(
        "{} {} never came back ({} of {}){place}",
        count(counted.lost, "round trip"),
        name(run, egress),
        percent(part),
        grouped(counted.asked)
    );
    let finding = Finding::new("path-loss", Severity::Warning, Direction::Up, title);
    let finding = directed(finding, counted.lost_up, counted.lost_down)
        .with("lost_count", counted.lost)
        .with("lost_share", part)
        .with("asked_count", counted.asked);
    Some(finding.advise(
        "Round trips send little, so that this is no limit of rate: look for errors on the line (`ip -s link`), a device that limits or drops such packets, or a far end without time to answer.",
    ))
}

fn messages(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let (sent, arrived) = (egress.counted.sent, egress.counted.far_received?);
    let lost = sent.saturating_sub(arrived);
    let part = share(lost, sent);
    if !worth_telling(lost, part) || silence::silent(run, egress) {
        return None;
    }
    let paced = run.latency.as_ref().is_some_and(|plan| plan.rate.is_some());
    let severity = if paced { Severity::Warning } else { Severity::Info };
    let title = format!(
        "{} {} did not arrive ({} of {}) at {}",
        count(lost, "message"),
        name(run, egress),
        percent(part),
        grouped(sent),
        egress.sent_rate
    );
    let finding = Finding::new("path-loss", severity, Direction::Up, title)
        .with("lost_count", lost)
        .with("lost_share", part)
        .with("sent_count", sent)
        .with("sent_per_second", egress.sent_rate.0);
    Some(finding.advise(match paced {
        true => "Measure at half the rate (`--rate`): loss that stays has its cause on the line, loss that goes is a limit of rate.",
        false => "Expected above the capacity of the path or of the far end. Send less than arrived: `--rate`.",
    }))
}

fn late(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    let part = share(counted.behind, counted.sent);
    if part < BEHIND {
        return None;
    }
    let title = format!(
        "This host sent {} {} later than they were due ({})",
        count(counted.behind, "message"),
        name(run, egress),
        percent(part)
    );
    let finding = Finding::new("sender-limited", Severity::Warning, Direction::Up, title)
        .with("behind_count", counted.behind)
        .with("behind_share", part)
        .with("sent_per_second", egress.sent_rate.0);
    Some(finding.advise(
        "Ask for a lower rate (--rate), or let the thread spin: `pathmeter latency HOST --wait spin`.",
    ))
}

/// The direction, where only one of them lost.
fn directed(finding: Finding, up: Option<u64>, down: Option<u64>) -> Finding {
    let mut finding = match (up, down) {
        (Some(1..), Some(0)) => finding,
        (Some(0), Some(1..)) => Finding { direction: Some(Direction::Down), ..finding },
        _ => finding.everywhere(),
    };
    for (name, lost) in [("lost_up_count", up), ("lost_down_count", down)] {
        if let Some(lost) = lost {
            finding = finding.with(name, lost);
        }
    }
    finding
}

/// One or two lost of thousands are an accident; of a few, they are not.
fn worth_telling(lost: u64, part: f64) -> bool {
    part >= LOST && (lost >= A_FEW || part >= OF_A_FEW)
}

/// As for datagrams: one in a thousand.
const LOST: f64 = 0.001;
const A_FEW: u64 = 3;
const OF_A_FEW: f64 = 0.05;
/// The round trip counts from when a message was due: with one in a hundred late, p99 tells of this host.
const BEHIND: f64 = 0.01;
