//! The CSV rows of a throughput test: one for each interval and stream, and one for each direction.

use super::{CsvPart, Start, outcome, rounded, seconds};
use crate::document::{Csv, or_empty};
use insight::figure::{Figure, Level, table_figures};
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::{IntervalSample, Role, Side, StreamSample};
use model::summary::DirectionSummary;
use model::units::{BitRate, Bytes, Nanos};
use serde::Serialize;

#[derive(Default, Serialize)]
struct Stream {
    side: Option<Side>,
    role: Option<Role>,
    stream: Option<u32>,
    transport: Option<Transport>,
    start_s: String,
    end_s: String,
    omitted: bool,
    bytes: Bytes,
    acknowledged_bytes: Option<Bytes>,
    bits_per_second: BitRate,
    datagrams: Option<u64>,
    lost: Option<u64>,
    loss_share: Option<f64>,
    reordered: Option<u64>,
    duplicates: Option<u64>,
    jitter_ns: Option<Nanos>,
    retransmits: Option<u64>,
    cwnd_bytes: Option<Bytes>,
    rtt_ns: Option<Nanos>,
    wire_bps: Option<BitRate>,
    data_segments: Option<u64>,
    mean_segment_bytes: Option<String>,
    outcome: Option<&'static str>,
}

pub(super) fn rows(test: &Run, place: &CsvPart) -> Csv {
    let rows_of = |sample: &IntervalSample| -> Vec<(Start, Stream)> {
        let row = |row: &StreamSample| (place.start("interval", row.direction), interval(test, sample, row));
        sample.streams.iter().map(row).collect()
    };
    let directions = Direction::BOTH;
    let total = |direction| {
        let found = test.summary.direction(direction)?;
        Some((place.start("summary", direction), total(test, found)))
    };
    let intervals: Vec<(Start, Stream)> = test.intervals.iter().flat_map(rows_of).collect();
    let count = intervals.len();
    let mut csv = Csv::from_rows(intervals.into_iter().chain(directions.into_iter().filter_map(total)));
    let found: Vec<_> =
        directions.into_iter().filter_map(|direction| test.summary.direction(direction)).collect();
    for figure in added() {
        csv.columns.push(figure.name.replace('.', "_"));
        let value = |at: usize| figure.in_direction(found.get(at.checked_sub(count)?)?);
        for (at, row) in csv.rows.iter_mut().enumerate() {
            row.push(or_empty(value(at)));
        }
    }
    csv
}

/// Counts of a direction as a whole that have no column among those of intervals.
fn added() -> impl Iterator<Item = &'static Figure> {
    table_figures().filter(|figure| figure.level == Level::AboveZero && !OF_INTERVALS.contains(&figure.name))
}

/// Counts whose columns intervals have, too.
const OF_INTERVALS: [&str; 2] = ["reordered", "duplicates"];

fn interval(test: &Run, sample: &IntervalSample, row: &StreamSample) -> Stream {
    let length = sample.end.saturating_sub(sample.start);
    let receives = row.role == Role::Receiver;
    let tcp = row.tcp.as_ref().filter(|_| !receives);
    let received = row.udp.as_ref().filter(|_| receives);
    // A figure that is not known of the whole is not known of an interval.
    let whole = test.summary.direction(row.direction);
    Stream {
        side: Some(sample.side),
        role: Some(row.role),
        stream: Some(row.stream),
        transport: test.throughput().map(|plan| plan.test.transport),
        start_s: seconds(sample.start),
        end_s: seconds(sample.end),
        omitted: sample.omitted,
        bytes: row.bytes,
        acknowledged_bytes: tcp.map(|tcp| tcp.acknowledged),
        bits_per_second: BitRate::from_bytes(row.bytes, length),
        datagrams: row.udp.as_ref().map(|udp| udp.datagrams),
        lost: received.map(|udp| udp.lost),
        reordered: received
            .filter(|_| whole.is_some_and(|whole| whole.reordered.is_some()))
            .map(|udp| udp.reordered),
        duplicates: received
            .filter(|_| whole.is_some_and(|whole| whole.duplicates.is_some()))
            .map(|udp| udp.duplicates),
        jitter_ns: received.filter(|udp| udp.datagrams > 0).map(|udp| udp.jitter),
        retransmits: tcp.map(|tcp| tcp.retransmits),
        cwnd_bytes: tcp.map(|tcp| tcp.cwnd),
        rtt_ns: tcp.map(|tcp| tcp.rtt),
        ..Stream::default()
    }
}

fn total(test: &Run, found: &DirectionSummary) -> Stream {
    let is_udp = found.transport == Transport::Udp;
    let segments = found.segments;
    Stream {
        transport: Some(found.transport),
        start_s: seconds(Nanos::ZERO),
        end_s: seconds(found.elapsed),
        bytes: found.received.bytes,
        bits_per_second: found.goodput,
        datagrams: is_udp.then_some(found.received.datagrams),
        lost: found.loss.map(|loss| loss.path + loss.receiver + loss.sender),
        loss_share: found.loss.map(|loss| loss.share),
        reordered: found.reordered,
        duplicates: found.duplicates,
        jitter_ns: found.jitter.map(|jitter| jitter.rfc3550),
        retransmits: found.retransmits,
        rtt_ns: found.loaded_rtt,
        wire_bps: found.wire.rate,
        data_segments: segments.and_then(|segments| segments.received.or(segments.sent)),
        mean_segment_bytes: segments.and_then(|segments| segments.mean_payload).map(|mean| rounded(mean, 1)),
        outcome: outcome(test),
        ..Stream::default()
    }
}
