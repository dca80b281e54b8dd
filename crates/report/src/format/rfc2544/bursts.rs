//! Back-to-back frames, system recovery and reset.

use super::head::Head;
use super::latency::{over_runs, range};
use super::rates::mega;
use crate::document::{Cell, Table};
use model::dut::{
    BackToBackReport, DeviceReport, LoadLimit, RecoveryReport, ResetReport, ResetTime, StreamReport,
};
use model::search::Irregular;
use model::stats::quantile::median;
use model::units::{Nanos, count, grouped, plain};

/// Bursts of a stream.
type Bursts = (Head, BackToBackReport);

/// RFC 2544 section 26.4's table, with RFC 9004's buffer.
pub(super) fn back_to_back(device: &DeviceReport) -> Option<Table> {
    let rows = stream_parts(device, |row| row.back_to_back.clone());
    let table = Table::of_cells("Back-to-back frames (RFC 2544 section 26.4, RFC 9004)", &BURSTS, &rows)?;
    let mut notes = vec![BUFFER.to_owned()];
    if rows.iter().any(|(_, report)| report.limit != LoadLimit::LineRate) {
        notes.push("Bursts came slower than line rate, where nothing else was possible or asked for: that is not RFC 9004's burst.".into());
    }
    Some(table.with_notes(notes))
}

const BURSTS: [Cell<Bursts>; 11] = [
    Cell("Frame", true, |(head, _)| head.frame()),
    Cell("", false, |(head, _)| head.network()),
    Cell("Mpps", true, |(_, report)| Some(mega(report.rate.0))),
    Cell("mean", true, |(_, report)| report.outcome.mean.map(plain)),
    Cell("least", true, |(_, report)| report.outcome.least.map(grouped)),
    Cell("most", true, |(_, report)| report.outcome.most.map(grouped)),
    Cell("±", true, |(_, report)| report.outcome.stddev.map(plain)),
    Cell("bursts", true, |(_, report)| Some(report.outcome.bursts.len().to_string())),
    Cell("implied", true, |(_, report)| Some(seconds(report.buffer?.implied))),
    Cell("corrected", true, |(_, report)| Some(seconds(report.buffer?.corrected))),
    Cell("", false, |(_, report)| {
        let phrases = report.outcome.irregular.iter().map(|word| match word {
            Irregular::NoUpperBound => "the longest passed",
            Irregular::NoLowerBound => "a single frame was lost",
            Irregular::Unfinished => "unfinished",
            Irregular::GeneratorLimited => "generator-bound",
            Irregular::LossInversion => "loss inversion",
            Irregular::Duplicates => "duplicates",
        });
        Some(phrases.collect::<Vec<_>>().join(", ")).filter(|phrases| !phrases.is_empty())
    }),
];

/// RFC 2544 section 26.5's table.
pub(super) fn recovery(device: &DeviceReport) -> Option<Table> {
    let rows = stream_parts(device, |row| row.recovery.clone());
    Table::of_cells("System recovery (RFC 2544 section 26.5)", &RECOVERY, &rows)
}

const RECOVERY: [Cell<(Head, RecoveryReport)>; 7] = [
    Cell("Frame", true, |(head, _)| head.frame()),
    Cell("", false, |(head, _)| head.network()),
    Cell("overload", true, |(_, report)| Some(report.loads.overload.to_string())),
    Cell("then", true, |(_, report)| Some(report.loads.relief.to_string())),
    Cell("recovery (1–99 %)", true, |(_, report)| report.over_runs.map(over_runs)),
    Cell("runs", true, |(_, report)| Some(report.times.len().to_string())),
    Cell("", false, |(_, report)| match (report.loads.no_overload, report.unrecovered) {
        (true, _) => Some("no overload: the link carries no more".into()),
        (_, 0) => None,
        (_, runs) => Some(
            format!("{} did not end in time", count(runs, "recovery")).replace("recoverys", "recoveries"),
        ),
    }),
];

/// RFC 2544 section 26.6's table.
pub(super) fn reset(device: &DeviceReport) -> Option<Table> {
    let rows = stream_parts(device, |row| row.reset.clone());
    let table = Table::of_cells("Reset (RFC 2544 section 26.6, RFC 6201)", &RESET, &rows)?;
    let mut how: Vec<String> =
        rows.iter().map(|(_, report)| report.how.clone()).filter(|how| !how.is_empty()).collect();
    how.dedup();
    let mut notes: Vec<String> =
        how.iter().map(|how| format!("How: {}.", how.trim_end_matches('.'))).collect();
    notes.push("Median (least–most) of the runs. By time: from the last frame before to the first after; by loss: frames lost by the load.".into());
    Some(table.with_notes(notes))
}

const RESET: [Cell<(Head, ResetReport)>; 7] = [
    Cell("Frame", true, |(head, _)| head.frame()),
    Cell("", false, |(head, _)| head.network()),
    Cell("load", true, |(_, report)| Some(report.load.to_string())),
    Cell("by time", true, |(_, report)| over(&report.runs, |run| run.by_time)),
    Cell("by loss", true, |(_, report)| over(&report.runs, |run| run.by_loss)),
    Cell("runs", true, |(_, report)| Some(report.runs.len().to_string())),
    Cell("", false, |(_, report)| {
        let never = report.runs.iter().filter(|run| run.by_time.is_none()).count();
        (never > 0).then(|| format!("{} without an end", count(never as u64, "run")))
    }),
];

fn over(runs: &[ResetTime], of: fn(&ResetTime) -> Option<Nanos>) -> Option<String> {
    let times: Vec<Nanos> = runs.iter().filter_map(of).collect();
    let middle = median(&times.iter().map(|time| time.0 as f64).collect::<Vec<_>>())?;
    let middle = Nanos(middle.round() as u64);
    Some(match times.as_slice() {
        [one] => one.to_string(),
        times => format!("{middle} ({})", range(*times.iter().min()?, *times.iter().max()?)),
    })
}

fn stream_parts<T>(device: &DeviceReport, part: impl Fn(&StreamReport) -> Option<T>) -> Vec<(Head, T)> {
    device.rows.iter().filter_map(|row| Some((Head::from_row(device, row), part(row)?))).collect()
}

fn seconds(time: f64) -> String {
    Nanos((time * 1e9).round() as u64).to_string()
}

const BUFFER: &str = "Longest bursts without loss, in frames. Implied: the time that the mean burst takes at this rate; corrected: of \
     the frames that really waited.";
