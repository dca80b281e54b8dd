//! `tcp-crippled`, `joined-segments-dropped`, `mark-dropped`, `receiver-stalled` and `window-scaling-removed`: TCP that works, and far
//! worse than the path would let it.

use super::measured::MeasuredDirection;
use super::text::{count, percent};
use super::{Finding, Severity, loss, outage};
use model::explain::Hypothesis;
use model::plan::Direction;
use model::run::Run;
use model::sample::Role;
use model::units::Bytes;

/// Segments that an offload joined are dropped.
pub(super) fn joined(run: &Run) -> Vec<Finding> {
    held(run, "joined-segments").map(|(direction, found)| joined_dropped(direction, found)).collect()
}

/// Packets with the mark of the test are dropped.
pub(super) fn mark(run: &Run) -> Vec<Finding> {
    held(run, "mark-dropped").map(|(direction, found)| marked(direction, found)).collect()
}

fn held<'a>(run: &'a Run, id: &'static str) -> impl Iterator<Item = (Direction, &'a Hypothesis)> {
    let answers = run.summary.explanation.as_deref();
    [Direction::Up, Direction::Down]
        .into_iter()
        .filter_map(move |direction| Some((direction, answers?.held(id, direction)?)))
}

/// A large share of the segments are retransmits, so that TCP hardly moves.
pub(super) fn crippled(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let segments = one_way.figures.segments?.sent?;
    // From a thousand segments on `path-loss` has its share.
    let is_small = segments < loss::ENOUGH_SEGMENTS;
    if !is_small || !one_way.is_crippled() || one_way.is_dropped_by_kind() || outage::lost_by_size(one_way) {
        return None;
    }
    let again = one_way.figures.retransmits?;
    let share = again as f64 / segments.max(1) as f64;
    let title = format!(
        "TCP {} retransmitted {} of {} it sent ({}) and moved {}: nearly every loss cost it a timeout",
        one_way.direction,
        count(again, "segment"),
        segments,
        percent(share),
        one_way.figures.goodput
    );
    let finding = Finding::new("tcp-crippled", Severity::Warning, one_way.direction, title)
        .with("retransmits_count", again)
        .with("segments_count", segments)
        .with("retransmits_share", share)
        .with("goodput_bps", one_way.figures.goodput.0);
    Some(finding.advise(
        "Compare with UDP at a low rate (`--udp -b 1M`): loss there too has its cause on the line; none there points to a box that \
         treats TCP otherwise, or to segmentation offload of a virtual network (`ethtool -K DEV tso off gso off gro off` at the \
         hosts and at each forwarder between).",
    ))
}

fn joined_dropped(direction: Direction, found: &Hypothesis) -> Finding {
    let figure = |name: &str| found.figure(name).unwrap_or(0);
    let (joined, again) = (figure("joined_segments_count"), figure("joined_retransmits_count"));
    let (singles, lost) = (figure("singles_segments_count"), figure("singles_retransmits_count"));
    let title = format!(
        "Segments that an offload joins are dropped {direction}: of writes of eight segments {again} of {joined} segments were \
         retransmits, of single ones {lost} of {singles}"
    );
    Finding::new("joined-segments-dropped", Severity::Problem, direction, title)
        .with("joined_segments_count", joined)
        .with("joined_retransmits_count", again)
        .with("singles_segments_count", singles)
        .with("singles_retransmits_count", lost)
        .advise(
            "A forwarder between virtual machines, containers or tunnels drops packets that GSO, TSO or GRO made larger than the MTU. \
             Switch joining off where the packets come from, `ethtool -K DEV tso off gso off`, and on the interfaces of each \
             forwarder, `ethtool -K DEV gro off lro off`, one after the other, to find which it is; then update that forwarder.",
        )
}

fn marked(direction: Direction, found: &Hypothesis) -> Finding {
    let tos = found.figure("tos_byte").unwrap_or(0);
    // Where a first window of data arrived, acknowledgements with the mark are dropped, and the sender stops.
    let arrived = found.figure("marked_received_bytes").unwrap_or(0);
    let (dropped, effect) = match arrived {
        0 => (direction, "the same without it arrived".to_owned()),
        _ => {
            let first = Bytes(arrived);
            (
                direction.reversed(),
                format!("{first} arrived {direction} and were not acknowledged, and without it all was"),
            )
        }
    };
    let title = format!(
        "Packets with the mark of this test (DSCP {}, TOS {tos}) are dropped {dropped}: {effect}",
        tos / 4
    );
    Finding::new("mark-dropped", Severity::Problem, dropped, title)
        .with("mark_name", format!("DSCP {}", tos / 4))
        .with("unmarked_received_bytes", found.figure("unmarked_received_bytes").unwrap_or(0))
        .advise(
            "Look for a firewall or a provider's edge that drops marked packets, or a queue for this class without any bandwidth. \
             Until then send without `--dscp` and `--tos`, or have the mark cleared at the border of your network.",
        )
}

/// The receiving program stopped reading.
pub(super) fn stalled(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    if !outage::is_receiver_stalled(one_way) {
        return None;
    }
    let (direction, received) = (one_way.direction, one_way.figures.received.bytes);
    let host = if direction == Direction::Up { "the far end" } else { "this end" };
    let title = format!(
        "The program at {host} stopped reading {direction}: it took {received}, and its TCP window is closed"
    );
    let finding = Finding::new("receiver-stalled", Severity::Problem, direction, title)
        .with("received_bytes", received.0);
    Some(finding.advise(format!(
        "The path is not the reason: every packet is acknowledged. Look at the receiving program at {host}: it hangs, is stopped, or \
         waits for something else (`ss -tmi` there shows bytes in its receive queue)."
    )))
}

/// No stream agreed on window scaling, as far as it is known.
pub(super) fn is_unscaled(one_way: &MeasuredDirection<'_>) -> bool {
    let mut rows = one_way.tcp_rows().peekable();
    rows.peek().is_some() && rows.all(|tcp| tcp.window_scaling == Some(false))
}

/// Window scaling was not agreed on.
pub(super) fn unscaled(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let rows: Vec<_> = one_way.tcp_rows().collect();
    if one_way.udp() || !is_unscaled(one_way) {
        return None;
    }
    let window: Bytes = rows.iter().map(|tcp| tcp.max_send_window).sum();
    let rtt = one_way.figures.loaded_rtt?;
    let filled = one_way.figures.goodput.bytes_in(rtt).0 as f64 / window.0.max(1) as f64;
    let (reason, advice) = why_unscaled(one_way);
    let limits = filled >= HALF;
    // One end scales its window and the other takes it as it is: too small to be used (RFC 9293 section 3.8.6.2.1).
    let is_misread = rows.iter().any(|tcp| (1..u64::from(tcp.send_mss)).contains(&tcp.max_send_window.0));
    let effect = match limits {
        _ if is_misread => format!(
            ", less than one segment, since only one of the two ends takes the option for agreed on: TCP moves {}",
            one_way.figures.goodput
        ),
        true => format!(": with an RTT of {rtt} that sets the rate, {}", one_way.figures.goodput),
        false => String::new(),
    };
    let title = format!(
        "TCP {} works without window scaling, as {reason}; its window stays at {window}{effect}",
        one_way.direction
    );
    let severity = match limits {
        _ if is_misread => Severity::Problem,
        true => Severity::Warning,
        false => Severity::Info,
    };
    let finding = Finding::new("window-scaling-removed", severity, one_way.direction, title)
        .with("receive_window_bytes", window.0)
        .with("rtt_ns", rtt.0)
        .with("goodput_bps", one_way.figures.goodput.0)
        .with("window_filled_share", filled);
    Some(finding.advise(advice))
}

/// The reason why window scaling is missing, and what to do.
fn why_unscaled(one_way: &MeasuredDirection<'_>) -> (String, String) {
    let allows = |role| one_way.end(role).and_then(|end| end.datapath.window_scaling);
    let off = [(Role::Sender, Direction::Up), (Role::Receiver, Direction::Down)]
        .into_iter()
        .find(|(role, _)| allows(*role) == Some(false))
        .map(|(_, of)| {
            if (of == Direction::Up) == (one_way.direction == Direction::Up) {
                "this host"
            } else {
                "the far host"
            }
        });
    let both = allows(Role::Sender) == Some(true) && allows(Role::Receiver) == Some(true);
    match (off, both) {
        (Some(host), _) => (
            format!("{host} has it off"),
            format!("At {host}: `sysctl -w net.ipv4.tcp_window_scaling=1`."),
        ),
        (None, true) => (
            "both hosts offer it, so that a box on the path removes the option from SYNs".into(),
            "Look for a firewall, proxy or load balancer that rewrites TCP options (\"normalisation\", \"scrub\") and let it pass \
             window scaling (RFC 7323). Larger buffers do not help."
                .into(),
        ),
        (None, false) => (
            "one of the hosts or a box on the path does not offer it".into(),
            "See that `net.ipv4.tcp_window_scaling` is 1 at both hosts, then look for a firewall that removes the option from SYNs."
                .into(),
        ),
    }
}

/// The share of the window that the rate fills on average.
const HALF: f64 = 0.5;
