//! Figures of the streams of a direction.

use super::Quantity::{self, Confidence, Count, Limit, Packets, Rate, Share, Size, Time};
use super::{Figure, Get, Names, Note, Scope, Source, figure, nanos};
use model::limit::LimitKind;
use model::stats::distribution::Distribution;
use model::summary::DirectionSummary;
use model::units::Nanos;

const fn stream(names: Names, quantity: Quantity, get: Get<DirectionSummary>, note: Note) -> Figure {
    figure(names, quantity, Source::Direction(get), note).within(Scope::Streams)
}

/// Every figure of streams.
#[rustfmt::skip]
pub(super) static STREAMS: &[Figure] = &[
    stream(("goodput", "goodput"), Rate, |d| d.is_arrived_known().then_some(d.goodput.0 as f64),
        "payload that arrived, per second").higher().listed(3),
    stream(("wire", "on the wire"), Rate, |d| d.wire.rate.map(|rate| rate.0 as f64),
        "the same with all headers, preambles and gaps").higher(),
    stream(("packets_per_second", "packets per second"), Packets, |d| d.wire.packets_per_second.map(|rate| rate.0 as f64),
        "packets that arrived, per second").higher(),
    stream(("line_rate_share", "of line rate"), Share, |d| d.wire.line_rate_share,
        "rate on the wire as a share of the link's").higher(),
    stream(("bytes", "payload"), Size, |d| d.is_arrived_known().then_some(d.received.bytes.0 as f64),
        "payload that arrived"),
    stream(("loss", "lost"), Share, |d| d.loss.map(|loss| loss.share),
        "share of the datagrams sent that were lost").lower().udp().listed(6),
    stream(("loss.path", "lost on the path"), Count, |d| d.loss.map(|loss| loss.path as f64),
        "datagrams lost between the hosts").lower().udp(),
    stream(("loss.receiver", "lost at the receiver"), Count, |d| d.loss.map(|loss| loss.receiver as f64),
        "datagrams for which the receiving socket had no room").lower().udp(),
    stream(("loss.sender", "lost at the sender"), Count, |d| d.loss.map(|loss| loss.sender as f64),
        "datagrams for which the sending kernel had no room").lower().udp(),
    stream(("reordered", "reordered"), Count, |d| d.reordered.map(|count| count as f64),
        "datagrams that arrived after a later one").lower().udp(),
    stream(("duplicates", "duplicates"), Count, |d| d.duplicates.map(|count| count as f64),
        "datagrams that arrived again").lower().udp(),
    stream(("jitter", "jitter"), Time, |d| d.jitter.map(|jitter| nanos(jitter.rfc3550)),
        "jitter by RFC 3550 at the end, mean over the streams").lower().udp().listed(14),
    stream(("jitter.p50", "jitter, median"), Time, |d| jitter(d, |all| all.p50),
        "median difference of successive transit times").lower().udp(),
    stream(("jitter.p99", "jitter, p99"), Time, |d| jitter(d, |all| all.p99), "99th percentile of these").lower().udp(),
    stream(("jitter.max", "jitter, longest"), Time, |d| jitter(d, |all| all.max), "the longest of these").lower().udp(),
    stream(("one_way.min", "one-way delay, shortest"), Time, |d| d.one_way.map(|delay| nanos(delay.min)),
        "shortest one-way delay, where the clocks allow it").lower().udp(),
    stream(("one_way.mean", "one-way delay"), Time, |d| d.one_way.map(|delay| nanos(delay.mean)),
        "mean one-way delay").lower().udp(),
    stream(("one_way.max", "one-way delay, longest"), Time, |d| d.one_way.map(|delay| nanos(delay.max)),
        "longest one-way delay").lower().udp(),
    stream(("retransmits", "retransmits"), Count, |d| d.retransmits.map(|count| count as f64),
        "segments retransmitted").lower().tcp(),
    stream(("loaded_rtt", "RTT loaded"), Time, |d| d.loaded_rtt.map(nanos),
        "TCP's smoothed round trip under this load, mean over the streams").lower().tcp().listed(11),
    stream(("mss", "payload of a packet"), Size, |d| d.mss.map(f64::from),
        "payload of one packet: TCP segment or UDP datagram"),
    stream(("limit", "limit"), Limit, limit_kind, "kind of the limit of the rate, such as `shaper`").tcp().listed(19),
    stream(("limit.kind", "limit"), Limit, limit_kind, "the same").tcp(),
    stream(("limit.rate", "limit, rate"), Rate, |d| Some(d.limit.as_ref()?.rate?.0 as f64),
        "rate that the limit sets, in frames on the wire").higher().tcp().listed(12),
    stream(("limit.packets", "limit, packets"), Packets, |d| Some(d.limit.as_ref()?.packets?.0 as f64),
        "packet rate that the limit sets").higher().tcp(),
    stream(("limit.queue", "limit, queue"), Time, |d| Some(nanos(d.limit.as_ref()?.queue?)),
        "time that packets wait in its full queue").lower().tcp().listed(13),
    stream(("limit.burst", "limit, burst"), Size, |d| Some(d.limit.as_ref()?.burst?.0 as f64),
        "bytes that pass at once after a pause").tcp(),
    stream(("limit.hop", "limit, link"), Count, |d| d.limit.as_ref()?.place?.link().map(f64::from),
        "number of the link that has the limit; 1 joins this host and the first router").tcp(),
    stream(("limit.per_flow", "limit of each flow"), Count, |d| d.limit.as_ref()?.per_flow.map(f64::from),
        "1 where each flow has the limit for itself, 0 where all share it").tcp(),
    stream(("limit.confidence", "limit, confidence"), Confidence, |d| Some(f64::from(d.limit.as_ref()?.confidence as u8)),
        "confidence in the kind of the limit").tcp(),
    stream(("cpu.sender", "CPU of the sender"), Share, |d| d.cpu.sender.as_ref().map(|cpu| cpu.process),
        "CPUs that the sending program used; 100 % is one CPU").lower(),
    stream(("cpu.receiver", "CPU of the receiver"), Share, |d| d.cpu.receiver.as_ref().map(|cpu| cpu.process),
        "CPUs that the receiving program used").lower(),
];

/// The kind of the limit, by its place among all.
fn limit_kind(direction: &DirectionSummary) -> Option<f64> {
    let kind = direction.limit.as_ref()?.kind;
    LimitKind::ALL.iter().position(|one| *one == kind).map(|place| place as f64)
}

fn jitter(direction: &DirectionSummary, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    direction.jitter?.distribution.map(|distribution| nanos(of(&distribution)))
}
