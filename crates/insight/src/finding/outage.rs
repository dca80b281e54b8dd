//! `outage`: nothing came for a while, and then again, or never.

use super::measured::MeasuredDirection;
use super::ramp_up::progress;
use super::text::count;
use super::{Finding, Severity, fragments, receiver};
use model::plan::Transport;
use model::run::Run;
use model::sample::{Role, Silence, TcpCounters};
use model::units::{BitRate, Bytes, Nanos};
use serde_json::Value;

/// A receiver got nothing for a while, while its sender sent.
pub(super) fn outage(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    Some(finding(one_way, down(one_way)?))
}

/// The time in which a direction was down.
pub(super) fn down(one_way: &MeasuredDirection<'_>) -> Option<Silence> {
    // Packets that vanish by their size are lost for as long as they are sent: the path was not down.
    if lost_by_size(one_way) || is_explained(one_way) {
        return None;
    }
    let silence = longest(one_way).or_else(|| standstill(one_way))?;
    (silence.ended || !is_neighbour_gone(one_way.run)).then_some(silence)
}

/// The next hop no longer answered at the end of the run, which its own finding reports.
fn is_neighbour_gone(run: &Run) -> bool {
    let hops = run.summary.reach.iter().flat_map(|reach| &reach.next_hops);
    hops.into_iter().any(|hop| hop.failures > 0 && !hop.after.is_usable())
}

/// Another finding names why nothing came: the program did not read, or marked packets are dropped.
fn is_explained(one_way: &MeasuredDirection<'_>) -> bool {
    is_receiver_stalled(one_way) || one_way.is_dropped_by_kind()
}

/// Packets are lost for their size or their kind, which another finding names.
pub(super) fn lost_by_size(one_way: &MeasuredDirection<'_>) -> bool {
    let cut = one_way.figures.wire.frames_per_packet.is_some_and(|frames| frames > 1);
    (cut && fragments::dropped(one_way.run, one_way.direction).is_some())
        || one_way.is_lost_by_size()
        || one_way.is_dropped_by_kind()
        || receiver::is_reassembly_failing(one_way)
}

/// Nothing moved any more, and the peer's window is closed: what it has, its program does not read.
pub(super) fn is_receiver_stalled(one_way: &MeasuredDirection<'_>) -> bool {
    if !is_silent_to_the_end(one_way) {
        return false;
    }
    let closed = |tcp: &TcpCounters| {
        // A window of less than a segment is closed to a sender that has more (RFC 9293 section 3.8.6.2.1).
        let is_closed = tcp.send_window.0 < u64::from(tcp.send_mss.max(1));
        tcp.max_send_window.0 > 0 && is_closed && tcp.receive_window_limited.0 > 0
    };
    let mut rows = one_way.tcp_rows().peekable();
    rows.peek().is_some() && rows.all(closed)
}

/// Nothing came any more from some moment on.
pub(super) fn is_silent_to_the_end(one_way: &MeasuredDirection<'_>) -> bool {
    longest(one_way).or_else(|| standstill(one_way)).is_some_and(|silence| !silence.ended)
}

/// Datagrams lost in the outage of a direction, which no other finding counts.
pub(super) fn lost_in_outage(one_way: &MeasuredDirection<'_>) -> u64 {
    let Some(silence) = longest(one_way) else { return 0 };
    // No later number follows a silence to the end: as many are lost as were sent meanwhile.
    let meanwhile = || {
        let share = silence.length.as_secs_f64() / one_way.figures.elapsed.as_secs_f64().max(1e-9);
        (one_way.figures.sent.datagrams as f64 * share.min(1.0)).ceil() as u64
    };
    silence.missing.unwrap_or_else(|| if silence.ended { 0 } else { meanwhile() })
}

/// Where the receiver's result is not known, as of a link that was cut: nothing was acknowledged any more.
fn standstill(one_way: &MeasuredDirection<'_>) -> Option<Silence> {
    if one_way.receiver.is_some() || one_way.udp() {
        return None;
    }
    let steps = progress(one_way.run, one_way.direction);
    let dead = steps.iter().rev().take_while(|(.., moved)| moved.0 == 0).count();
    let (at, end) = (steps.get(steps.len() - dead)?.0, steps.last()?.1);
    let length = end.saturating_sub(at);
    (dead < steps.len() && length >= LEAST).then_some(Silence { at, length, ended: false, missing: None })
}

/// The rate of a direction until nothing came any more.
pub(super) fn rate_until(one_way: &MeasuredDirection<'_>) -> Option<(BitRate, Nanos)> {
    let silence = longest(one_way).or_else(|| standstill(one_way)).filter(|one| !one.ended)?;
    let steps = progress(one_way.run, one_way.direction);
    let moved: Bytes = steps.iter().filter(|(start, ..)| *start < silence.at).map(|one| one.2).sum();
    let all = if moved.0 > 0 { moved } else { one_way.figures.received.bytes };
    (silence.at > Nanos::ZERO).then(|| (BitRate::from_bytes(all, silence.at), silence.at))
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
    // Datagrams that came late were delayed, not lost.
    let lost = !ended || missing != Some(0);
    let least = if ended { least(direction, missing) } else { LEAST };
    let sent = !ended || !is_idle(direction, length);
    (length >= least && length >= pause(direction) && lost && sent).then_some(Silence {
        at: begin,
        length,
        ended,
        missing,
    })
}

/// The kernel of each TCP sender had nothing to send for about as long: its program waited for a CPU, and data that the path holds back
/// keeps the kernel busy. A sender that is held to a rate has nothing to send most of the time, which shows nothing.
fn is_idle(one_way: &MeasuredDirection<'_>, length: Nanos) -> bool {
    let waited = |tcp: &TcpCounters| {
        // Zero where the kernel does not report it.
        tcp.busy > Nanos::ZERO && one_way.figures.elapsed.saturating_sub(tcp.busy).0 >= length.0 / 10 * 9
    };
    !one_way.udp()
        && one_way.unlimited()
        && one_way.tcp_rows().next().is_some()
        && one_way.tcp_rows().all(waited)
}

/// The shortest that is one: of datagrams that were lost in a row, what no burst of loss takes; of TCP what its first
/// retransmission timeout and a hole that holds back what came behind it do not make.
fn least(one_way: &MeasuredDirection<'_>, missing: Option<u64>) -> Nanos {
    match missing {
        Some(missing) if missing >= A_FEW => LEAST_LOST,
        Some(_) => LEAST,
        None => {
            let longest = one_way.tcp_rows().map(|tcp| tcp.max_rtt).max().unwrap_or_default();
            // Each loss of a connection that loses most of what it sends costs a timeout, and the next one twice that.
            let least = if one_way.is_crippled() { LONG } else { LEAST_TCP };
            least + longest.saturating_mul(HOLES)
        }
    }
}

/// Longer than what a sender that is held to a rate leaves between two pieces of data.
fn pause(direction: &MeasuredDirection<'_>) -> Nanos {
    // Where this end chooses the length, it is the least that paced TCP writes at once.
    let length = direction.plan.test.length.unwrap_or(LEAST_BLOCK).max(LEAST_BLOCK);
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
        false => {
            let until =
                rate_until(one_way).map(|(rate, _)| format!("; {rate} until then")).unwrap_or_default();
            format!(
                "Nothing arrived {direction} any more from {at} into the test on, for {length} to its end{until}"
            )
        }
    };
    let long = !silence.ended || silence.length >= LONG;
    let severity = if long { Severity::Problem } else { Severity::Warning };
    let finding = Finding::new("outage", severity, direction, title)
        .with("began_ns", at.0)
        .with("length_ns", length.0)
        .with(END, if silence.ended { "data came again" } else { SILENT })
        .with_known("lost_count", silence.missing);
    finding.advise(format!("{ADVICE} The rates of this test are averages over the outage too."))
}

/// Whether the silence of such a finding lasted to the end: the far end, or the path to it, is gone.
#[must_use]
pub fn is_lasting(finding: &Finding) -> bool {
    finding.id == "outage" && finding.evidence.get(END).and_then(Value::as_str) == Some(SILENT)
}

/// The state after a silence.
pub(super) const END: &str = "end_state";
/// Nothing.
pub(super) const SILENT: &str = "silent to the end";
/// Where to look.
pub(super) const ADVICE: &str = "Compare the time with the logs of routers, switches and both hosts: a link or a router that \
                                 fails over, a routing protocol or a spanning tree that converges anew, a firewall whose \
                                 state was lost, a host that was suspended.";

/// Shorter ones are what queues and busy hosts make.
const LEAST: Nanos = Nanos::from_secs(1);
/// Datagrams lost in a row for so long.
const LEAST_LOST: Nanos = Nanos::from_millis(200);
const A_FEW: u64 = 3;
/// A retransmission timeout is 200 ms and more, and the second one twice that.
const LEAST_TCP: Nanos = Nanos::from_millis(450);
/// Round trips that filling a hole takes.
const HOLES: u64 = 3;
/// An outage that people and protocols notice.
pub(super) const LONG: Nanos = Nanos::from_secs(3);
/// Payload of a full segment, bytes.
const LEAST_BLOCK: u32 = 1448;
/// Times that a sender's own pause must be exceeded.
const PAUSES: u64 = 10;
