//! The CSV of a report: a row for each figure.

mod figures;

use crate::document::{Csv, word};
use crate::format::csv::Source;
use figures::Figure;
use model::dut::{DeviceReport, DutReport, Stream};
use model::plan::Direction;
use serde::Serialize;

#[derive(Default, Serialize)]
struct CsvRow {
    device: String,
    network: String,
    frame: String,
    /// Sent at once: `up`, `down` or `both`.
    #[serde(rename = "ways")]
    directions: String,
    /// The name as in the JSON, or `hops`.
    test: String,
    figure: String,
    /// The direction of the figure; empty: rates are then of each direction, MRR, loss and bursts of all together.
    direction: Option<Direction>,
    /// Counts from 1 the runs of recovery and reset, and the steps of a service.
    repetition: Option<usize>,
    /// The load of the throughput for latency, the most load for frame loss.
    load_percent: Option<f64>,
    load_pps: Option<f64>,
    value: f64,
    unit: &'static str,
    /// Irregularities of a result, separated by spaces.
    remarks: String,
}

pub(super) fn rows(report: &DutReport) -> Csv {
    let source = Source::new("rfc2544", report.started, report.host.as_ref()).named(&report.id);
    let mut rows = Vec::new();
    for device in &report.devices {
        let start = || source.clone().judged(&device.verdict);
        for row in &device.rows {
            let figures = figures::of_row(row).into_iter();
            rows.extend(figures.map(|figure| (start(), fields(device, Some(&row.stream), figure))));
        }
        if let Some(service) = &device.service {
            let figures = figures::of_service(service).into_iter();
            rows.extend(figures.map(|figure| (start(), fields(device, Some(&service.stream), figure))));
        }
        let hops = figures::of_hops(&device.hops).into_iter();
        rows.extend(hops.map(|figure| (start(), fields(device, None, figure))));
    }
    Csv::from_rows(rows)
}

fn fields(device: &DeviceReport, stream: Option<&Stream>, figure: Figure) -> CsvRow {
    let frame = figure.frame.or_else(|| stream.map(|stream| stream.frames.name.clone()));
    CsvRow {
        device: device.name.clone(),
        network: stream.map(|stream| stream.network.to_string()).unwrap_or_default(),
        frame: frame.unwrap_or_default(),
        directions: stream.map(|stream| word(&stream.directions)).unwrap_or_default(),
        test: figure.test,
        figure: figure.name,
        direction: figure.direction,
        repetition: figure.run,
        load_percent: figure.percent,
        load_pps: figure.load.map(|load| load.0),
        value: figure.value,
        unit: figure.unit,
        remarks: figure.remarks.iter().map(word).collect::<Vec<_>>().join(" "),
    }
}
