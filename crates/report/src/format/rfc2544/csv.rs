//! The CSV of a report: a row for each figure.

mod figures;

use crate::document::Csv;
use figures::Figure;
use model::dut::{DeviceReport, DutReport, Stream};

/// The header. Columns are only ever added at the end.
///
/// `ways` were sent at once: `up`, `down` or `both`. `test` is as in the JSON, or `hops`. `direction` is that of the figure;
/// empty: rates are then of each direction, MRR, loss and bursts of all together. `load_percent` is of the throughput for
/// latency, of the most load for frame loss. `run` counts from 1 the runs of recovery and reset, and the steps of a
/// service. `remarks`: what makes a result irregular, separated by spaces.
pub const COLUMNS: [&str; 13] = [
    "device",
    "network",
    "frame",
    "ways",
    "test",
    "figure",
    "direction",
    "run",
    "load_percent",
    "load_pps",
    "value",
    "unit",
    "remarks",
];

pub(super) fn rows(report: &DutReport) -> Csv {
    let mut rows = Vec::new();
    for device in &report.devices {
        for row in &device.rows {
            let figures = figures::of_row(row).into_iter();
            rows.extend(figures.map(|figure| fields(device, Some(&row.stream), figure)));
        }
        if let Some(service) = &device.service {
            let figures = figures::of_service(service).into_iter();
            rows.extend(figures.map(|figure| fields(device, Some(&service.stream), figure)));
        }
        rows.extend(figures::of_hops(&device.hops).into_iter().map(|figure| fields(device, None, figure)));
    }
    Csv::new(&COLUMNS, rows)
}

/// In the order of [`COLUMNS`].
fn fields(device: &DeviceReport, stream: Option<&Stream>, figure: Figure) -> [String; COLUMNS.len()] {
    let frame = figure.frame.or_else(|| stream.map(|stream| stream.frames.name.clone()));
    [
        device.name.clone(),
        text(stream.map(|stream| stream.network)),
        frame.unwrap_or_default(),
        text(stream.map(|stream| word(&stream.ways))),
        figure.test,
        figure.name,
        text(figure.direction),
        text(figure.run),
        text(figure.percent),
        text(figure.load.map(|load| load.0)),
        figure.value.to_string(),
        figure.unit.to_owned(),
        figure.remarks.iter().map(word).collect::<Vec<_>>().join(" "),
    ]
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// As in the JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
