//! The CSV of a lab report: a row for each repetition of each series.

use crate::document::Csv;
use model::frames::FrameRow;
use model::lab::{FrameSweep, LabReport, LabTest, Repetition, Series, Variant};

/// The header: each name carries its unit. Columns are only ever added at the end.
pub const COLUMNS: [&str; 29] = [
    "topology",
    "tool",
    "family",
    "test",
    "direction",
    "repetition",
    "goodput_bps",
    "frames_bps",
    "packets_per_second",
    "encaps",
    "payload_bytes",
    "frame_bytes",
    "sent",
    "lost",
    "retransmits",
    "rtt_min_ns",
    "rtt_p50_ns",
    "rtt_p99_ns",
    "path_mtu",
    "shaped_bps",
    "limit_bps",
    "nic_bps",
    "cpu_busy_share",
    "cpu_softirq_share",
    "dropped_incoming",
    "dropped_leaving",
    "error",
    "protocol",
    "line_rate_pps",
];

pub(super) fn rows(report: &LabReport) -> Csv {
    let mut rows = Vec::new();
    for variant in &report.variants {
        for series in &variant.series {
            rows.extend(series.runs.iter().map(|run| row(variant, series, run)));
        }
        for sweep in &variant.sweeps {
            rows.extend(sweep.rows.iter().map(|row| of_frames(variant, sweep, row)));
        }
    }
    Csv::new(&COLUMNS, rows)
}

/// In the order of [`COLUMNS`].
fn row(variant: &Variant, series: &Series, run: &Repetition) -> [String; COLUMNS.len()] {
    let packet = series.packet.as_ref();
    [
        variant.name.clone(),
        series.tool.clone(),
        series.family.to_string(),
        word(&series.test),
        text(series.direction),
        run.number.to_string(),
        text(run.goodput.map(|rate| rate.0)),
        text(run.frames.map(|rate| rate.0)),
        text(run.packets_per_second.map(|rate| rate.0)),
        text(packet.map(|packet| &packet.encaps)),
        text(packet.map(|packet| packet.payload)),
        text(packet.map(|packet| packet.frame)),
        text(run.sent),
        text(run.lost),
        text(run.retransmits),
        text(run.rtt_min.map(|time| time.0)),
        text(run.rtt_p50.map(|time| time.0)),
        text(run.rtt_p99.map(|time| time.0)),
        text(run.path_mtu),
        text(run.shaped.map(|rate| rate.0)),
        text(series.limit.map(|rate| rate.0)),
        text(series.speed.map(|speed| speed.rate.0)),
        text(run.cpu.map(|cpu| cpu.busy)),
        text(run.cpu.map(|cpu| cpu.softirq)),
        run.drops.iter().map(|drops| drops.received).sum::<u64>().to_string(),
        run.drops.iter().map(|drops| drops.sent).sum::<u64>().to_string(),
        text(run.error.as_ref()),
        String::new(),
        String::new(),
    ]
}

/// A row of a sweep, likewise.
fn of_frames(variant: &Variant, sweep: &FrameSweep, row: &FrameRow) -> [String; COLUMNS.len()] {
    let measured = row.skipped.is_none();
    let mut cells = [const { String::new() }; COLUMNS.len()];
    let mut put = |column: &str, value: String| {
        if let Some(place) = COLUMNS.iter().position(|name| *name == column) {
            cells[place] = value;
        }
    };
    put("topology", variant.name.clone());
    put("tool", "pathmeter".into());
    put("family", sweep.family.to_string());
    put("test", word(&LabTest::Frames));
    put("direction", row.direction.to_string());
    put("repetition", "1".into());
    put("goodput_bps", text(measured.then_some(row.goodput.0)));
    put("packets_per_second", text(row.packets_per_second.map(|rate| rate.0)));
    put("encaps", text(row.encap.as_ref()));
    put("payload_bytes", text(row.payload));
    put("frame_bytes", row.frame.to_string());
    put("error", text(row.skipped.as_ref()));
    put("protocol", row.protocol.to_string());
    put("line_rate_pps", text(row.line_rate_pps.map(|rate| rate.0)));
    cells
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The test as in the JSON.
fn word(test: &LabTest) -> String {
    serde_json::to_value(test).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
