//! The chart of a report: rates over frame size, frame loss over load, latency over load.

use super::head::{frames, network};
use super::loss::{loss_at, offered};
use super::sentences::{goal_name, link, title};
use crate::plot::{Across, Line, LineChart, LinePanel};
use model::distinct;
use model::dut::{DeviceReport, DutReport, LatencyReport, StreamReport};
use model::framing::Network;
use model::plan::Direction;
use model::stats::distribution::Distribution;
use model::units::{Nanos, plain};

/// Makes the chart. The first panel is RFC 2544's: what was measured, and above it what the link carries; a logarithmic
/// axis shows both where they are far apart.
#[must_use]
pub fn chart(report: &DutReport) -> LineChart {
    let mut panels: Vec<LinePanel> = rates(report).into_iter().collect();
    let tested: Vec<&DeviceReport> = report.devices.iter().filter(|device| !device.rows.is_empty()).collect();
    for device in tested.iter().take(MOST_DEVICES) {
        let device_name = if report.devices.len() > 1 { format!(", {}", device.name) } else { String::new() };
        panels.extend(losses(device, &device_name));
        panels.extend(latencies(device, &device_name));
    }
    LineChart {
        title: title(report),
        subtitle: link(&report.setup),
        across: Across::sizes("Ethernet frame with FCS, bytes", sizes(report)),
        limit: Some("line rate".into()),
        panels,
    }
}

/// Every frame size, from the least, and mixes after them.
fn sizes(report: &DutReport) -> Vec<String> {
    let rows = report.devices.iter().flat_map(|device| &device.rows);
    let mut sizes: Vec<String> = rows.map(|row| row.stream.frames.name.clone()).collect();
    sizes.sort_by_key(|name| (name.parse().unwrap_or(u64::MAX), name.clone()));
    sizes.dedup();
    sizes
}

/// Each goal of a single device, or the rate that stands for each of several.
fn rates(report: &DutReport) -> Option<LinePanel> {
    let sizes = sizes(report);
    let lines = match report.devices.as_slice() {
        [one] => goals(one)
            .iter()
            .flat_map(|goal| line(one, &sizes, &goal_name(goal), |row| figure(row, goal)))
            .collect(),
        several => several
            .iter()
            .flat_map(|device| line(device, &sizes, &device.name, |row| Some(row.headline()?.lower?.0)))
            .collect::<Vec<Line>>(),
    };
    let values = || lines.iter().flat_map(|line| line.values.iter().chain(&line.limit)).flatten();
    let most = values().copied().fold(0.0, f64::max);
    let least = values().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let (unit, scale) = match most {
        most if most >= 1e6 => ("Mpps", 1e6),
        most if most >= 1e3 => ("kpps", 1e3),
        _ => ("pps", 1.0),
    };
    let panel = LinePanel {
        title: "Rate, each direction".into(),
        unit: unit.into(),
        logarithmic: most > FAR_APART * least,
        lines: lines.into_iter().map(|line| in_unit(line, scale)).collect(),
        ..LinePanel::default()
    };
    (!panel.lines.is_empty()).then_some(panel)
}

fn in_unit(line: Line, scale: f64) -> Line {
    let scaled =
        |values: Vec<Option<f64>>| values.into_iter().map(|value| value.map(|value| value / scale)).collect();
    Line { name: line.name, values: scaled(line.values), limit: scaled(line.limit) }
}

/// The goals that were searched for, and the MRR where it was measured.
fn goals(device: &DeviceReport) -> Vec<String> {
    let searched = device.rows.iter().flat_map(|row| &row.rates).map(|rate| rate.goal.clone());
    let repeated = device.rows.iter().any(|row| row.mrr.is_some()).then(|| "mrr".to_owned());
    distinct(searched.chain(repeated))
}

/// In frames per second of each direction.
fn figure(row: &StreamReport, goal: &str) -> Option<f64> {
    if goal == "mrr" {
        return Some(row.mrr.as_ref()?.forwarded.mean / row.stream.direction_count() as f64);
    }
    Some(row.rates.iter().find(|rate| rate.goal == goal)?.lower?.0)
}

/// A line for each IP version.
fn line(
    device: &DeviceReport,
    sizes: &[String],
    name: &str,
    value: impl Fn(&StreamReport) -> Option<f64>,
) -> Vec<Line> {
    let series_of = |network: Option<Network>| {
        let row = |size: &String| {
            let own = |row: &&StreamReport| network.is_none_or(|network| row.stream.network == network);
            device.rows.iter().filter(own).find(|row| row.stream.frames.name == *size)
        };
        let over = |of: &dyn Fn(&StreamReport) -> Option<f64>| {
            sizes.iter().map(|size| row(size).and_then(of)).collect()
        };
        Line {
            name: network.map_or_else(|| name.to_owned(), |network| format!("{name}, {network}")),
            values: over(&value),
            limit: over(&|row| Some(row.line_rate?.0)),
        }
    };
    let both = device.rows.first().is_some_and(|row| network(device, &row.stream).is_some());
    let networks = if both { vec![Some(Network::V4), Some(Network::V6)] } else { vec![None] };
    let known = |line: &Line| line.values.iter().any(Option::is_some);
    networks.into_iter().map(series_of).filter(known).collect()
}

/// RFC 2544 section 26.3's graph.
fn losses(device: &DeviceReport, of: &str) -> Option<LinePanel> {
    let rows: Vec<&StreamReport> = device.rows.iter().filter(|row| row.loss.is_some()).collect();
    let mut loads = offered(&rows);
    loads.reverse();
    let line = |row: &&StreamReport| {
        Line::new(
            name(device, row),
            loads.iter().map(|load| Some(loss_at(row, *load)?.loss_percent)).collect(),
        )
    };
    let places = loads.iter().copied().map(plain).collect();
    (!rows.is_empty()).then(|| LinePanel {
        title: format!("Frame loss rate{of}"),
        unit: "%".into(),
        lines: rows.iter().map(line).collect(),
        across: Some(Across::values("Offered load, % of the most", places, &loads)),
        ..LinePanel::default()
    })
}

/// Percentiles over load, of the first and of the last stream.
fn latencies(device: &DeviceReport, of: &str) -> Vec<LinePanel> {
    match with_latency(device).as_slice() {
        [] => Vec::new(),
        [one] => latency_panels(device, &[one], of),
        [first, .., last] => latency_panels(device, &[first, last], of),
    }
}

/// The same of every stream, where the chart of the report has not all of them.
pub(super) fn every_latency(device: &DeviceReport) -> Option<LineChart> {
    let rows = with_latency(device);
    (rows.len() > 2).then(|| LineChart {
        title: "Latency over load, each frame size".into(),
        subtitle: "percentiles of all frames of the last run".into(),
        panels: latency_panels(device, &rows, ""),
        ..LineChart::default()
    })
}

fn with_latency(device: &DeviceReport) -> Vec<&StreamReport> {
    device.rows.iter().filter(|row| !row.latency.is_empty()).collect()
}

/// A panel for each of these streams, in one unit.
fn latency_panels(device: &DeviceReport, rows: &[&StreamReport], of: &str) -> Vec<LinePanel> {
    let delays = || rows.iter().flat_map(|row| &row.latency).flat_map(|at| &at.directions);
    let slowest = delays().map(|direction| direction.delays.p99).max().unwrap_or_default();
    // Beyond ten milliseconds, microseconds have more digits than an axis has room for.
    let unit = if slowest >= SLOW { ("ms", 1e6) } else { ("µs", 1e3) };
    rows.iter().map(|row| latency(device, row, of, unit)).collect()
}

fn latency(device: &DeviceReport, row: &StreamReport, of: &str, (unit, scale): (&str, f64)) -> LinePanel {
    let directions: Vec<Direction> = row.stream.directions.each().collect();
    let line = |direction: Direction, (name, percentile): &(&str, Percentile)| {
        let value = |at: &LatencyReport| {
            let own = at.directions.iter().find(|one| one.direction == direction && one.delays.count > 0)?;
            Some(percentile(&own.delays).0 as f64 / scale)
        };
        let shown = if directions.len() > 1 { format!("{name} {direction}") } else { (*name).to_owned() };
        Line::new(shown, row.latency.iter().map(value).collect())
    };
    let loads: Vec<f64> = row.latency.iter().map(|at| f64::from(at.percent)).collect();
    let places = row.latency.iter().map(|at| at.percent.to_string()).collect();
    LinePanel {
        title: format!("Latency of {}{of}", frames(device, &row.stream)),
        unit: unit.into(),
        lines: directions
            .iter()
            .flat_map(|direction| PERCENTILES.iter().map(|of| line(*direction, of)))
            .collect(),
        across: Some(Across::values("Load, % of the throughput", places, &loads)),
        logarithmic: true,
        ..LinePanel::default()
    }
}

fn name(device: &DeviceReport, row: &StreamReport) -> String {
    let size = &row.stream.frames.name;
    network(device, &row.stream).map_or_else(|| size.clone(), |network| format!("{size}, {network}"))
}

type Percentile = fn(&Distribution) -> Nanos;

const PERCENTILES: [(&str, Percentile); 3] =
    [("p50", |delays| delays.p50), ("p90", |delays| delays.p90), ("p99", |delays| delays.p99)];
/// Delays from here on are drawn in milliseconds.
const SLOW: Nanos = Nanos::from_millis(10);
/// With more devices than these only the rates are drawn.
const MOST_DEVICES: usize = 3;
/// Values that differ by more are drawn on a logarithmic axis.
const FAR_APART: f64 = 30.0;
