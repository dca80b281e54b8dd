//! Packets in flight: lost on the path or in the receiving socket, overtaken, doubled.

use super::limit::where_and_what;
use super::measured::MeasuredDirection;
use super::text::{count, option, percent};
use super::{Finding, Severity, outage, receiver};
use crate::fix;
use model::limit::{Confidence, LimitKind};
use model::sample::Role;
use model::units::{BitRate, Bytes, Nanos};

/// Packets died between the hosts.
pub(super) fn path_loss(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    if one_way.udp() { udp_loss(one_way) } else { tcp_loss(one_way) }
}

/// Datagrams arrived after later ones.
pub(super) fn reordering(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    overtaken(one_way).or_else(|| needlessly_retransmitted(one_way))
}

/// Datagrams died in the receiving socket.
pub(super) fn receiver_buffer_loss(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let dropped = one_way.loss().receiver;
    let share = one_way.share_of_sent(dropped);
    if share < SOCKET_LOSS {
        return None;
    }
    let buffer = one_way.receiver.map_or(Bytes::ZERO, |end| end.datapath.receive_buffer);
    let kernel_count = one_way.receiver.map_or(0, |end| end.kernel.udp_receive_buffer_errors);
    let title = format!(
        "The receiver's socket, not the path, dropped {} {} ({}): its buffer of {buffer:#} was full",
        count(dropped, "datagram"),
        one_way.direction,
        percent(share)
    );
    // A rate that the program tried states what the receiver takes, and nothing of the path.
    let severity = if one_way.plan.local.own_rate { Severity::Info } else { Severity::Warning };
    let finding = Finding::new("receiver-buffer-loss", severity, one_way.direction, title)
        .with("socket_drops_count", dropped)
        .with("socket_drops_share", share)
        .with("receive_buffer_bytes", buffer.0)
        .with("udp_receive_buffer_errors_count", kernel_count);
    Some(finding.advise(buffer_advice(one_way, buffer)))
}

/// A buffer for a twentieth of a second at the sent rate outlasts a receiver that is scheduled late.
fn buffer_advice(direction: &MeasuredDirection<'_>, buffer: Bytes) -> String {
    let sent = BitRate::from_bytes(direction.figures.sent.bytes, direction.figures.elapsed);
    let wanted = sent.bytes_in(PAUSE).0.clamp(1 << 20, LARGEST_BUFFER).next_power_of_two();
    match direction.plan.test.window {
        _ if buffer.0 >= wanted => format!(
            "The buffer is large enough and the receiver too slow: give it less to receive, as in `pathmeter throughput HOST \
             --udp -b {}`.",
            option(BitRate(direction.figures.goodput.0 / u64::from(direction.plan.test.streams.max(1))))
        ),
        Some(window) if buffer.0 >= u64::from(window) => {
            format!("It is what -w asked for: allow a larger one, `{}`.", fix::receive_buffer())
        }
        _ => format!(
            "At the receiver: `{}`, then `{}`.",
            fix::buffer_limit("net.core.rmem_max"),
            fix::receive_buffer()
        ),
    }
}

/// The kernel counts a message that GRO joined once, so that the datagrams dropped at the socket are an estimate: a small rest is its
/// error.
fn is_of_estimate(one_way: &MeasuredDirection<'_>, on_path: u64) -> bool {
    let dropped = one_way.loss().receiver;
    let messages = one_way.receiver.map_or(0, |end| end.kernel.udp_receive_buffer_errors);
    messages < dropped && on_path * REST_OF_ESTIMATE < dropped
}

fn udp_loss(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let loss = one_way.loss();
    let backlog = one_way.receiver.map_or(0, |end| end.kernel.softnet_drops);
    // Packets lost in an outage are reported there.
    let at_host = backlog.max(receiver::dropped_by_kernel(one_way));
    let on_path = loss.path.saturating_sub(at_host).saturating_sub(outage::lost_in_outage(one_way));
    let share = one_way.share_of_sent(on_path);
    if share < PATH_LOSS || outage::lost_by_size(one_way) || is_of_estimate(one_way, on_path) {
        return None;
    }
    let (figures, direction) = (one_way.figures, one_way.direction);
    let sent = BitRate::from_bytes(figures.sent.bytes, figures.elapsed);
    let streams = u64::from(one_way.plan.test.streams.max(1));
    let lost = format!("{} ({} of those sent)", count(on_path, "datagram"), percent(share));
    let limit = figures.limit.as_deref().filter(|limit| limit.confidence > Confidence::Low);
    if limit.is_some_and(|limit| HAVE_FINDINGS.contains(&limit.kind)) {
        return None;
    }
    let (severity, title, advice) = if let Some((what, rate)) =
        limit.and_then(|limit| Some((where_and_what(limit)?, limit.rate?)))
    {
        // The limit is that of frames, and `-b` is one of payload.
        let payload = BitRate((rate.0 as f64 * payload_share(one_way) * BELOW_LIMIT) as u64 / streams);
        let title = format!("Sent at {sent}, the path lost {lost} {direction}: {what}");
        let severity = if one_way.unlimited() { Severity::Info } else { Severity::Warning };
        (severity, title, format!("Send less than it carries: `-b {}`.", option(payload)))
    } else if one_way.unlimited() {
        let title = format!(
            "Sent as fast as possible, {sent}, the path lost {lost} {direction} and delivered {}",
            figures.goodput
        );
        let advice = format!(
            "Expected above the path's capacity. To see whether it loses below it, send less than it delivered: `-b {}`.",
            option(BitRate(figures.goodput.0 / 10 * 9 / streams))
        );
        (Severity::Info, title, advice)
    } else {
        let title = format!("The path lost {lost} {direction} at {sent}");
        let advice = format!(
            "Measure at half the rate, `-b {}`: loss that stays has its cause on the line (errors, a bad cable or radio), loss that goes is a limit of rate. Look at the drops of each interface: `ip -s link`.",
            option(BitRate(sent.0 / 2 / streams))
        );
        (Severity::Warning, title, advice)
    };
    let finding = Finding::new("path-loss", severity, direction, title)
        .with("lost_count", on_path)
        .with("lost_share", share)
        .with("sent_bps", sent.0)
        .with("goodput_bps", figures.goodput.0);
    Some(finding.advise(advice))
}

/// Payload as a share of the frames that carry it, without the FCS.
fn payload_share(one_way: &MeasuredDirection<'_>) -> f64 {
    let (payload, frame) = (one_way.figures.mss.unwrap_or(0), one_way.figures.wire.frame.unwrap_or(0));
    if frame > FCS { f64::from(payload) / f64::from(frame - FCS) } else { 1.0 }
}

/// The retransmits of a TCP direction.
struct Retransmits {
    all: u64,
    /// Retransmits of data that the receiver had already (DSACK): no loss.
    spurious: u64,
    segments: u64,
}

impl Retransmits {
    fn in_direction(one_way: &MeasuredDirection<'_>) -> Option<Retransmits> {
        let all = one_way.figures.retransmits?;
        // Duplicates that the network made are reported like those of the sender.
        let spurious = one_way.figures.spurious_retransmits.unwrap_or(0).min(all);
        let counted = one_way.tcp_rows().map(|tcp| tcp.data_segments).fold(0, u64::saturating_add);
        // Another program's sender does not count them: at most so many full ones hold its bytes, and each was retransmitted
        // besides.
        let segments = match counted {
            0 => (one_way.figures.sent.bytes.0
                / u64::from(one_way.figures.mss.unwrap_or(SMALL_SEGMENT).max(1)))
            .saturating_add(all),
            counted => counted,
        };
        (segments >= ENOUGH_SEGMENTS).then_some(Retransmits { all, spurious, segments })
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.segments.max(self.all).max(1) as f64
    }

    fn evidence(&self, finding: Finding) -> Finding {
        finding
            .with("retransmits_count", self.all)
            .with("spurious_retransmits_count", self.spurious)
            .with("segments_count", self.segments)
            .with("retransmits_share", self.share(self.all))
    }
}

fn tcp_loss(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let sent = Retransmits::in_direction(one_way)?;
    let checksums = one_way.receiver.map_or(0, |end| end.kernel.tcp_checksum_errors);
    let lost = (sent.all - sent.spurious).saturating_sub(checksums);
    // A known cause has a finding of its own, and its loss follows from it.
    if sent.share(lost) < RETRANSMITTED
        || outage::lost_by_size(one_way)
        || !one_way.may_be(&[LimitKind::RampUp, LimitKind::VariableRate])
    {
        return None;
    }
    let congestion = one_way.figures.congestion.as_deref().unwrap_or("the congestion control");
    // BBR goes by the rate of delivery, and by loss only where it is much (Linux tcp_bbr.c).
    let is_bbr = congestion.starts_with("bbr");
    let slower = if is_bbr { String::new() } else { format!(", and {congestion} slows down for each loss") };
    let title = format!(
        "TCP {} retransmitted {} ({}){}: the path loses packets{slower}",
        one_way.direction,
        count(lost, "segment"),
        percent(sent.share(lost)),
        if sent.spurious == 0 { "" } else { " that had not arrived" },
    );
    let finding = sent.evidence(Finding::new("path-loss", Severity::Warning, one_way.direction, title));
    let mut advice = "Look at the drops of each interface on the path (`ip -s link`), and measure for longer (`-t 10`), so that the limit behind the losses can be named.".to_owned();
    if !is_bbr {
        advice.push_str(" `--congestion bbr` bears random loss better.");
    }
    Some(finding.advise(advice))
}

/// Segments that were retransmitted although they had arrived: later ones overtook them.
fn needlessly_retransmitted(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let sent = Retransmits::in_direction(one_way)?;
    // The kernel expects three segments out of order (`net.ipv4.tcp_reordering`), and more where it saw more.
    let extent = one_way.tcp_rows().map(|tcp| tcp.reordering).max().filter(|extent| *extent > EXPECTED)?;
    let share = sent.share(sent.spurious);
    if share < RETRANSMITTED {
        return None;
    }
    let title = format!(
        "The path changes the order of packets {}: TCP retransmitted {} ({}) that had arrived, {extent} segments out of order",
        one_way.direction,
        count(sent.spurious, "segment"),
        percent(share)
    );
    let finding = Finding::new("reordering", Severity::Warning, one_way.direction, title);
    Some(sent.evidence(finding).with("reordering_count", u64::from(extent)).advise(order_advice(one_way)))
}

fn overtaken(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let (late, received) = (one_way.figures.reordered?, one_way.figures.received.datagrams);
    let share = late as f64 / received.max(1) as f64;
    if !one_way.udp() || late < A_FEW || share < REORDERED {
        return None;
    }
    let title = format!(
        "The path changes the order of packets {}: {} ({}) arrived after later ones",
        one_way.direction,
        count(late, "datagram"),
        percent(share)
    );
    let finding = Finding::new("reordering", Severity::Warning, one_way.direction, title)
        .with("reordered_count", late)
        .with("received_count", received)
        .with("reordered_share", share);
    Some(finding.advise(order_advice(one_way)))
}

fn order_advice(one_way: &MeasuredDirection<'_>) -> String {
    format!(
        "Look for load sharing packet by packet (bonding mode balance-rr, equal-cost paths without flow hashing) or a receive queue per packet: `ethtool -x {}`.",
        one_way.interface(Role::Receiver)
    )
}

/// Datagrams arrived twice.
pub(super) fn duplicates(one_way: &MeasuredDirection<'_>) -> Option<Finding> {
    let (again, received) = (one_way.figures.duplicates?, one_way.figures.received.datagrams);
    let share = again as f64 / received.max(1) as f64;
    if !one_way.udp() || again < A_FEW || share < DUPLICATED {
        return None;
    }
    let title = format!(
        "The path doubles packets {}: {} arrived again ({} of those received)",
        one_way.direction,
        count(again, "datagram"),
        percent(share)
    );
    let finding = Finding::new("duplicates", Severity::Warning, one_way.direction, title)
        .with("duplicates_count", again)
        .with("received_count", received)
        .with("duplicates_share", share);
    Some(finding.advise(
        "Look for a loop or a mirror in the switched network, a bond in mode broadcast, or a radio link that repeats frames.",
    ))
}

/// Limits that say with a finding of their own why packets are lost.
const HAVE_FINDINGS: [LimitKind; 3] = [LimitKind::Policer, LimitKind::Loss, LimitKind::PacketRate];
/// A rest of less than one in so many datagrams that the socket dropped.
const REST_OF_ESTIMATE: u64 = 5;
/// A path that takes no more than a rate loses nothing at this share of it.
const BELOW_LIMIT: f64 = 0.95;
const FCS: u32 = 4;
/// One datagram in ten thousand: below it a buffer was full for a moment, which changes no figure.
const SOCKET_LOSS: f64 = 0.000_1;
/// One packet in a thousand: TCP's rate is bounded by it on any path longer than a metropolitan one (Mathis et al. 1997).
const PATH_LOSS: f64 = 0.001;
/// TCP finds a path's limit by losing packets, so that some are normal; one in a hundred is not.
const RETRANSMITTED: f64 = 0.01;
/// Segments out of order that TCP takes for no loss, from the start.
const EXPECTED: u32 = 3;
/// Payload of TCP's segments on nearly every path across providers, with timestamps.
const SMALL_SEGMENT: u32 = 1448;
/// Shares of fewer segments say nothing.
pub(super) const ENOUGH_SEGMENTS: u64 = 1000;
/// One in a thousand overtaken is not chance any more, and costs TCP spurious retransmissions.
const REORDERED: f64 = 0.001;
/// Sound networks duplicate nothing; below one in ten thousand it is harmless.
const DUPLICATED: f64 = 0.000_1;
/// Fewer are an accident, such as a route that changed once.
const A_FEW: u64 = 3;
/// A busy host wakes a receiver within this time.
const PAUSE: Nanos = Nanos::from_millis(50);
/// Beyond this a buffer only hides that the receiver is too slow.
const LARGEST_BUFFER: u64 = 1 << 28;
