//! The CSV rows of a run of transfers: one for each transfer, and one for each row of the table.

use super::{CsvPart, seconds};
use crate::document::{Csv, CsvCell, field};
use model::plan::Transport;
use model::run::Run;
use model::stats::compare::Shift;
use model::transfer::{Transfer, TransferResult, TransferRow};

pub(super) fn rows(test: &Run, result: &TransferResult, place: &CsvPart) -> Csv {
    let direction = test.transfer().map(|plan| plan.method.direction());
    Csv::joined([
        place.table("transfer", direction, &TRANSFER, &result.transfers),
        place.table("transfers", direction, &TOTAL, &result.rows),
    ])
}

/// Every column, in order: those of the table alone are empty.
const TRANSFER: [CsvCell<Transfer>; 30] = [
    CsvCell("transport", |_| field(&Transport::Tcp)),
    CsvCell("way", |one| one.label.clone()),
    CsvCell("mtu_bytes", |one| field(&one.mtu)),
    CsvCell("repetition", |one| field(&one.repetition)),
    CsvCell("lost", |_| String::new()),
    CsvCell("start_s", |one| seconds(one.at)),
    CsvCell("end_s", |one| seconds(one.at + one.times.total)),
    CsvCell("bytes", |one| field(&one.bytes)),
    CsvCell("bits_per_second", |one| field(&one.rate)),
    CsvCell("outcome", |one| if one.error.is_none() { "completed" } else { "failed" }.into()),
    CsvCell("http_status", |one| field(&one.status)),
    CsvCell("local", |one| field(&one.local)),
    CsvCell("remote", |one| field(&one.remote)),
    CsvCell("dns_ns", |one| field(&one.times.dns)),
    CsvCell("connect_ns", |one| field(&one.times.connect)),
    CsvCell("tls_ns", |one| field(&one.times.tls)),
    CsvCell("first_byte_ns", |one| field(&one.times.first_byte)),
    CsvCell("total_ns", |one| field(&one.times.total)),
    CsvCell("rtt_ns", |one| field(&one.tcp.as_ref().map(|tcp| tcp.rtt))),
    CsvCell("retransmits", |one| field(&one.tcp.as_ref().map(|tcp| tcp.retransmits))),
    CsvCell("path_mtu_bytes", |one| field(&one.tcp.as_ref().map(|tcp| tcp.path_mtu))),
    CsvCell("data_segments", |one| {
        field(&one.tcp.as_ref().and_then(|tcp| tcp.data_segments).map(|count| count as f64))
    }),
    CsvCell("mean_segment_bytes", |one| field(&one.tcp.as_ref().and_then(|tcp| tcp.mean_payload))),
    CsvCell("rate_stddev_bps", |_| String::new()),
    CsvCell("change_percent", |_| String::new()),
    CsvCell("change_low_percent", |_| String::new()),
    CsvCell("change_high_percent", |_| String::new()),
    CsvCell("expected_percent", |_| String::new()),
    CsvCell("judgement", |_| String::new()),
    CsvCell("error", |one| field(&one.error)),
];

const TOTAL: [CsvCell<TransferRow>; 17] = [
    CsvCell("transport", |_| field(&Transport::Tcp)),
    CsvCell("way", |row| row.file.clone()),
    CsvCell("mtu_bytes", |row| field(&row.mtu)),
    CsvCell("repetition", |row| field(&row.count)),
    CsvCell("lost", |row| field(&row.failed)),
    CsvCell("bits_per_second", |row| field(&row.rate.map(|rate| rate.mean as u64))),
    CsvCell("first_byte_ns", |row| field(&row.first_byte.map(|time| time.median as u64))),
    CsvCell("total_ns", |row| field(&row.total.map(|time| time.median as u64))),
    CsvCell("retransmits", |row| field(&row.retransmits)),
    CsvCell("data_segments", |row| field(&row.data_segments)),
    CsvCell("mean_segment_bytes", |row| field(&row.mean_payload)),
    CsvCell("rate_stddev_bps", |row| field(&row.rate.map(|rate| rate.stddev as u64))),
    CsvCell("change_percent", |row| field(&shift(row).map(|shift| shift.percent))),
    CsvCell("change_low_percent", |row| field(&shift(row).and_then(|shift| shift.low))),
    CsvCell("change_high_percent", |row| field(&shift(row).and_then(|shift| shift.high))),
    CsvCell("expected_percent", |row| field(&row.gain.as_ref().and_then(|gain| gain.expected_percent))),
    CsvCell("judgement", |row| field(&row.gain.as_ref().map(|gain| gain.comparison.judgement.to_string()))),
];

fn shift(row: &TransferRow) -> Option<Shift> {
    row.gain.as_ref()?.comparison.shift
}
