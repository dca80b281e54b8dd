//! The CSV of an analysis: a row for each direction and way of each run.

use crate::document::Csv;
use insight::analysis::{Analysis, Flow, Trips};
use std::fmt::Display;

/// The header: each name carries its unit. Columns are only ever added at the end.
pub const COLUMNS: [&str; 36] = [
    "row",
    "run",
    "transport",
    "direction",
    "sent_bps",
    "goodput_bps",
    "change_percent",
    "sent_bytes",
    "received_bytes",
    "sent_datagrams",
    "received_datagrams",
    "lost",
    "loss_share",
    "jitter_ns",
    "retransmits",
    "payload_bytes",
    "mss_bytes",
    "with_timestamps_bytes",
    "frame_bytes",
    "frames_per_packet",
    "packets_per_second",
    "wire_bps",
    "link_bps",
    "line_rate_packets_per_second",
    "line_rate_goodput_bps",
    "line_rate_share",
    "streams",
    "jain",
    "least_bps",
    "most_bps",
    "round_trips",
    "rtt_min_ns",
    "rtt_mean_ns",
    "rtt_p50_ns",
    "rtt_p99_ns",
    "rtt_max_ns",
];

pub(super) fn rows(analysis: &Analysis) -> Csv {
    let flows = analysis.flows.iter().map(flow);
    let rows = flows.chain(analysis.trips.iter().map(trips));
    Csv::new(&COLUMNS, rows.map(|row| fields(&row)))
}

/// A row: values by the name of their column.
type Row = Vec<(&'static str, String)>;

fn fields(row: &Row) -> [String; COLUMNS.len()] {
    let value = |name| row.iter().find(|(of, _)| *of == name).map(|(_, value)| value.clone());
    COLUMNS.map(|name| value(name).unwrap_or_default())
}

fn put<T: Display>(row: &mut Row, name: &'static str, value: Option<T>) {
    row.extend(value.map(|value| (name, value.to_string())));
}

fn flow(flow: &Flow) -> Row {
    let mut row: Row = vec![("row", "throughput".into()), ("run", flow.run.clone())];
    put(&mut row, "transport", Some(flow.transport.to_string().to_lowercase()));
    put(&mut row, "direction", Some(flow.direction));
    put(&mut row, "sent_bps", flow.sent_rate.map(|rate| rate.0));
    put(&mut row, "goodput_bps", Some(flow.goodput.0));
    put(&mut row, "change_percent", flow.change_percent);
    put(&mut row, "sent_bytes", Some(flow.sent.bytes.0));
    put(&mut row, "received_bytes", Some(flow.received.bytes.0));
    let datagrams = flow.loss.map(|loss| loss.path + loss.receiver + loss.sender);
    put(&mut row, "sent_datagrams", datagrams.map(|_| flow.sent.datagrams));
    put(&mut row, "received_datagrams", datagrams.map(|_| flow.received.datagrams));
    put(&mut row, "lost", datagrams);
    put(&mut row, "loss_share", flow.loss.map(|loss| loss.share));
    put(&mut row, "jitter_ns", flow.jitter.map(|jitter| jitter.0));
    put(&mut row, "retransmits", flow.retransmits);
    wire(&mut row, flow);
    put(&mut row, "streams", flow.fairness.map(|fair| fair.streams));
    put(&mut row, "jain", flow.fairness.and_then(|fair| fair.jain));
    put(&mut row, "least_bps", flow.fairness.map(|fair| fair.least.0));
    put(&mut row, "most_bps", flow.fairness.map(|fair| fair.most.0));
    row
}

fn wire(row: &mut Row, flow: &Flow) {
    put(row, "payload_bytes", flow.payload);
    put(row, "mss_bytes", flow.segment.map(|segment| segment.mss));
    put(row, "with_timestamps_bytes", flow.segment.map(|segment| segment.with_timestamps));
    put(row, "frame_bytes", flow.wire.frame);
    put(row, "frames_per_packet", flow.wire.frames_per_packet);
    put(row, "packets_per_second", flow.wire.packets_per_second.map(|rate| rate.0));
    put(row, "wire_bps", flow.wire.rate.map(|rate| rate.0));
    put(row, "link_bps", flow.line_rate.map(|line| line.link.0));
    put(row, "line_rate_packets_per_second", flow.line_rate.map(|line| line.packets_per_second.0));
    put(row, "line_rate_goodput_bps", flow.line_rate.map(|line| line.goodput.0));
    put(row, "line_rate_share", flow.wire.line_rate_share);
}

fn trips(one: &Trips) -> Row {
    let mut row: Row = vec![("row", "round-trips".into()), ("run", one.run.clone())];
    put(&mut row, "change_percent", one.change_percent);
    put(&mut row, "lost", Some(one.lost));
    put(&mut row, "round_trips", Some(one.rtt.count));
    put(&mut row, "rtt_min_ns", Some(one.rtt.min.0));
    put(&mut row, "rtt_mean_ns", Some(one.rtt.mean.0));
    put(&mut row, "rtt_p50_ns", Some(one.rtt.p50.0));
    put(&mut row, "rtt_p99_ns", Some(one.rtt.p99.0));
    put(&mut row, "rtt_max_ns", Some(one.rtt.max.0));
    row
}
