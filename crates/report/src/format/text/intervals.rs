//! The interval table: the same rows live and from a stored run.

use super::phrases;
use crate::document::{Line, Paint};
use model::plan::{Direction, Plan, Transport};
use model::sample::{IntervalSample, Role, StreamSample, TcpCounters, UdpCounters};
use model::units::{BitRate, Bytes, Nanos, PacketRate, grouped};

/// The head of the table.
pub(super) fn header(plan: &Plan) -> Line {
    let names = match plan.test.transport {
        Transport::Tcp => ["Time", "Direction", "Goodput", "Retransmits", "Window", "RTT"],
        // The rate of a sender alone is not known to have arrived.
        Transport::Udp => ["Time", "Direction", "Rate", "Datagrams", "Lost", "Jitter"],
    };
    Line::new(Paint::Bold, line(&names.map(String::from)))
}

/// One line per interval and direction, in the order of the begin. What the receiver counted goes before what the
/// sender had acknowledged; the sender adds what only it knows.
pub(super) fn rows(samples: &[IntervalSample], plan: &Plan) -> Vec<Line> {
    let mut lines: Vec<((bool, u64), Direction, Line)> = Vec::new();
    for direction in plan.test.directions.each() {
        let senders = of_role(samples, direction, Role::Sender);
        for sample in counted(samples, direction) {
            let sender = senders.iter().find(|sender| same_time(sender, sample));
            let row = IntervalRow::from_sample(sample, sender.copied(), direction, plan);
            lines.push((sort_key(sample), direction, row.print(plan, sample.omitted)));
        }
    }
    lines.sort_by_key(|(start, direction, _)| (*start, *direction));
    lines.into_iter().map(|(_, _, line)| line).collect()
}

/// The end of each interval that counts, and the rate in it.
pub(in crate::format) fn rates(samples: &[IntervalSample], direction: Direction) -> Vec<(Nanos, BitRate)> {
    let rate = |sample: &&IntervalSample| {
        let rows = sample.streams.iter().filter(|row| row.direction == direction);
        (sample.end, BitRate::from_bytes(rows.map(carried).sum(), sample.end.saturating_sub(sample.start)))
    };
    let counted = counted(samples, direction);
    counted.iter().filter(|sample| !sample.omitted).map(rate).collect()
}

/// One more figure of each interval: the sender's mean smoothed RTT and retransmits (TCP), datagrams lost (UDP).
pub(in crate::format) fn gauges(
    samples: &[IntervalSample],
    plan: &Plan,
    direction: Direction,
) -> Vec<(Nanos, Gauges)> {
    let senders = of_role(samples, direction, Role::Sender);
    let gauges = |sample: &&IntervalSample| {
        let sender = senders.iter().find(|sender| same_time(sender, sample));
        let row = IntervalRow::from_sample(sample, sender.copied(), direction, plan);
        let udp = row.udp.as_ref().filter(|_| row.received);
        let gauges = Gauges {
            rtt: row.tcp.as_ref().map(|tcp| tcp.rtt).filter(|rtt| rtt.0 > 0),
            retransmits: row.tcp.as_ref().map(|tcp| tcp.retransmits),
            lost: udp.map(|udp| udp.lost),
        };
        (sample.end, gauges)
    };
    counted(samples, direction).iter().filter(|sample| !sample.omitted).map(gauges).collect()
}

/// Figures of an interval beside its rate.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::format) struct Gauges {
    /// Smoothed RTT at its end, the mean of all streams.
    pub(in crate::format) rtt: Option<Nanos>,
    /// Retransmitted segments.
    pub(in crate::format) retransmits: Option<u64>,
    /// Datagrams that never arrived.
    pub(in crate::format) lost: Option<u64>,
}

/// The intervals without a last one that is a mere rest: its rate is of the test's last moments, and would be drawn as far from
/// the one before as that is from its own.
pub(in crate::format) fn whole<T>(mut intervals: Vec<(Nanos, T)>) -> Vec<(Nanos, T)> {
    let end = |back: usize| intervals.iter().rev().nth(back).map(|(end, _)| *end);
    if let (Some(last), Some(before)) = (end(0), end(1)) {
        let length = before.saturating_sub(end(2).unwrap_or_default());
        if last.saturating_sub(before) < Nanos(length.0 / 2) {
            intervals.pop();
        }
    }
    intervals
}

/// The rate of one end in an interval, whether it is the receiver's, and what the kernel of a sender knew.
pub(in crate::format) fn rate(
    sample: &IntervalSample,
    direction: Direction,
) -> Option<(BitRate, bool, Option<TcpCounters>)> {
    let rows = streams(sample, direction);
    let received = rows.first()?.role == Role::Receiver;
    let rate = BitRate::from_bytes(
        rows.iter().map(|row| carried(row)).sum(),
        sample.end.saturating_sub(sample.start),
    );
    Some((rate, received, sum_tcp(&rows).filter(|_| !received)))
}

/// The end of each interval that counts, and what the kernel of the sender knew in it: TCP alone.
pub(in crate::format) fn senders(
    samples: &[IntervalSample],
    direction: Direction,
) -> Vec<(Nanos, TcpCounters)> {
    let sent = of_role(samples, direction, Role::Sender).into_iter().filter(|sample| !sample.omitted);
    let known = |sample: &IntervalSample| {
        Some((sample.end, sum_tcp(&streams_of_role(sample, direction, Role::Sender))?))
    };
    sent.filter_map(known).collect()
}

/// The receiver's counters, or the sender's where no receiver reports any.
fn counted(samples: &[IntervalSample], direction: Direction) -> Vec<&IntervalSample> {
    let receivers = of_role(samples, direction, Role::Receiver);
    if receivers.is_empty() { of_role(samples, direction, Role::Sender) } else { receivers }
}

fn of_role(samples: &[IntervalSample], direction: Direction, role: Role) -> Vec<&IntervalSample> {
    samples.iter().filter(|sample| has(sample, direction, role)).collect()
}

/// Omitted intervals count from their own zero: they come first. The same interval of both ends has one number, though it
/// begins at neither of them to the nanosecond when it should.
fn sort_key(sample: &IntervalSample) -> (bool, u64) {
    let length = sample.end.saturating_sub(sample.start).0.max(1);
    (!sample.omitted, sample.start.0.saturating_add(length / 2) / length)
}

fn has(sample: &IntervalSample, direction: Direction, role: Role) -> bool {
    sample.streams.iter().any(|row| row.direction == direction && row.role == role)
}

/// The two ends' clocks of the test do not start at the same instant.
fn same_time(one: &IntervalSample, other: &IntervalSample) -> bool {
    let half = other.end.saturating_sub(other.start).0 / 2;
    one.omitted == other.omitted && one.start.0.abs_diff(other.start.0) < half.max(1)
}

/// The same interval at both ends, of the same length.
pub(super) fn is_same_interval(one: &IntervalSample, other: &IntervalSample) -> bool {
    let length = |sample: &IntervalSample| sample.end.saturating_sub(sample.start).0;
    same_time(one, other) && length(one).abs_diff(length(other)) < length(one).max(1) / 2
}

struct IntervalRow {
    span: (Nanos, Nanos),
    direction: Direction,
    bytes: Bytes,
    tcp: Option<TcpCounters>,
    udp: Option<UdpCounters>,
    received: bool,
}

impl IntervalRow {
    fn from_sample(
        sample: &IntervalSample,
        sender: Option<&IntervalSample>,
        direction: Direction,
        plan: &Plan,
    ) -> IntervalRow {
        let streams = streams(sample, direction);
        let received = streams.iter().any(|row| row.role == Role::Receiver);
        let sender_streams = sender.map(|sender| streams_of_role(sender, direction, Role::Sender));
        let bytes = streams.iter().map(|row| carried(row)).sum();
        let is_tcp = plan.test.transport == Transport::Tcp;
        let tcp = sender_streams.filter(|_| is_tcp).and_then(|rows| sum_tcp(&rows));
        let udp = (!is_tcp).then(|| sum_udp(&streams));
        IntervalRow { span: (sample.start, sample.end), direction, bytes, tcp, udp, received }
    }

    fn print(&self, plan: &Plan, omitted: bool) -> Line {
        let length = self.span.1.saturating_sub(self.span.0);
        let blank = || "-".to_owned();
        let [first, second, third] = match (plan.test.transport, &self.tcp, &self.udp) {
            (Transport::Udp, _, Some(udp)) => {
                let rate = PacketRate::from_count(udp.datagrams, length).to_string();
                match self.received {
                    // No datagram has a jitter.
                    true if udp.datagrams == 0 => [rate, grouped(udp.lost), blank()],
                    true => [rate, grouped(udp.lost), udp.jitter.to_string()],
                    false => [rate, blank(), blank()],
                }
            }
            (_, Some(tcp), _) => [
                grouped(tcp.retransmits),
                Some(tcp.cwnd).filter(|cwnd| cwnd.0 > 0).map_or_else(blank, |cwnd| cwnd.to_string()),
                Some(tcp.rtt).filter(|rtt| rtt.0 > 0).map_or_else(blank, |rtt| rtt.to_string()),
            ],
            _ => [blank(), blank(), blank()],
        };
        let rate = BitRate::from_bytes(self.bytes, length).to_string();
        let cells = [
            phrases::interval(self.span.0, self.span.1),
            self.direction.to_string(),
            rate,
            first,
            second,
            third,
        ];
        let sent = if self.udp.is_some() && !self.received { "  sent" } else { "" };
        match omitted {
            true => Line::new(Paint::Dim, line(&cells) + sent + "  omitted"),
            false => Line::new(Paint::Plain, line(&cells) + sent),
        }
    }
}

fn streams(sample: &IntervalSample, direction: Direction) -> Vec<&StreamSample> {
    sample.streams.iter().filter(|row| row.direction == direction).collect()
}

fn streams_of_role(sample: &IntervalSample, direction: Direction, role: Role) -> Vec<&StreamSample> {
    streams(sample, direction).into_iter().filter(|row| row.role == role).collect()
}

/// The bytes that crossed: those in a TCP sender's socket buffer have not.
fn carried(row: &StreamSample) -> Bytes {
    match (&row.tcp, row.role) {
        (Some(tcp), Role::Sender) => tcp.acknowledged,
        _ => row.bytes,
    }
}

/// Retransmits of all streams, their windows added up, and the mean RTT.
fn sum_tcp(rows: &[&StreamSample]) -> Option<TcpCounters> {
    let all: Vec<&TcpCounters> = rows.iter().filter_map(|row| row.tcp.as_ref()).collect();
    let count = u64::try_from(all.len()).ok().filter(|count| *count > 0)?;
    Some(TcpCounters {
        retransmits: all.iter().map(|tcp| tcp.retransmits).sum(),
        cwnd: all.iter().map(|tcp| tcp.cwnd).sum(),
        rtt: Nanos(all.iter().map(|tcp| tcp.rtt.0).sum::<u64>() / count),
        ..TcpCounters::default()
    })
}

/// Datagrams and losses of all streams and the mean jitter.
fn sum_udp(rows: &[&StreamSample]) -> UdpCounters {
    let all: Vec<&UdpCounters> = rows.iter().filter_map(|row| row.udp.as_ref()).collect();
    let count = u64::try_from(all.len()).unwrap_or(u64::MAX).max(1);
    UdpCounters {
        datagrams: all.iter().map(|udp| udp.datagrams).sum(),
        lost: all.iter().map(|udp| udp.lost).sum(),
        jitter: Nanos(all.iter().map(|udp| udp.jitter.0).sum::<u64>() / count),
        ..UdpCounters::default()
    }
}

fn line(cells: &[String; 6]) -> String {
    let [time, direction, rate, first, second, third] = cells;
    format!("  {time:<16}{direction:<9}{rate:>12}{first:>13}{second:>10}{third:>9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_at_the_end_is_no_interval() {
        let drawn =
            |millis: &[u64]| whole(millis.iter().map(|end| (Nanos::from_millis(*end), ())).collect()).len();
        assert_eq!(drawn(&[1000, 2001, 3000]), 3);
        assert_eq!(drawn(&[1000, 2001, 2200]), 2);
        assert_eq!(drawn(&[1000, 1200]), 1);
        assert_eq!([drawn(&[]), drawn(&[100])], [0, 1]);
    }
}
