//! The CSV of a lab report: a row for each repetition of each series, and for each row of a sweep.

use crate::document::{Csv, CsvCell, field};
use crate::format::csv::Source;
use model::frames::FrameRow;
use model::lab::{FrameSweep, LabReport, LabTest, Repetition, Series, Variant};

type SeriesRow<'a> = (&'a Variant, &'a Series, &'a Repetition);
type SweepRow<'a> = (&'a Variant, &'a FrameSweep, &'a FrameRow);

pub(super) fn rows(report: &LabReport) -> Csv {
    let source = Source::new("lab", report.started, report.host.as_ref());
    let sourced =
        |rows: Csv| Csv::from_rows(rows.rows.iter().map(|_| source.clone()).collect::<Vec<_>>()).beside(rows);
    // A report without rows has a header all the same.
    let mut parts = vec![sourced(of_series(&[]))];
    for variant in &report.variants {
        let series =
            variant.series.iter().flat_map(|one| one.runs.iter().map(move |run| (variant, one, run)));
        let sweeps =
            variant.sweeps.iter().flat_map(|one| one.rows.iter().map(move |row| (variant, one, row)));
        parts.push(sourced(of_series(&series.collect::<Vec<_>>())));
        parts.push(sourced(of_sweeps(&sweeps.collect::<Vec<_>>())));
    }
    Csv::joined(parts)
}

/// Every column, in order: those of sweeps alone are empty.
fn of_series(rows: &[SeriesRow<'_>]) -> Csv {
    let cells: [CsvCell<SeriesRow<'_>>; 30] = [
        CsvCell("topology", |(variant, ..)| variant.name.clone()),
        CsvCell("tool", |(_, series, _)| series.tool.clone()),
        CsvCell("family", |(_, series, _)| series.family.to_string()),
        CsvCell("test", |(_, series, _)| field(&series.test)),
        CsvCell("direction", |(_, series, _)| field(&series.direction)),
        CsvCell("repetition", |(.., run)| field(&run.number)),
        CsvCell("goodput_bps", |(.., run)| field(&run.goodput)),
        CsvCell("frames_bps", |(.., run)| field(&run.frames)),
        CsvCell("packets_per_second", |(.., run)| field(&run.packets_per_second)),
        CsvCell("encaps", |(_, series, _)| field(&series.packet.as_ref().map(|one| one.encaps.to_string()))),
        CsvCell("payload_bytes", |(_, series, _)| {
            field(&series.packet.as_ref().map(|packet| f64::from(packet.payload)))
        }),
        CsvCell("frame_bytes", |(_, series, _)| field(&series.packet.as_ref().map(|packet| packet.frame))),
        CsvCell("sent", |(.., run)| field(&run.sent)),
        CsvCell("lost", |(.., run)| field(&run.lost)),
        CsvCell("retransmits", |(.., run)| field(&run.retransmits)),
        CsvCell("rtt_min_ns", |(.., run)| field(&run.rtt_min)),
        CsvCell("rtt_p50_ns", |(.., run)| field(&run.rtt_p50)),
        CsvCell("rtt_p99_ns", |(.., run)| field(&run.rtt_p99)),
        CsvCell("path_mtu", |(.., run)| field(&run.path_mtu)),
        CsvCell("shaped_bps", |(.., run)| field(&run.shaped)),
        CsvCell("limit_bps", |(_, series, _)| field(&series.limit)),
        CsvCell("nic_bps", |(_, series, _)| field(&series.speed.as_ref().map(|speed| speed.rate))),
        CsvCell("cpu_busy_share", |(.., run)| field(&run.cpu.map(|cpu| cpu.busy))),
        CsvCell("cpu_softirq_share", |(.., run)| field(&run.cpu.map(|cpu| cpu.softirq))),
        CsvCell("dropped_incoming", |(.., run)| {
            run.drops.iter().map(|one| one.received).sum::<u64>().to_string()
        }),
        CsvCell("dropped_leaving", |(.., run)| run.drops.iter().map(|one| one.sent).sum::<u64>().to_string()),
        CsvCell("error", |(.., run)| field(&run.error)),
        CsvCell("protocol", |_| String::new()),
        CsvCell("line_rate_pps", |_| String::new()),
        CsvCell("set_by", |(.., run)| field(&run.set_by.as_ref().map(|limit| limit.kind.to_string()))),
    ];
    Csv::of_cells(&cells, rows)
}

fn of_sweeps(rows: &[SweepRow<'_>]) -> Csv {
    let cells: [CsvCell<SweepRow<'_>>; 14] = [
        CsvCell("topology", |(variant, ..)| variant.name.clone()),
        CsvCell("tool", |_| "pathmeter".into()),
        CsvCell("family", |(_, sweep, _)| sweep.family.to_string()),
        CsvCell("test", |_| field(&LabTest::Frames)),
        CsvCell("direction", |(.., row)| field(&row.direction)),
        CsvCell("repetition", |_| "1".into()),
        CsvCell("goodput_bps", |(.., row)| field(&row.skipped.is_none().then_some(row.goodput))),
        CsvCell("packets_per_second", |(.., row)| field(&row.packets_per_second)),
        CsvCell("encaps", |(.., row)| field(&row.encap)),
        CsvCell("payload_bytes", |(.., row)| field(&row.payload)),
        CsvCell("frame_bytes", |(.., row)| field(&row.frame)),
        CsvCell("error", |(.., row)| field(&row.skipped)),
        CsvCell("protocol", |(.., row)| field(&row.protocol)),
        CsvCell("line_rate_pps", |(.., row)| field(&row.line_rate_pps)),
    ];
    Csv::of_cells(&cells, rows)
}
