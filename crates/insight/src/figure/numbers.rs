//! The figures of a document as plain numbers by their public names, for programs.

use super::{DEVICE_FIGURES, Figure, Key, Source, row_scope};
use model::dut::{DeviceReport, DutReport};
use model::run::Run;
use std::collections::BTreeMap;

/// Figures by name: bits per second, packets per second, bytes, seconds, shares of one, and counts.
pub type Numbers = BTreeMap<String, f64>;

/// Every known figure of a run by each name that an expectation may use for it. A figure that is withheld, of which only a bound is
/// known, or whose value is a word is left out.
#[must_use]
pub fn numbers(run: &Run) -> Numbers {
    let number = |key: Key| {
        let number = number(key.figure, key.measured(run)?)?;
        Some((key.to_string(), number))
    };
    Key::all_of(run).filter_map(number).collect()
}

/// Every known figure of a run whose value is a word, by the same names: `shaper` of `up.limit.kind`.
#[must_use]
pub fn printed_figures(run: &Run) -> BTreeMap<String, String> {
    let word = |key: Key| {
        let word = key.figure.quantity.print(key.measured(run)?);
        Some((key.to_string(), word))
    };
    Key::all_of(run).filter(|key| key.figure.quantity.is_word()).filter_map(word).collect()
}

/// The same numbers of devices: figures of a row stand behind its frames, and behind the device where there are several.
#[must_use]
pub fn device_numbers(report: &DutReport) -> Numbers {
    let is_single = report.devices.len() == 1;
    let of_device = |device: &DeviceReport| {
        let before = if is_single { String::new() } else { format!("{}.", device.name) };
        DEVICE_FIGURES.iter().flat_map(move |figure| of_figure(figure, device, &before)).collect::<Vec<_>>()
    };
    report.devices.iter().flat_map(of_device).collect()
}

fn of_figure(figure: &Figure, device: &DeviceReport, before: &str) -> Vec<(String, f64)> {
    let values: Vec<(String, Option<f64>)> = match figure.source {
        Source::Device(get) => vec![(format!("{before}{}", figure.name), get(device))],
        Source::Row(get) => {
            let name = |row| format!("{before}{}.{}", row_scope(row), figure.name);
            device.rows.iter().map(|row| (name(row), get(row))).collect()
        }
        _ => Vec::new(),
    };
    values.into_iter().filter_map(|(name, value)| Some((name, number(figure, value?)?))).collect()
}

/// The value in the base unit; none of a word.
fn number(figure: &Figure, value: f64) -> Option<f64> {
    let (_, units) = figure.quantity.base_unit();
    (!figure.quantity.is_word() && value.is_finite()).then_some(value / units)
}
