//! The CSV rows of a run of transfers: one for each transfer, and one for each row of the table.

use super::{CsvPart, Start, seconds};
use crate::document::Csv;
use model::plan::Transport;
use model::run::Run;
use model::transfer::{Transfer, TransferResult, TransferRow};
use model::units::{BitRate, Bytes, Nanos};
use serde::Serialize;
use std::net::SocketAddr;

#[derive(Default, Serialize)]
struct Times {
    transport: Option<Transport>,
    #[serde(rename = "way")]
    label: String,
    mtu_bytes: Option<u32>,
    repetition: u32,
    lost: Option<u32>,
    start_s: Option<String>,
    end_s: Option<String>,
    bytes: Option<Bytes>,
    bits_per_second: Option<BitRate>,
    outcome: Option<&'static str>,
    http_status: Option<u16>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
    dns_ns: Option<Nanos>,
    connect_ns: Option<Nanos>,
    tls_ns: Option<Nanos>,
    first_byte_ns: Option<Nanos>,
    total_ns: Option<Nanos>,
    rtt_ns: Option<Nanos>,
    retransmits: Option<u64>,
    path_mtu_bytes: Option<u32>,
    data_segments: Option<f64>,
    mean_segment_bytes: Option<f64>,
    rate_stddev_bps: Option<BitRate>,
    change_percent: Option<f64>,
    change_low_percent: Option<f64>,
    change_high_percent: Option<f64>,
    expected_percent: Option<f64>,
    judgement: Option<String>,
    error: Option<String>,
}

pub(super) fn rows(test: &Run, result: &TransferResult, place: &CsvPart) -> Csv {
    let direction = test.transfer().map(|plan| plan.method.direction());
    let line = |row, times: Times| -> (Start, Times) {
        (place.start(row, direction), Times { transport: Some(Transport::Tcp), ..times })
    };
    let each = result.transfers.iter().map(|one| line("transfer", transfer(one)));
    let table = result.rows.iter().map(|row| line("transfers", total(row)));
    Csv::from_rows(each.chain(table))
}

fn transfer(one: &Transfer) -> Times {
    let (times, tcp) = (&one.times, one.tcp.as_ref());
    Times {
        label: one.label.clone(),
        mtu_bytes: one.mtu,
        repetition: one.repetition,
        start_s: Some(seconds(one.at)),
        end_s: Some(seconds(one.at + times.total)),
        bytes: Some(one.bytes),
        bits_per_second: Some(one.rate),
        outcome: Some(if one.error.is_none() { "completed" } else { "failed" }),
        http_status: one.status,
        local: one.local,
        remote: one.remote,
        dns_ns: times.dns,
        connect_ns: times.connect,
        tls_ns: times.tls,
        first_byte_ns: times.first_byte,
        total_ns: Some(times.total),
        rtt_ns: tcp.map(|tcp| tcp.rtt),
        retransmits: tcp.map(|tcp| tcp.retransmits.into()),
        path_mtu_bytes: tcp.map(|tcp| tcp.path_mtu),
        data_segments: tcp.and_then(|tcp| tcp.data_segments).map(|count| count as f64),
        mean_segment_bytes: tcp.and_then(|tcp| tcp.mean_payload),
        error: one.error.clone(),
        ..Times::default()
    }
}

fn total(row: &TransferRow) -> Times {
    let gain = row.gain.as_ref();
    let shift = gain.and_then(|gain| gain.comparison.shift);
    let whole = |value: f64| value as u64;
    Times {
        label: row.file.clone(),
        mtu_bytes: row.mtu,
        repetition: row.count,
        lost: Some(row.failed),
        bits_per_second: row.rate.map(|rate| BitRate(whole(rate.mean))),
        rate_stddev_bps: row.rate.map(|rate| BitRate(whole(rate.stddev))),
        first_byte_ns: row.first_byte.map(|time| Nanos(whole(time.median))),
        total_ns: row.total.map(|time| Nanos(whole(time.median))),
        retransmits: Some(row.retransmits),
        data_segments: row.data_segments,
        mean_segment_bytes: row.mean_payload,
        change_percent: shift.map(|shift| shift.percent),
        change_low_percent: shift.and_then(|shift| shift.low),
        change_high_percent: shift.and_then(|shift| shift.high),
        expected_percent: gain.and_then(|gain| gain.expected_percent),
        judgement: gain.map(|gain| gain.comparison.judgement.to_string()),
        ..Times::default()
    }
}
