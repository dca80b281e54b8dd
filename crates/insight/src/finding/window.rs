//! Limits of the rate other than a CPU: the TCP window, or the link itself.

use super::cpu::saturated;
use super::measured::{MeasuredDirection, measured_directions};
use super::text::{capital, percent};
use super::{Finding, Severity};
use super::{crippled, outage};
use model::frames::FrameRow;
use model::limit::LimitKind;
use model::plan::Direction;
use model::run::Run;
use model::sample::{Role, TcpCounters};
use model::units::{BitRate, Bytes, Nanos};
use model::wire_rate::{IMPOSSIBLE_SHARE, LINE_RATE};

/// Which of the two buffers stops a sender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buffer {
    Receiver,
    Sender,
}

/// TCP waited for its window while the path had room.
pub(super) fn window_limited(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let rtt = one_way.figures.loaded_rtt?;
    let full_queue = one_way.idle_rtt().is_none_or(|idle| rtt.0 > idle.0.saturating_mul(QUEUED));
    if one_way.udp()
        || !one_way.unlimited()
        || one_way.at_line_rate()
        || full_queue
        || !one_way.may_be(&[LimitKind::ReceiverWindow, LimitKind::SenderBuffer])
        || saturated(one_way, Role::Receiver)
    {
        return None;
    }
    // `window-scaling-removed` and `receiver-stalled` say why it is small.
    if crippled::is_unscaled(one_way) || outage::is_receiver_stalled(one_way) {
        return None;
    }
    let measured = by_kernel(one_way);
    let (buffer, share) = measured.or_else(|| by_product(one_way, rtt))?;
    let window: Bytes = one_way.tcp_rows().map(|tcp| tcp.max_send_window).sum();
    let what = match buffer {
        Buffer::Receiver => "the receiver's window",
        Buffer::Sender => "the sender's buffer",
    };
    let effect = match measured {
        Some(_) => format!("TCP stood still for it {} of the time at an RTT of {rtt}", percent(share)),
        None => format!("what was in flight at an RTT of {rtt} filled {} of it", percent(share)),
    };
    let title = format!(
        "{} set the rate {}, {}: {effect}",
        capital(what),
        one_way.direction,
        one_way.figures.goodput
    );
    let needed = needed_window(one_way, rtt, window);
    let finding = Finding::new("window-limited", Severity::Warning, one_way.direction, title)
        .with("goodput_bps", one_way.figures.goodput.0)
        .with("rtt_ns", rtt.0)
        .with("receive_window_bytes", window.0)
        .with("in_flight_bytes", one_way.figures.goodput.bytes_in(rtt).0)
        .with("window_limited_share", share)
        .with("needed_window_bytes", needed.0);
    Some(finding.advise(advice(one_way, buffer, needed)))
}

/// The kernel's own account of what a busy connection waited for (`tcp_info.tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).
fn by_kernel(direction: &MeasuredDirection<'_>) -> Option<(Buffer, f64)> {
    let sum =
        |field: fn(&TcpCounters) -> Nanos| direction.tcp_rows().map(|tcp| field(tcp).0 as f64).sum::<f64>();
    let busy = sum(|tcp| tcp.busy);
    let (receiver, sender) = (sum(|tcp| tcp.receive_window_limited), sum(|tcp| tcp.send_buffer_limited));
    let share = (receiver + sender) / busy;
    let buffer = if receiver >= sender { Buffer::Receiver } else { Buffer::Sender };
    (busy > 0.0 && share >= MOSTLY).then(|| (buffer, share.min(1.0)))
}

/// Without that account (iPerf3's results have none): what is in flight fills the window the receiver offers.
fn by_product(direction: &MeasuredDirection<'_>, rtt: Nanos) -> Option<(Buffer, f64)> {
    let accounted = direction.tcp_rows().any(|tcp| tcp.busy.0 > 0);
    let window: Bytes = direction.tcp_rows().map(|tcp| tcp.max_send_window).sum();
    let cwnd: Bytes = direction.tcp_rows().map(|tcp| tcp.max_cwnd).sum();
    let filled = direction.figures.goodput.bytes_in(rtt).0 as f64 / window.0.max(1) as f64;
    // A sender that paces (bbr) does not stand still for the window: its own congestion window has room beyond it.
    let is_paced = cwnd.0 as f64 > window.0 as f64 * BEYOND;
    ((!accounted || is_paced) && window.0 > 0 && filled >= FILLED)
        .then(|| (Buffer::Receiver, filled.min(1.0)))
}

/// Enough for the link at this RTT, or twice what there is; for each stream.
fn needed_window(direction: &MeasuredDirection<'_>, rtt: Nanos, window: Bytes) -> Bytes {
    let in_flight = direction.figures.goodput.bytes_in(rtt).max(window);
    let link = direction.run.summary.link.as_ref().map(|link| link.rate.bytes_in(rtt));
    let needed = link.unwrap_or(Bytes(in_flight.0.saturating_mul(2))).max(in_flight);
    let streams = u64::from(direction.plan.test.streams.max(1));
    Bytes((needed.0 / streams).clamp(SMALLEST_WINDOW, LARGEST_WINDOW).next_power_of_two())
}

fn advice(direction: &MeasuredDirection<'_>, buffer: Buffer, needed: Bytes) -> String {
    if direction.plan.test.window.is_some() {
        return format!(
            "Leave out `-w` so that the kernel sizes the window by itself, or ask for `-w {}`.",
            needed.0
        );
    }
    let (end, name, default, usual) = match buffer {
        Buffer::Receiver => ("receiver", "tcp_rmem", 131_072, 6 << 20),
        Buffer::Sender => ("sender", "tcp_wmem", 16_384, 4 << 20),
    };
    // The kernel gives about half of a buffer to the window (net.ipv4.tcp_adv_win_scale).
    let buffer = needed.0.saturating_mul(2);
    if buffer <= usual {
        // A host that allows what hosts usually do allows this: its limit shall not be lowered.
        return format!(
            "The kernel lets a window grow so far where nothing holds it: see at the {end} that the third number of \
             `sysctl net.ipv4.{name}` is above {buffer}, and that its program reads and writes without a pause."
        );
    }
    format!("Allow a larger window at the {end}: `sysctl -w net.ipv4.{name}=\"4096 {default} {buffer}\"`.")
}

/// The path carries what its framing allows.
pub(super) fn at_line_rate(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let wire = one_way.figures.wire;
    let share = wire.line_rate_share.filter(|share| (LINE_RATE..IMPOSSIBLE_SHARE).contains(share))?;
    let link = one_way.run.summary.link.as_ref()?;
    let (frame, payload) = (wire.frame?, one_way.figures.mss?);
    let carries = BitRate((one_way.figures.goodput.0 as f64 / share) as u64);
    let title = format!(
        "{} {} runs at line rate: {} of payload is {} of the {carries} that a link of {} carries in frames of {frame} bytes",
        one_way.figures.transport,
        one_way.direction,
        one_way.figures.goodput,
        percent(share),
        link.rate
    );
    let finding = Finding::new("at-line-rate", Severity::Info, one_way.direction, title)
        .with("goodput_bps", one_way.figures.goodput.0)
        .with("line_rate_goodput_bps", carries.0)
        .with("line_rate_share", share)
        .with("link_bps", link.rate.0)
        .with("link_source", link.source.as_str())
        .with("frame_bytes", frame)
        .with("payload_bytes", payload)
        .with("packets_per_second", wire.packets_per_second.unwrap_or_default().0);
    Some(finding.advise("Nothing is wrong: more needs larger frames (jumbo MTU) or a faster link."))
}

/// More data was transferred than the link's speed allows.
pub(super) fn link_speed_wrong(run: &Run) -> Vec<Finding> {
    let in_direction = |one_way: MeasuredDirection<'_>| {
        let share = one_way.figures.wire.line_rate_share.filter(|share| *share >= IMPOSSIBLE_SHARE)?;
        let what = format!("{} {}", one_way.figures.transport, one_way.direction);
        Some(too_fast(run, &what, one_way.direction, one_way.figures.goodput, share))
    };
    let found: Vec<Finding> = measured_directions(run).filter_map(in_direction).collect();
    if !found.is_empty() {
        return found;
    }
    // In a sweep over frame sizes, the row that is furthest beyond.
    let beyond = run.summary.rows.iter().filter_map(|row| Some((row, row.share?)));
    let most = beyond.filter(|(_, share)| *share >= IMPOSSIBLE_SHARE).max_by(|a, b| a.1.total_cmp(&b.1));
    let of_row = |(row, share): (&FrameRow, f64)| {
        let what = format!("{} {} in frames of {} bytes", row.protocol, row.direction, row.frame);
        too_fast(run, &what, row.direction, row.goodput, share)
    };
    most.map(of_row).into_iter().collect()
}

fn too_fast(run: &Run, what: &str, direction: Direction, goodput: BitRate, share: f64) -> Finding {
    let carries = BitRate((goodput.0 as f64 / share) as u64);
    let link = run.summary.link.as_ref();
    let (speed, source) = link.map_or((BitRate(0), ""), |link| (link.rate, link.source.as_str()));
    let title = format!(
        "{what} carried {goodput} of payload, more than the {carries} that a link of {speed} ({source}) can: its speed \
         is another"
    );
    let finding = Finding::new("link-speed-wrong", Severity::Warning, direction, title)
        .with("goodput_bps", goodput.0)
        .with("line_rate_goodput_bps", carries.0)
        .with("line_rate_share", share)
        .with("link_bps", speed.0)
        .with("link_source", source);
    finding.advise(match source {
        "--link" => "Shares of line rate mean nothing here: give the speed of the slowest link on the path with `--link`.",
        _ => {
            "Shares of line rate mean nothing here: the interface reports another speed than it has, as virtual ones \
             often do. Give the link's speed with `--link`."
        }
    })
}

/// An RTT under load beyond so many times the idle one means a queue before the bottleneck is filled: then the path sets
/// the rate, however small the window.
const QUEUED: u64 = 2;
/// Standing still for half of the time halves the rate.
const MOSTLY: f64 = 0.5;
/// Smoothed RTT and largest window are of different moments: a tenth is their disagreement.
const FILLED: f64 = 0.9;
/// A congestion window so much larger than the receiver's does not limit.
const BEYOND: f64 = 1.2;
/// Advice below what every kernel allows, or beyond TCP's largest window (RFC 7323: 1 GiB), is of no use.
const SMALLEST_WINDOW: u64 = 1 << 16;
const LARGEST_WINDOW: u64 = 1 << 30;
