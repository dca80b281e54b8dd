//! Figures of a benchmarked device: of each row of its report, and of the device.

use super::Quantity::{self, Count, Packets, Share, Time, Verdict};
use super::{Figure, Get, Names, Note, Scope, Source, figure, listed};
use model::dut::{DeviceReport, DutReport, LatencyReport, StreamReport};
use model::framing::Network;
use model::history::Headline;
use model::stats::distribution::Distribution;
use model::units::Nanos;

const fn row(names: Names, quantity: Quantity, get: Get<StreamReport>, note: Note) -> Figure {
    figure(names, quantity, Source::Row(get), note).within(Scope::Device)
}

const fn device(names: Names, quantity: Quantity, get: Get<DeviceReport>, note: Note) -> Figure {
    figure(names, quantity, Source::Device(get), note).within(Scope::Device)
}

/// Every figure of a device.
#[rustfmt::skip]
pub static DEVICE_FIGURES: &[Figure] = &[
    device(("verdict", "verdict"), Verdict, |d| Some(f64::from(d.verdict.status as u8)), "verdict of the device").lower(),
    device(("findings", "findings"), Count, |d| Some(d.findings.len() as f64), "findings of the device").lower(),
    row(("throughput", "throughput"), Packets, |r| rate(r, "throughput"),
        "highest load without loss, frames per second in each direction").higher().listed(1),
    row(("ndr", "NDR"), Packets, |r| rate(r, "ndr"), "non-drop rate, by MLRsearch").higher().listed(2),
    row(("pdr", "PDR"), Packets, |r| rate(r, "pdr"), "partial-drop rate, likewise").higher().listed(3),
    row(("throughput.line_rate_share", "of line rate"), Share, |r| Some(rate(r, "throughput")? / r.line_rate?.0),
        "throughput as a share of line rate").higher(),
    row(("mrr", "MRR"), Packets, |r| r.mrr.as_ref().map(|mrr| mrr.forwarded.mean),
        "frames forwarded per second under the highest load, all directions together").higher().listed(4),
    row(("mrr.loss", "MRR, lost"), Share, |r| r.mrr.as_ref().map(|mrr| mrr.loss_ratio),
        "share lost in that test").lower().listed(5),
    row(("loss", "lost"), Share, |r| r.loss.as_ref()?.rows.first().map(|step| step.loss_percent / 100.0),
        "share lost under the highest load of the loss steps").lower().listed(6),
    row(("latency.p50", "latency"), Time, |r| latency(r, |delays| delays.p50),
        "median delay at the highest load of the latency test, of the worse direction").lower().listed(7),
    row(("latency.p90", "latency, p90"), Time, |r| latency(r, |delays| delays.p90), "90th percentile of these").lower(),
    row(("latency.p99", "latency, p99"), Time, |r| latency(r, |delays| delays.p99), "99th percentile of these").lower().listed(8),
    row(("latency.max", "latency, longest"), Time, |r| latency(r, |delays| delays.max), "longest of these").lower(),
    row(("delay_variation", "delay variation"), Time, delay_variation,
        "packet delay variation, median over the runs, of the worse direction").lower().listed(10),
    row(("back_to_back", "back-to-back"), Count, |r| r.back_to_back.as_ref()?.outcome.mean,
        "frames of the longest burst without loss, mean of the runs").higher().listed(9),
    row(("recovery", "recovery"), Time, |r| r.recovery.as_ref()?.over_runs.map(|runs| runs.median),
        "time until nothing is lost any more after an overload, median of the runs").lower().listed(11),
    row(("reset", "reset"), Time, reset, "longest time without frames at a reset").lower().listed(12),
    device(("service.broken", "steps that failed"), Count, service_broken,
        "steps of the service's profile that missed what it promises").lower(),
    device(("service.availability", "availability"), Share, |d| d.service.as_ref()?.availability,
        "share of the seconds in which the service was available").higher(),
];

/// The figure that a key ends with, and what stands before it. Names may have points in them, so the longest figure is meant.
#[must_use]
pub fn device_figure(key: &str) -> Option<(Option<&str>, &'static Figure)> {
    let ends = DEVICE_FIGURES.iter().filter_map(|figure| {
        let before = key.strip_suffix(figure.name)?;
        match before.strip_suffix('.') {
            Some(scope) if !scope.is_empty() => Some((Some(scope), figure)),
            None if before.is_empty() => Some((None, figure)),
            _ => None,
        }
    });
    ends.max_by_key(|(_, figure)| figure.name.len())
}

/// The frames of a row, as the name of a figure has them: `64`, `ipv6.84`.
#[must_use]
pub fn row_scope(row: &StreamReport) -> String {
    let frames = &row.stream.frames.name;
    match row.stream.network {
        Network::V4 => frames.clone(),
        Network::V6 => format!("ipv6.{frames}"),
    }
}

/// The listed figures of every row, by their full names; the device stands before them where there are several.
#[must_use]
pub fn device_headlines(report: &DutReport) -> Vec<Headline> {
    let several = report.devices.len() > 1;
    let rows = report.devices.iter().flat_map(|device| {
        let before = if several { format!("{}.", device.name) } else { String::new() };
        device.rows.iter().map(move |row| (format!("{before}{}", row_scope(row)), row))
    });
    let figures = listed(DEVICE_FIGURES.iter());
    let headline = |(scope, row): (String, &StreamReport)| {
        let value = |figure: &&Figure| {
            let Source::Row(get) = figure.source else { return None };
            let value = get(row)?;
            let (name, text) = (format!("{scope}.{}", figure.name), figure.quantity.print(value));
            Some(Headline { name, value, text })
        };
        figures.iter().filter_map(value).collect::<Vec<_>>()
    };
    rows.flat_map(headline).collect()
}

/// The highest load that passed, in each direction.
fn rate(row: &StreamReport, goal: &str) -> Option<f64> {
    row.rates.iter().find(|rate| rate.goal == goal)?.lower.map(|load| load.0)
}

/// The delay at the highest load of the latency test, of the worse direction.
fn latency(row: &StreamReport, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    let highest: &LatencyReport = row.latency.iter().max_by_key(|latency| latency.percent)?;
    most(highest.directions.iter().map(|direction| of(&direction.delays).0 as f64))
}

fn delay_variation(row: &StreamReport) -> Option<f64> {
    most(row.delay_variation.as_ref()?.directions.iter().map(|one_way| one_way.packet.median))
}

fn reset(row: &StreamReport) -> Option<f64> {
    let runs = &row.reset.as_ref()?.runs;
    let times: Option<Vec<f64>> = runs.iter().map(|run| Some(run.by_time?.0 as f64)).collect();
    most(times?.into_iter())
}

fn service_broken(device: &DeviceReport) -> Option<f64> {
    let service = device.service.as_ref()?;
    let steps = service.steps.iter().chain(&service.performance);
    Some(steps.filter(|step| !step.misses.is_empty()).count() as f64)
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}
