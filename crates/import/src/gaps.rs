//! Questions that the figures of the two ends together leave open: losses that no end counted, senders without
//! figures, the MTU, the requested rate.

use super::build::ParsedRun;
use super::build::possible::Figure;
use model::plan::Direction;
use model::sample::{Role, SideResult, StreamResult, UdpCounters};
use model::units::{BitRate, Bytes, Nanos};

/// Notes the questions that the two ends' figures leave open, whatever they were printed as.
pub(super) fn gaps(parsed: &mut ParsedRun) {
    all_lost(parsed);
    parsed.senders_unseen();
    mostly_unseen(parsed);
    parsed.assume_mtu();
}

/// Where the receiver accounts for less than half of what was sent, its loss is not that of the test.
fn mostly_unseen(parsed: &mut ParsedRun) {
    for direction in Direction::BOTH {
        let count_of = |role: Role, count: fn(&UdpCounters) -> u64| {
            let counters = parsed.rows(direction, role).filter_map(|row| row.udp.as_ref());
            counters.map(count).fold(0, u64::saturating_add)
        };
        let sent = count_of(Role::Sender, |udp| udp.datagrams);
        let known = count_of(Role::Receiver, |udp| udp.datagrams.saturating_add(udp.lost));
        if known > 0 && known.saturating_mul(2) < sent {
            let text = format!(
                "The receiver accounts for {known} of the {sent} datagrams sent {direction}: whether the others were lost is not known."
            );
            parsed.withhold(direction, Figure::Loss, &text);
        }
    }
}

/// A receiver that saw nothing counted no loss either.
pub(super) fn all_lost(parsed: &mut ParsedRun) {
    let ParsedRun { at_client, at_server, .. } = parsed;
    let unseen = lose_all(at_client, at_server) + lose_all(at_server, at_client);
    if unseen > 0 {
        parsed.warn("all-lost", format!("The receiver saw no datagram in the counted time and therefore counted no loss: all {unseen} sent count as lost."));
    }
}

/// Counts as lost what the other end sent to a receiver that saw nothing.
fn lose_all(side: &mut SideResult, other: &SideResult) -> u64 {
    let mut unseen = 0;
    for row in side.streams.iter_mut().filter(|row| row.role == Role::Receiver) {
        let count = sent(other, row);
        if let Some(udp) = row.udp.as_mut().filter(|udp| udp.datagrams == 0 && udp.lost == 0) {
            udp.lost = count;
            unseen += count;
        }
    }
    unseen
}

/// The datagrams that an end has sent of the stream of a row.
fn sent(side: &SideResult, row: &StreamResult) -> u64 {
    let twin = side.streams.iter().find(|sent| {
        sent.stream == row.stream && sent.direction == row.direction && sent.role == Role::Sender
    });
    twin.and_then(|twin| twin.udp.as_ref()).map_or(0, |udp| udp.datagrams)
}

/// The rate that was asked for over UDP, where the output does not give it, is taken to be the one that was sent.
pub(super) fn rate_asked(parsed: &mut ParsedRun) {
    let senders = parsed.all_rows().filter(|row| row.role == Role::Sender && row.udp.is_some());
    let rate = senders.map(|row| BitRate::from_bytes(row.bytes, row.elapsed)).max();
    parsed.test.bitrate = rate.filter(|rate| rate.0 > 0);
}

/// Reports where the two ends' figures of one of them differ.
pub(super) fn compare(parsed: &mut ParsedRun, of_other: &StreamResult, of_itself: &StreamResult) {
    let direction = of_itself.direction;
    let text = match (&of_other.udp, &of_itself.udp) {
        (Some(other), Some(own)) => {
            let all = own.datagrams.saturating_add(own.lost).max(other.datagrams.saturating_add(other.lost));
            (own.lost.abs_diff(other.lost) > all / 50 + A_FEW).then(|| {
                format!(
                    "The output contradicts itself {direction}: the summary reports that {} of {all} datagrams were lost, the receiver's own output {}.",
                    other.lost, own.lost
                )
            })
        }
        _ => {
            let (other, own) = (of_other.bytes.0, of_itself.bytes.0);
            (own.abs_diff(other) > own.max(other) / 5).then(|| {
                format!(
                    "The output contradicts itself {direction}: the summary reports that {} arrived, the receiver's own output {}.",
                    of_other.bytes, of_itself.bytes
                )
            })
        }
    };
    if let Some(text) = text {
        parsed.contradict(text);
    }
}

/// Holds the summary of a stream against the sum of the intervals of the same end.
pub(super) fn against_intervals(parsed: &mut ParsedRun, bytes: Bytes, elapsed: Nanos, sum: &StreamResult) {
    let is_whole = sum.elapsed.0.abs_diff(elapsed.0) <= elapsed.0 / 20;
    let off = bytes.0.abs_diff(sum.bytes.0) as f64 / bytes.0.max(1) as f64;
    if is_whole && off > APART && sum.elapsed >= LONG_ENOUGH {
        parsed.contradict(format!(
            "The output contradicts itself {}: its summary has {}, its intervals {}.",
            sum.direction,
            BitRate::from_bytes(bytes, elapsed),
            BitRate::from_bytes(sum.bytes, sum.elapsed)
        ));
    }
}

/// Sums of rounded rows are off by less, and the last row may lack a part of an interval.
const APART: f64 = 0.15;
/// In shorter tests a part of an interval is too much of all.
const LONG_ENOUGH: Nanos = Nanos::from_secs(2);
/// Datagrams that may arrive between two counts.
const A_FEW: u64 = 5;
