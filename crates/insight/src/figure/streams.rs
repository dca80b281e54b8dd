//! Figures of the streams of a direction.

use super::Level::{AboveZero, Detail, OneTest, Table};
use super::Quantity::{self, Confidence, Count, Limit, Packets, Rate, Share, Size, Time};
use super::{Figure, Get, Names, Note, Scope, Source, figure, nanos};
use model::limit::LimitKind;
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::CpuUse;
use model::stats::distribution::Distribution;
use model::summary::DirectionSummary;
use model::units::{BitRate, Nanos};

const fn stream(names: Names, quantity: Quantity, get: Get<DirectionSummary>, note: Note) -> Figure {
    figure(names, quantity, Source::Direction(get), note).within(Scope::Streams)
}

/// Every figure of streams, in the order of the rows of a table.
#[rustfmt::skip]
pub(super) static STREAMS: &[Figure] = &[
    stream(("goodput", "goodput"), Rate, |d| d.is_arrived_known().then_some(d.goodput.0 as f64),
        "payload that arrived, per second").higher().shown(Table).listed(3),
    stream(("offered", "offered"), Rate, offered, "payload that the sender's kernel took, per second").udp().shown(Table),
    stream(("wire", "on the wire"), Rate, |d| d.wire.rate.filter(|_| d.is_arrived_known()).map(|rate| rate.0 as f64),
        "the same as goodput with all headers, preambles and gaps").higher().shown(OneTest),
    stream(("packets_per_second", "packets per second"), Packets, |d| d.wire.packets_per_second.map(|rate| rate.0 as f64),
        "packets that arrived, per second").higher().shown(Detail),
    stream(("line_rate_share", "of line rate"), Share, |d| d.wire.line_rate_share,
        "rate on the wire as a share of the link's").higher().shown(Table),
    stream(("bytes", "payload"), Size, |d| d.is_arrived_known().then_some(d.received.bytes.0 as f64),
        "payload that arrived").shown(Detail),
    stream(("loss", "lost"), Share, |d| d.loss.map(|loss| loss.share),
        "share of the datagrams sent that were lost").lower().udp().shown(Table).listed(6),
    stream(("loss.path", "lost on the path"), Count, |d| d.loss.map(|loss| loss.path as f64),
        "datagrams lost between the hosts").lower().udp().shown(Detail),
    stream(("loss.receiver", "lost at the receiver"), Count, |d| d.loss.map(|loss| loss.receiver as f64),
        "datagrams for which the receiving socket had no room").lower().udp().shown(Detail),
    stream(("loss.sender", "lost at the sender"), Count, |d| d.loss.map(|loss| loss.sender as f64),
        "datagrams for which the sending kernel had no room").lower().udp().shown(Detail),
    stream(("reordered", "reordered"), Count, |d| d.reordered.map(|count| count as f64),
        "datagrams that arrived after a later one").lower().udp().shown(AboveZero),
    stream(("duplicates", "duplicates"), Count, |d| d.duplicates.map(|count| count as f64),
        "datagrams that arrived again").lower().udp().shown(AboveZero),
    stream(("late", "too late"), Count, |d| d.late.map(|count| count as f64),
        "datagrams so late that they may be new or duplicates").lower().udp().shown(AboveZero),
    stream(("ecn_marks", "ECN CE marks"), Count, |d| d.ecn_marks.map(|count| count as f64),
        "packets that arrived with ECN's mark of congestion (TCP: Linux 6.18; UDP: sent with an ECN-capable `--tos`)").lower().shown(AboveZero),
    stream(("jitter", "jitter"), Time, |d| d.jitter.map(|jitter| nanos(jitter.rfc3550)),
        "jitter by RFC 3550 at the end, mean over the streams").lower().udp().shown(OneTest).listed(14),
    stream(("jitter.p50", "jitter, median"), Time, |d| jitter(d, |all| all.p50),
        "median difference of successive transit times").lower().udp().shown(Detail),
    stream(("jitter.p99", "jitter, p99"), Time, |d| jitter(d, |all| all.p99), "99th percentile of these").lower().udp().shown(Detail),
    stream(("jitter.max", "jitter, longest"), Time, |d| jitter(d, |all| all.max), "the longest of these").lower().udp().shown(Detail),
    stream(("one_way.min", "one-way delay, shortest"), Time, |d| d.one_way.map(|delay| nanos(delay.min)),
        "shortest one-way delay, where the clocks allow it").lower().udp().shown(Detail),
    stream(("one_way.mean", "one-way delay"), Time, |d| d.one_way.map(|delay| nanos(delay.mean)),
        "mean one-way delay").lower().udp().shown(Table),
    stream(("one_way.max", "one-way delay, longest"), Time, |d| d.one_way.map(|delay| nanos(delay.max)),
        "longest one-way delay").lower().udp().shown(Detail),
    stream(("one_way.error", "error of one-way delays"), Time, |d| d.one_way.map(|delay| nanos(delay.error)),
        "bound of the clocks' error in each of these, up or down").lower().udp().shown(Detail),
    stream(("segments.sent", "segments sent"), Count, |d| Some(d.segments?.sent? as f64),
        "segments with payload sent, retransmits included").tcp().shown(Detail),
    stream(("segments.received", "segments received"), Count, |d| Some(d.segments?.received? as f64),
        "segments with payload received").tcp().shown(Detail),
    stream(("segments.payload", "payload of a segment"), Size, |d| d.segments?.mean_payload,
        "mean payload of a segment").tcp().shown(Detail),
    stream(("mss", "payload of a packet"), Size, |d| d.mss.map(f64::from),
        "payload of one packet: TCP segment or UDP datagram").shown(Detail),
    stream(("retransmits", "retransmits"), Count, |d| d.retransmits.map(|count| count as f64),
        "segments retransmitted").lower().tcp().shown(Table),
    stream(("retransmits.spurious", "spurious retransmits"), Count, |d| d.spurious_retransmits.map(|count| count as f64),
        "those of them that the receiver had already").lower().tcp().shown(Detail),
    stream(("loaded_rtt", "RTT loaded"), Time, |d| d.loaded_rtt.map(nanos),
        "TCP's smoothed round trip under this load, mean over the streams").lower().tcp().shown(Table).listed(11),
    stream(("stream.min", "slowest stream"), Rate, |d| streams(d)?.min().map(|rate| rate as f64),
        "goodput of the slowest of several streams").higher().shown(Table),
    stream(("stream.max", "fastest stream"), Rate, |d| streams(d)?.max().map(|rate| rate as f64),
        "goodput of the fastest of them").higher().shown(Table),
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
        "CPUs that the sending program used; 100 % is one CPU").lower().shown(Detail),
    stream(("cpu.sender.thread", "busiest thread, sender"), Share, |d| busiest(&d.cpu.sender),
        "CPU that its busiest thread used").lower().shown(Detail),
    stream(("cpu.sender.softirq", "softirq, sender"), Share, |d| softirq(&d.cpu.sender),
        "CPUs that software interrupts of its whole host used").lower().shown(Detail),
    stream(("cpu.receiver", "CPU of the receiver"), Share, |d| d.cpu.receiver.as_ref().map(|cpu| cpu.process),
        "CPUs that the receiving program used").lower().shown(Detail),
    stream(("cpu.receiver.thread", "busiest thread, receiver"), Share, |d| busiest(&d.cpu.receiver),
        "CPU that its busiest thread used").lower().shown(Detail),
    stream(("cpu.receiver.softirq", "softirq, receiver"), Share, |d| softirq(&d.cpu.receiver),
        "CPUs that software interrupts of its whole host used").lower().shown(Detail),
];

/// The streams of a run in a direction over a transport; of those of several tests the fastest.
#[must_use]
pub fn fastest(run: &Run, transport: Transport, direction: Direction) -> Option<&DirectionSummary> {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    let all = tests.iter().filter_map(|test| test.summary.direction(direction));
    all.filter(|streams| streams.transport == transport).max_by_key(|streams| streams.goodput)
}

/// The datagrams that were sent; none where nothing was.
fn offered(direction: &DirectionSummary) -> Option<f64> {
    (direction.transport == Transport::Udp && direction.sent.bytes.0 > 0)
        .then(|| BitRate::from_bytes(direction.sent.bytes, direction.elapsed).0 as f64)
}

/// The rate of each of several streams.
fn streams(direction: &DirectionSummary) -> Option<impl Iterator<Item = u64>> {
    (direction.streams.len() > 1).then(|| direction.streams.iter().map(|stream| stream.goodput.0))
}

/// A peer that does not report it has 0.
fn busiest(cpu: &Option<CpuUse>) -> Option<f64> {
    Some(cpu.as_ref()?.busiest_thread).filter(|share| *share > 0.0)
}

fn softirq(cpu: &Option<CpuUse>) -> Option<f64> {
    Some(cpu.as_ref()?.softirq).filter(|share| *share > 0.0)
}

/// The kind of the limit, by its place among all.
fn limit_kind(direction: &DirectionSummary) -> Option<f64> {
    let kind = direction.limit.as_ref()?.kind;
    LimitKind::ALL.iter().position(|one| *one == kind).map(|place| place as f64)
}

fn jitter(direction: &DirectionSummary, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    direction.jitter?.distribution.map(|distribution| nanos(of(&distribution)))
}
