//! `outage`: nothing came for a while, and then again, or never.

use super::measured::{MeasuredDirection, measured_directions};
use super::text::count;
use super::{Finding, Severity};
use model::plan::Transport;
use model::run::Run;
use model::sample::{Role, Silence};
use model::units::Nanos;
use serde_json::Value;

/// A receiver got nothing for a second or more, while its sender sent.
pub(super) fn outage(run: &Run) -> Vec<Finding> {
    measured_directions(run).filter_map(|direction| Some(finding(&direction, longest(&direction)?))).collect()
}

/// The silence that all streams share: of one alone its own path, or its window, may be the cause.
fn longest(direction: &MeasuredDirection<'_>) -> Option<Silence> {
    // Where the receiver's figures are missing, a sender that could hand over nothing speaks for it.
    let role = if direction.figures.receiver_unknown { Role::Sender } else { Role::Receiver };
    let silences = direction.rows(role).map(|row| match direction.figures.transport {
        Transport::Tcp => row.tcp.as_ref().and_then(|tcp| tcp.silence),
        Transport::Udp => row.udp.as_ref().and_then(|udp| udp.silence),
    });
    let all: Vec<Silence> = silences.collect::<Option<Vec<Silence>>>()?;
    let begin = all.iter().map(|one| one.at).max()?;
    let end = all.iter().map(|one| one.at + one.length).min()?;
    let length = end.saturating_sub(begin);
    let missing = all.iter().filter_map(|one| one.missing).reduce(u64::saturating_add);
    let ended = all.iter().any(|one| one.ended);
    // Datagrams that came late were held up, not lost.
    let lost = !ended || missing != Some(0);
    (length >= LEAST && length >= pause(direction) && lost).then_some(Silence {
        at: begin,
        length,
        ended,
        missing,
    })
}

/// Longer than what a sender that is held to a rate leaves between two pieces of data.
fn pause(direction: &MeasuredDirection<'_>) -> Nanos {
    // Of a length that is left to this end, the least that paced TCP writes at once.
    let length = direction.plan.test.length.max(LEAST_BLOCK);
    let bits = u64::from(length).saturating_mul(8);
    let rate = direction.plan.test.bitrate.map_or(0, |rate| rate.0);
    let each = u128::from(bits) * 1_000_000_000;
    let each = each.checked_div(u128::from(rate)).unwrap_or(0);
    Nanos(u64::try_from(each).unwrap_or(u64::MAX)).saturating_mul(PAUSES)
}

fn finding(one_way: &MeasuredDirection<'_>, silence: Silence) -> Finding {
    let direction = one_way.direction;
    let missing = match silence.missing {
        Some(missing @ 1..) => format!(", and {} of that time were lost", count(missing, "datagram")),
        _ => String::new(),
    };
    let (at, length) = (silence.at, silence.length);
    let title = match silence.ended {
        true => format!("Nothing arrived {direction} for {length}, from {at} into the test on{missing}"),
        false => format!(
            "Nothing arrived {direction} any more from {at} into the test on, for {length} to its end"
        ),
    };
    let long = !silence.ended || silence.length >= LONG;
    let severity = if long { Severity::Problem } else { Severity::Warning };
    let finding = Finding::new("outage", severity, direction, title)
        .with("began_ns", at.0)
        .with("length_ns", length.0)
        .with(END, if silence.ended { "data came again" } else { SILENT });
    let finding = match silence.missing {
        Some(missing) => finding.with("lost_count", missing),
        None => finding,
    };
    finding.advise(format!("{ADVICE} The rates of this test are averages over the outage too."))
}

/// Whether what such a finding says lasted to the end: the far end, or the path to it, is gone.
#[must_use]
pub fn is_lasting(finding: &Finding) -> bool {
    finding.id == "outage" && finding.evidence.get(END).and_then(Value::as_str) == Some(SILENT)
}

/// What comes after a silence.
pub(super) const END: &str = "end_state";
/// Nothing.
pub(super) const SILENT: &str = "silent to the end";
/// Where to look.
pub(super) const ADVICE: &str = "Compare the time with the logs of routers, switches and both hosts: a link or a router that \
                                 fails over, a routing protocol or a spanning tree that converges anew, a firewall whose \
                                 state was lost, a host that was suspended.";

/// Shorter ones are what TCP's retransmission timer and busy hosts make.
pub(super) const LEAST: Nanos = Nanos::from_secs(1);
/// What people and protocols notice.
pub(super) const LONG: Nanos = Nanos::from_secs(3);
/// Payload of a full segment, bytes.
const LEAST_BLOCK: u32 = 1448;
/// Times that a sender's own pause must be exceeded.
const PAUSES: u64 = 5;
