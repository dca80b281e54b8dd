//! The CSV of a lab report: a row for each repetition of each series.

use crate::document::{Csv, field};
use crate::format::csv::Source;
use model::frames::FrameRow;
use model::lab::{FrameSweep, LabReport, LabTest, Repetition, Series, Variant};
use model::plan::{Direction, Transport};
use model::units::{BitRate, Nanos, PacketRate};
use serde::Serialize;

#[derive(Default, Serialize)]
struct CsvRow {
    topology: String,
    tool: String,
    family: String,
    test: String,
    direction: Option<Direction>,
    repetition: u32,
    goodput_bps: Option<BitRate>,
    frames_bps: Option<BitRate>,
    packets_per_second: Option<PacketRate>,
    encaps: Option<String>,
    payload_bytes: Option<f64>,
    frame_bytes: Option<u32>,
    sent: Option<u64>,
    lost: Option<u64>,
    retransmits: Option<u64>,
    rtt_min_ns: Option<Nanos>,
    rtt_p50_ns: Option<Nanos>,
    rtt_p99_ns: Option<Nanos>,
    path_mtu: Option<u32>,
    shaped_bps: Option<BitRate>,
    limit_bps: Option<BitRate>,
    nic_bps: Option<BitRate>,
    cpu_busy_share: Option<f64>,
    cpu_softirq_share: Option<f64>,
    dropped_incoming: Option<u64>,
    dropped_leaving: Option<u64>,
    error: Option<String>,
    protocol: Option<Transport>,
    line_rate_pps: Option<PacketRate>,
    set_by: Option<String>,
}

pub(super) fn rows(report: &LabReport) -> Csv {
    let source = Source::new("lab", report.started, report.host.as_ref());
    let mut rows = Vec::new();
    for variant in &report.variants {
        for series in &variant.series {
            rows.extend(series.runs.iter().map(|run| (source.clone(), row(variant, series, run))));
        }
        for sweep in &variant.sweeps {
            rows.extend(sweep.rows.iter().map(|row| (source.clone(), of_frames(variant, sweep, row))));
        }
    }
    Csv::from_rows(rows)
}

fn row(variant: &Variant, series: &Series, run: &Repetition) -> CsvRow {
    let packet = series.packet.as_ref();
    CsvRow {
        topology: variant.name.clone(),
        tool: series.tool.clone(),
        family: series.family.to_string(),
        test: field(&series.test),
        direction: series.direction,
        repetition: run.number,
        goodput_bps: run.goodput,
        frames_bps: run.frames,
        packets_per_second: run.packets_per_second,
        encaps: packet.map(|packet| packet.encaps.to_string()),
        payload_bytes: packet.map(|packet| packet.payload.into()),
        frame_bytes: packet.map(|packet| packet.frame),
        sent: run.sent,
        lost: run.lost,
        retransmits: run.retransmits,
        rtt_min_ns: run.rtt_min,
        rtt_p50_ns: run.rtt_p50,
        rtt_p99_ns: run.rtt_p99,
        path_mtu: run.path_mtu,
        shaped_bps: run.shaped,
        limit_bps: series.limit,
        nic_bps: series.speed.as_ref().map(|speed| speed.rate),
        cpu_busy_share: run.cpu.map(|cpu| cpu.busy),
        cpu_softirq_share: run.cpu.map(|cpu| cpu.softirq),
        dropped_incoming: Some(run.drops.iter().map(|drops| drops.received).sum()),
        dropped_leaving: Some(run.drops.iter().map(|drops| drops.sent).sum()),
        error: run.error.clone(),
        set_by: run.set_by.as_ref().map(|limit| limit.kind.to_string()),
        ..CsvRow::default()
    }
}

/// A row of a sweep.
fn of_frames(variant: &Variant, sweep: &FrameSweep, row: &FrameRow) -> CsvRow {
    let measured = row.skipped.is_none();
    CsvRow {
        topology: variant.name.clone(),
        tool: "pathmeter".into(),
        family: sweep.family.to_string(),
        test: field(&LabTest::Frames),
        direction: Some(row.direction),
        repetition: 1,
        goodput_bps: measured.then_some(row.goodput),
        packets_per_second: row.packets_per_second,
        encaps: row.encap.clone(),
        payload_bytes: row.payload,
        frame_bytes: Some(row.frame),
        error: row.skipped.clone(),
        protocol: Some(row.protocol),
        line_rate_pps: row.line_rate_pps,
        ..CsvRow::default()
    }
}
