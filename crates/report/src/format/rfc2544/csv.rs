//! The CSV of a report: a row for each figure.

use crate::format::csv::quoted;
use model::dut::{DeviceReport, DutReport, StreamReport};
use model::plan::Direction;
use model::search::Irregular;

/// The header. Columns are only ever added at the end.
///
/// `ways`: `up`, `down` or `both` were sent at once. `direction` is that of the figure; empty: of each, or of all together
/// where the figure says so. `load_percent` is of the throughput for latency, of the most load for frame loss. `remarks`:
/// what makes a result irregular, separated by spaces.
pub const COLUMNS: [&str; 12] = [
    "device",
    "network",
    "frame",
    "ways",
    "test",
    "figure",
    "direction",
    "load_percent",
    "load_pps",
    "value",
    "unit",
    "remarks",
];

/// One figure.
#[derive(Default)]
struct Figure {
    test: &'static str,
    figure: String,
    direction: Option<Direction>,
    percent: Option<f64>,
    load: Option<f64>,
    value: f64,
    unit: &'static str,
    remarks: Vec<Irregular>,
}

pub(super) fn document(report: &DutReport) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for device in &report.devices {
        for row in &device.rows {
            text.extend(rates(row).into_iter().map(|figure| line(device, row, figure)));
        }
    }
    text
}

fn rates(row: &StreamReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    for rate in &row.rates {
        let of = |figure: &str, value: f64| Figure {
            test: "throughput",
            figure: figure.to_owned(),
            value,
            unit: "frames/s",
            remarks: rate.irregular.clone(),
            ..Figure::default()
        };
        figures.extend(rate.lower.map(|load| of(&rate.goal, load.0)));
    }
    figures
}

fn line(device: &DeviceReport, row: &StreamReport, figure: Figure) -> String {
    let fields: [String; COLUMNS.len()] = [
        device.name.clone(),
        row.stream.network.to_string(),
        row.stream.frames.name.clone(),
        word(&row.stream.ways),
        figure.test.to_owned(),
        figure.figure,
        text(figure.direction),
        text(figure.percent),
        text(figure.load),
        figure.value.to_string(),
        figure.unit.to_owned(),
        figure.remarks.iter().map(word).collect::<Vec<_>>().join(" "),
    ];
    fields.map(quoted).join(",") + "\n"
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// As in the JSON.
fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
