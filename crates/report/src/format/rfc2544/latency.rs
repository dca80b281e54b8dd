//! Latency: percentiles over load as CSIT shows them, RFC 2544's and RFC 8219's figures at the throughput, delay variation.

use super::head::Head;
use crate::document::{Cell, Table};
use model::dut::{DelayVariationDirection, DeviceReport, LatencyDirection, LatencyReport};
use model::plan::Direction;
use model::search::Load;
use model::stats::rfc8219::OverRuns;
use model::units::{Nanos, grouped};

/// Percentiles at each share of the throughput, both directions side by side.
pub(super) fn over_load(device: &DeviceReport) -> Option<Table> {
    let loads = device.rows.iter().flat_map(|row| row.latency.iter().map(move |report| (row, report)));
    let rows: Vec<AtLoad> =
        loads.map(|(row, report)| (Head::from_row(device, row), report.clone())).collect();
    Table::of_cells("Latency at shares of the throughput, of all frames of the last run", &OVER_LOAD, &rows)
}

/// A load of a stream, with the observations of each direction.
type AtLoad = (Head, LatencyReport);

const OVER_LOAD: [Cell<AtLoad>; 11] = [
    Cell("Frame", true, |(head, _)| head.frame()),
    Cell("", false, |(head, _)| head.network()),
    Cell("Load", true, |(_, report)| Some(format!("{} %", report.percent))),
    Cell("rate", true, |(_, report)| Some(report.load.to_string())),
    Cell("Up P50", true, |(_, report)| delay_in(report, Direction::Up, |one_way| one_way.delays.p50)),
    Cell("P90", true, |(_, report)| delay_in(report, Direction::Up, |one_way| one_way.delays.p90)),
    Cell("P99", true, |(_, report)| delay_in(report, Direction::Up, |one_way| one_way.delays.p99)),
    Cell("Down P50", true, |(_, report)| delay_in(report, Direction::Down, |one_way| one_way.delays.p50)),
    Cell("P90", true, |(_, report)| delay_in(report, Direction::Down, |one_way| one_way.delays.p90)),
    Cell("P99", true, |(_, report)| delay_in(report, Direction::Down, |one_way| one_way.delays.p99)),
    Cell("lost", true, |(_, report)| {
        let lost: u64 = report.directions.iter().map(|one_way| one_way.lost).sum();
        (lost > 0).then(|| grouped(lost))
    }),
];

fn delay_in(
    report: &LatencyReport,
    direction: Direction,
    of: fn(&LatencyDirection) -> Nanos,
) -> Option<String> {
    let measured = report.directions.iter().find(|measured| measured.direction == direction)?;
    Some(if measured.delays.count > 0 { of(measured).to_string() } else { "none came".into() })
}

/// A direction of a stream at a load.
struct OneWay<D> {
    head: Head,
    load: Load,
    direction: D,
}

impl<D: Clone> OneWay<D> {
    fn rows(head: &Head, load: Load, directions: &[D]) -> Vec<OneWay<D>> {
        let row = |direction: &D| OneWay { head: head.clone(), load, direction: direction.clone() };
        directions.iter().map(row).collect()
    }
}

/// RFC 2544 section 26.2's table, with RFC 8219's typical and worst-case latency over the runs.
pub(super) fn at_throughput(device: &DeviceReport) -> Option<Table> {
    let reports = device.rows.iter().filter_map(|row| {
        let report = row.latency.iter().max_by_key(|one| one.percent)?;
        Some((Head::from_row(device, row), report))
    });
    let reports: Vec<(Head, &LatencyReport)> = reports.collect();
    let percent = reports.iter().find(|(_, report)| !report.directions.is_empty())?.1.percent;
    let rows = reports.iter().flat_map(|(head, report)| OneWay::rows(head, report.load, &report.directions));
    let rows: Vec<OneWay<LatencyDirection>> = rows.collect();
    let title =
        format!("Latency at {percent} % of the throughput (RFC 2544 section 26.2, RFC 8219 section 7.2)");
    let table = Table::of_cells(&title, &AT_THROUGHPUT, &rows)?;
    let mut notes = vec![LATENCY.to_owned()];
    if rows.iter().any(|row| row.direction.store_and_forward.is_some()) {
        notes.push(RFC1242.to_owned());
    }
    notes.extend(few(rows.iter().filter_map(|row| row.direction.typical)));
    Some(table.with_notes(notes))
}

const AT_THROUGHPUT: [Cell<OneWay<LatencyDirection>>; 9] = [
    Cell("Frame", true, |row| row.head.frame()),
    Cell("", false, |row| row.head.network()),
    Cell("Direction", false, |row| Some(row.direction.direction.to_string())),
    Cell("Rate", true, |row| Some(row.load.to_string())),
    Cell("TL (1–99 %)", true, |row| row.direction.typical.map(over_runs)),
    Cell("WCL (1–99 %)", true, |row| row.direction.worst_case.map(over_runs)),
    Cell("store-fwd", true, |row| row.direction.store_and_forward.map(|time| time.to_string())),
    Cell("bit-fwd", true, |row| row.direction.bit_forwarding.map(|time| time.to_string())),
    Cell("runs", true, |row| row.direction.typical.map(|runs| runs.runs.to_string())),
];

/// RFC 8219's delay variation at the throughput.
pub(super) fn variation(device: &DeviceReport) -> Option<Table> {
    let rows = device.rows.iter().filter_map(|row| {
        let report = row.delay_variation.as_ref()?;
        Some(OneWay::rows(&Head::from_row(device, row), report.load, &report.directions))
    });
    let rows: Vec<OneWay<DelayVariationDirection>> = rows.flatten().collect();
    let table = Table::of_cells("Delay variation (RFC 8219 section 7.3)", &VARIATION, &rows)?;
    let mut notes = vec![DELAY_VARIATION.to_owned()];
    notes.extend(few(rows.iter().map(|row| row.direction.packet)));
    Some(table.with_notes(notes))
}

const VARIATION: [Cell<OneWay<DelayVariationDirection>>; 9] = [
    Cell("Frame", true, |row| row.head.frame()),
    Cell("", false, |row| row.head.network()),
    Cell("Direction", false, |row| Some(row.direction.direction.to_string())),
    Cell("Rate", true, |row| Some(row.load.to_string())),
    Cell("PDV (1–99 %)", true, |row| Some(over_runs(row.direction.packet))),
    Cell("IPDV least", true, |row| Some(signed(row.direction.inter_packet?.min_ns))),
    Cell("median", true, |row| Some(signed(row.direction.inter_packet?.median_ns))),
    Cell("most", true, |row| Some(signed(row.direction.inter_packet?.max_ns))),
    Cell("runs", true, |row| Some(row.direction.packet.runs.to_string())),
];

/// `41.2 µs (40.1–43.0 µs)`: the median, first and 99th percentile of the runs; of one run that alone.
pub(super) fn over_runs(times: OverRuns) -> String {
    let [median, low, high] = [times.median, times.p1, times.p99].map(|time| Nanos(time.round() as u64));
    match times.runs {
        0 | 1 => median.to_string(),
        _ => format!("{median} ({})", range(low, high)),
    }
}

/// `40.1–43.0 µs`.
pub(super) fn range(low: Nanos, high: Nanos) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((value, unit)), Some((_, same))) if unit == same => format!("{value}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

fn signed(nanos: i64) -> String {
    let sign = if nanos < 0 { "−" } else { "" };
    format!("{sign}{}", Nanos(nanos.unsigned_abs()))
}

/// Stated where there were fewer runs than RFC 8219 asks for.
fn few(mut runs: impl Iterator<Item = OverRuns>) -> Option<String> {
    let few = runs.find(|runs| runs.too_few)?;
    Some(format!(
        "RFC 8219 asks for {} runs or more; there were {}.",
        model::stats::rfc8219::RUNS_NEEDED,
        few.runs
    ))
}

const LATENCY: &str = "From the writing of a frame to its arrival in the driver. TL: typical latency, the median; WCL: worst case, the \
     99.9th percentile; each the median of the runs, with their 1st and 99th percentile.";
const RFC1242: &str = "Store-and-forward: last bit in to first bit out. Bit-forwarding: first bit in to first bit out (RFC 1242 \
     section 3.8).";
const DELAY_VARIATION: &str = "PDV: the 99.9th percentile of the delays less the least, median of the runs. IPDV: each delay less that \
     of the frame before, in the last run.";
