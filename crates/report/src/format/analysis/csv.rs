//! The CSV of an analysis: a row for each direction and path of each run.

use crate::document::{Csv, CsvCell, field};
use insight::analysis::{Analysis, Flow, Trips};

pub(super) fn rows(analysis: &Analysis) -> Csv {
    let tables = [Csv::of_cells(&FLOWS, &analysis.flows), Csv::of_cells(&TRIPS, &analysis.trips)];
    let filled = tables.into_iter().filter(|table| !table.rows.is_empty());
    // An analysis without rows has the columns that both have.
    Csv::joined(filled.chain([Csv::of_cells(&TRIPS[..4], &[])]))
}

const FLOWS: [CsvCell<Flow>; 30] = [
    CsvCell("row", |_| "throughput".into()),
    CsvCell("run", |flow| flow.run.clone()),
    CsvCell("change_percent", |flow| field(&flow.change_percent)),
    CsvCell("lost", |flow| field(&flow.loss.map(|loss| loss.path + loss.receiver + loss.sender))),
    CsvCell("transport", |flow| field(&flow.transport)),
    CsvCell("direction", |flow| field(&flow.direction)),
    CsvCell("sent_bps", |flow| field(&flow.sent_rate)),
    CsvCell("goodput_bps", |flow| field(&flow.goodput)),
    CsvCell("sent_bytes", |flow| field(&flow.sent.bytes)),
    CsvCell("received_bytes", |flow| field(&flow.received.bytes)),
    CsvCell("sent_datagrams", |flow| field(&flow.loss.map(|_| flow.sent.datagrams))),
    CsvCell("received_datagrams", |flow| field(&flow.loss.map(|_| flow.received.datagrams))),
    CsvCell("loss_share", |flow| field(&flow.loss.map(|loss| loss.share))),
    CsvCell("jitter_ns", |flow| field(&flow.jitter)),
    CsvCell("retransmits", |flow| field(&flow.retransmits)),
    CsvCell("payload_bytes", |flow| field(&flow.payload)),
    CsvCell("mss_bytes", |flow| field(&flow.segment.map(|segment| segment.mss))),
    CsvCell("with_timestamps_bytes", |flow| field(&flow.segment.map(|segment| segment.with_timestamps))),
    CsvCell("frame_bytes", |flow| field(&flow.wire.frame)),
    CsvCell("frames_per_packet", |flow| field(&flow.wire.frames_per_packet)),
    CsvCell("packets_per_second", |flow| field(&flow.wire.packets_per_second)),
    CsvCell("wire_bps", |flow| field(&flow.wire.rate)),
    CsvCell("link_bps", |flow| field(&flow.line_rate.map(|line| line.link))),
    CsvCell("line_rate_packets_per_second", |flow| {
        field(&flow.line_rate.map(|line| line.packets_per_second))
    }),
    CsvCell("line_rate_goodput_bps", |flow| field(&flow.line_rate.map(|line| line.goodput))),
    CsvCell("line_rate_share", |flow| field(&flow.wire.line_rate_share)),
    CsvCell("streams", |flow| field(&flow.fairness.map(|fair| fair.streams))),
    CsvCell("jain", |flow| field(&flow.fairness.and_then(|fair| fair.jain))),
    CsvCell("least_bps", |flow| field(&flow.fairness.map(|fair| fair.least))),
    CsvCell("most_bps", |flow| field(&flow.fairness.map(|fair| fair.most))),
];

const TRIPS: [CsvCell<Trips>; 10] = [
    CsvCell("row", |_| "round-trips".into()),
    CsvCell("run", |one| one.run.clone()),
    CsvCell("change_percent", |one| field(&one.change_percent)),
    CsvCell("lost", |one| field(&one.lost)),
    CsvCell("round_trips", |one| field(&one.rtt.count)),
    CsvCell("rtt_min_ns", |one| field(&one.rtt.min)),
    CsvCell("rtt_mean_ns", |one| field(&one.rtt.mean)),
    CsvCell("rtt_p50_ns", |one| field(&one.rtt.p50)),
    CsvCell("rtt_p99_ns", |one| field(&one.rtt.p99)),
    CsvCell("rtt_max_ns", |one| field(&one.rtt.max)),
];
