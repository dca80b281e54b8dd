//! The rows of a run: one per interval and stream, and one per direction at the end, under one stable header.

mod frames;
mod hops;
mod latency;
mod packets;
mod path;
mod reach;
mod transfer;

use crate::document::Csv;
use model::event::Outcome;
use model::plan::{Direction, Transport};
use model::run::Run;
use model::sample::{IntervalSample, Role, Side, StreamSample};
use model::summary::DirectionSummary;
use model::units::BitRate;

/// The whole run. Empty fields are not known or do not apply; columns are only ever added at the end.
pub(super) fn rows(run: &Run) -> Csv {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    let mut rows = frames::rows(run);
    if !run.tests.is_empty() {
        rows.extend(path::rows(run, run, None));
        rows.extend(packets::rows(run, run, None));
        rows.extend(reach::rows(run, run, None));
    }
    for (number, test) in tests.iter().enumerate() {
        for sample in &test.intervals {
            rows.extend(
                sample.streams.iter().map(|stream| interval(run, test, number, sample, stream).into()),
            );
        }
        for direction in [Direction::Up, Direction::Down] {
            let Some(summary) = test.summary.direction(direction) else { continue };
            rows.push(with_segments(total(run, test, number, direction, summary), summary));
        }
        rows.extend(latency::rows(run, test, number));
        rows.extend(path::rows(run, test, Some(number)));
        rows.extend(packets::rows(run, test, Some(number)));
        rows.extend(reach::rows(run, test, Some(number)));
        rows.extend(hops::rows(run, test, number));
        rows.extend(transfer::rows(run, test, number));
    }
    // What is missing at the end is empty.
    rows.iter_mut().for_each(|row| row.resize(COLUMNS.len(), String::new()));
    Csv::new(&COLUMNS, rows)
}

/// The header: each name carries its unit.
pub const COLUMNS: [&str; 106] = [
    "run",
    "test",
    "row",
    "side",
    "role",
    "direction",
    "stream",
    "transport",
    "start_s",
    "end_s",
    "omitted",
    "bytes",
    "acknowledged_bytes",
    "bits_per_second",
    "datagrams",
    "lost",
    "loss_share",
    "reordered",
    "duplicates",
    "jitter_ns",
    "retransmits",
    "cwnd_bytes",
    "rtt_ns",
    "wire_bps",
    "outcome",
    "way",
    "load",
    "sent",
    "round_trips",
    "late",
    "rtt_min_ns",
    "rtt_mean_ns",
    "rtt_stddev_ns",
    "rtt_p50_ns",
    "rtt_p90_ns",
    "rtt_p99_ns",
    "rtt_p999_ns",
    "rtt_p9999_ns",
    "rtt_max_ns",
    "seen_as",
    "one_way_up_p50_ns",
    "one_way_down_p50_ns",
    "one_way_error_ns",
    "wire_p50_ns",
    "host_adds_p50_ns",
    "up_bps",
    "down_bps",
    "rpm",
    "method",
    "size_bytes",
    "path_mtu_bytes",
    "bound",
    "max_udp_payload_bytes",
    "interface_mtu_bytes",
    "cached_mtu_bytes",
    "hop",
    "hop_address",
    "discovery",
    "black_hole_first_bytes",
    "black_hole_last_bytes",
    "fragments",
    "mss_sent_bytes",
    "mss_received_bytes",
    "largest_segment_bytes",
    "fragmented_from_bytes",
    "packets",
    "size_to_bytes",
    "fragment_packets",
    "super_packets",
    "complete",
    "local",
    "remote",
    "data_segments",
    "mean_segment_bytes",
    "mtu_bytes",
    "repetition",
    "http_status",
    "dns_ns",
    "connect_ns",
    "tls_ns",
    "first_byte_ns",
    "total_ns",
    "rate_stddev_bps",
    "change_percent",
    "change_low_percent",
    "change_high_percent",
    "expected_percent",
    "judgement",
    "error",
    "offered_pps",
    "packets_per_second",
    "line_rate_pps",
    "line_rate_share",
    "pairs",
    "sender_cpu_share",
    "receiver_cpu_share",
    "limited_by",
    "device_frames",
    "encap",
    "notes",
    "hop_name",
    "as_number",
    "as_name",
    "flows",
    "hops_back",
    "mpls_labels",
];

/// The columns of streams; those behind them are of round trips, packet sizes, captured packets and transfers.
type Fields = [String; 25];

fn interval(run: &Run, test: &Run, number: usize, sample: &IntervalSample, row: &StreamSample) -> Fields {
    let length = sample.end.saturating_sub(sample.start);
    let (tcp, udp) = (row.tcp.as_ref(), row.udp.as_ref());
    let side = match sample.side {
        Side::Local => "local",
        Side::Peer => "peer",
    };
    let role = match row.role {
        Role::Sender => "sender",
        Role::Receiver => "receiver",
    };
    let receives = row.role == Role::Receiver;
    [
        run.id.clone(),
        number.to_string(),
        "interval".into(),
        side.into(),
        role.into(),
        row.direction.to_string(),
        row.stream.to_string(),
        transport(test),
        seconds(sample.start.as_secs_f64()),
        seconds(sample.end.as_secs_f64()),
        sample.omitted.to_string(),
        row.bytes.0.to_string(),
        or_empty(tcp.filter(|_| !receives).map(|tcp| tcp.acknowledged.0)),
        BitRate::from_bytes(row.bytes, length).0.to_string(),
        or_empty(udp.map(|udp| udp.datagrams)),
        or_empty(udp.filter(|_| receives).map(|udp| udp.lost)),
        String::new(),
        or_empty(udp.filter(|_| receives).map(|udp| udp.reordered)),
        or_empty(udp.filter(|_| receives).map(|udp| udp.duplicates)),
        or_empty(udp.filter(|_| receives).map(|udp| udp.jitter.0)),
        or_empty(tcp.filter(|_| !receives).map(|tcp| tcp.retransmits)),
        or_empty(tcp.filter(|_| !receives).map(|tcp| tcp.cwnd.0)),
        or_empty(tcp.filter(|_| !receives).map(|tcp| tcp.rtt.0)),
        String::new(),
        String::new(),
    ]
}

fn total(run: &Run, test: &Run, number: usize, direction: Direction, way: &DirectionSummary) -> Fields {
    let is_udp = way.transport == Transport::Udp;
    let udp = |value: u64| or_empty(is_udp.then_some(value));
    [
        run.id.clone(),
        number.to_string(),
        "summary".into(),
        String::new(),
        String::new(),
        direction.to_string(),
        String::new(),
        way.transport.to_string(),
        seconds(0.0),
        seconds(way.elapsed.as_secs_f64()),
        "false".into(),
        way.received.bytes.0.to_string(),
        String::new(),
        way.goodput.0.to_string(),
        udp(way.received.datagrams),
        or_empty(way.loss.map(|loss| loss.path + loss.receiver + loss.sender)),
        or_empty(way.loss.map(|loss| loss.share)),
        udp(way.reordered),
        udp(way.duplicates),
        or_empty(way.jitter.map(|jitter| jitter.rfc3550.0)),
        or_empty(way.retransmits),
        String::new(),
        or_empty(way.loaded_rtt.map(|rtt| rtt.0)),
        or_empty(way.wire.rate.map(|rate| rate.0)),
        outcome(test),
    ]
}

/// The columns of segments stand behind those of a stream.
fn with_segments(fields: Fields, way: &DirectionSummary) -> Vec<String> {
    let mut fields = Vec::from(fields);
    fields.resize(COLUMNS.len(), String::new());
    if let Some(segments) = way.segments {
        packets::set(&mut fields, "data_segments", or_empty(segments.received.or(segments.sent)));
        let mean = segments.mean_payload.map(|mean| format!("{mean:.1}"));
        packets::set(&mut fields, "mean_segment_bytes", or_empty(mean));
    }
    fields
}

fn transport(test: &Run) -> String {
    or_empty(test.plan.as_ref().map(|plan| plan.test.transport))
}

fn outcome(test: &Run) -> String {
    match &test.summary.outcome {
        None => String::new(),
        Some(Outcome::Completed) => "completed".into(),
        Some(Outcome::Interrupted) => "interrupted".into(),
        Some(Outcome::PeerStopped { .. }) => "peer_stopped".into(),
        Some(Outcome::Failed { .. }) => "failed".into(),
    }
}

fn or_empty(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn seconds(value: f64) -> String {
    format!("{value:.6}")
}
