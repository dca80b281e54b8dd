//! The CSV of a lab report: a row for each repetition of each series.

use crate::format::csv::quoted;
use model::lab::{LabReport, Repetition, Series, Variant};

/// The header: each name carries its unit. Columns are only ever added at the end.
pub const COLUMNS: [&str; 27] = [
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
];

pub(super) fn document(report: &LabReport) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for variant in &report.variants {
        for series in &variant.series {
            for run in &series.runs {
                let row = row(variant, series, run).map(quoted);
                text.push_str(&(row.join(",") + "\n"));
            }
        }
    }
    text
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
    ]
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The test as in the JSON.
fn word(test: &model::lab::LabTest) -> String {
    serde_json::to_value(test).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
