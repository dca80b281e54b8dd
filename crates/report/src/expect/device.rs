//! Expectations of a benchmarked device: `64.throughput>=1Mpps` held against a report.

use super::{Checked, Comparison, ExpectError, likely, read_value, split};
use insight::figure::{DEVICE_FIGURES, Figure, Source, device_figure, row_scope};
use model::dut::{DeviceReport, DutReport, StreamReport};
use std::str::FromStr;

/// One expectation: a figure of a device, a comparison and a value.
///
/// Reads `[DEVICE.][FRAMES.]NAME OP VALUE`, e.g. `throughput>=1Mpps`, `64.ndr>=1Mpps`, `forward.1518.latency.p99<1ms`. Every
/// row that is meant must have the figure and be as expected.
#[derive(Clone, Debug)]
pub struct DeviceExpectation {
    text: String,
    /// The text before the figure: a device, frames, or both.
    scope: Option<String>,
    figure: &'static Figure,
    comparison: Comparison,
    wanted: f64,
}

impl FromStr for DeviceExpectation {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<DeviceExpectation, ExpectError> {
        let (key, comparison, value) = split(text)?;
        let (scope, figure) = device_figure(key).ok_or_else(|| ExpectError::UnknownKey {
            text: text.into(),
            key: key.into(),
            known: likely(key, names_like(key), known_device_keys),
        })?;
        let wanted = read_value(figure.quantity, text, key, value)?;
        let scope = scope.map(str::to_owned);
        Ok(DeviceExpectation { text: text.trim().into(), scope, figure, comparison, wanted })
    }
}

impl DeviceExpectation {
    /// Holds it against a report. `measured` is that of the first row which breaks it.
    #[must_use]
    pub fn check(&self, report: &DutReport) -> Checked {
        let figures: Vec<(String, Option<f64>)> =
            report.devices.iter().flat_map(|device| self.figures(device)).collect();
        let holds =
            |value: &Option<f64>| value.is_some_and(|value| self.comparison.holds(value, self.wanted));
        let broken = figures.iter().find(|(_, value)| !holds(value));
        let reported = broken.or(figures.first()).and_then(|(place, value)| {
            let value = self.figure.quantity.print((*value)?);
            Some(if place.is_empty() { value } else { format!("{value} of {place}") })
        });
        let held = broken.is_none() && !figures.is_empty();
        Checked { expectation: self.text.clone(), measured: reported, held }
    }

    /// The figure of each row of a device that is meant, with what the row is of.
    fn figures(&self, device: &DeviceReport) -> Vec<(String, Option<f64>)> {
        match self.figure.source {
            Source::Device(figure) if self.means(&[&device.name]) => {
                vec![(device.name.clone(), figure(device))]
            }
            Source::Row(figure) => {
                let meant = device.rows.iter().filter(|row| {
                    let (frames, whole) = (&row.stream.frames.name, row_scope(row));
                    let of_device = |scope: &str| format!("{}.{scope}", device.name);
                    self.means(&[&device.name, frames, &of_device(frames), &whole, &of_device(&whole)])
                });
                let place = |row: &StreamReport| {
                    format!("{}, {} {}", device.name, row.stream.frames.name, row.stream.network)
                };
                let rows: Vec<_> = meant.map(|row| (place(row), figure(row))).collect();
                // A device that could not be tested has no rows, and breaks what is expected of it.
                let none = rows.is_empty() && device.rows.is_empty() && self.means(&[&device.name]);
                if none { vec![(device.name.clone(), None)] } else { rows }
            }
            _ => Vec::new(),
        }
    }

    fn means(&self, names: &[&str]) -> bool {
        self.scope.as_deref().is_none_or(|scope| names.contains(&scope))
    }
}

/// Every figure an expectation of a device can name, for help and errors.
#[must_use]
pub fn known_device_keys() -> String {
    DEVICE_FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", ")
}

/// Every figure behind the scope of this key.
fn names_like(key: &str) -> impl Iterator<Item = String> {
    let scope = key.split_once('.').map_or(String::new(), |(scope, _)| format!("{scope}."));
    DEVICE_FIGURES.iter().flat_map(move |figure| [figure.name.to_owned(), format!("{scope}{}", figure.name)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::dut::{MrrReport, Rates};
    use model::search::{Load, LossStepsOutcome};
    use serde_json::{Value, json};

    fn stream(frame: u64) -> Value {
        json!({"network": "v4", "frames": {"name": frame.to_string(), "sizes": [frame]}, "ways": "up"})
    }

    fn line(frame: u64, lower: f64) -> Value {
        let rate = json!({"goal": "ndr", "lower_pps": lower, "irregular": [], "trials": 9});
        json!({
            "stream": stream(frame), "line_rate_pps": 1e6, "flood": [], "rates": [rate], "latency": [], "left_out": []
        })
    }

    fn device(name: &str, rows: &[Value]) -> Value {
        json!({
            "name": name, "ports": [], "tools": [], "rows": rows, "hops": [], "voided": 0, "findings": [], "notes": [],
            "verdict": {"status": "ok", "text": "."},
        })
    }

    /// Two devices; the second could not be tested.
    fn report() -> DutReport {
        let setup = json!({
            "tests": ["throughput"], "streams": [], "search": "mlr", "goals": [], "encaps": "", "latency_percents": [],
            "departures": [], "times": model::dut::Times::quick(),
        });
        let devices = [device("a.b", &[line(64, 2e5), line(1518, 9e5)]), device("dead", &[])];
        let whole = json!({"schema": "x", "id": "x", "setup": setup, "devices": devices, "notes": []});
        serde_json::from_value(whole).expect("a report")
    }

    fn check(text: &str) -> Checked {
        text.parse::<DeviceExpectation>().expect(text).check(&report())
    }

    #[test]
    fn every_row_that_is_meant_must_hold() {
        for (text, held) in [
            ("a.b.ndr>=200kpps", true),
            ("a.b.64.ndr>=200kpps", true),
            ("a.b.64.ndr>200kpps", false),
            ("1518.ndr>=900kpps", true),
            ("a.b.ndr>=300kpps", false),
            ("ndr>=1pps", false),
            ("dead.ndr>=1pps", false),
            ("512.ndr>=1pps", false),
            ("a.b.64.mrr>=1pps", false),
        ] {
            let checked = check(text);
            assert_eq!(checked.held, held, "{text}: {checked}");
        }
        assert_eq!(check("a.b.ndr>=300kpps").measured.as_deref(), Some("200 kpps of a.b, 64 IPv4"));
        assert_eq!(check("512.ndr>=1pps").measured, None);
    }

    #[test]
    fn figures_of_a_row() {
        let mut report = report();
        let row = &mut report.devices[0].rows[0];
        let forwarded = Rates::from_frames_per_second(&[100.0, 200.0]).expect("two trials");
        row.mrr = Some(MrrReport { offered: Load(1e6), forwarded, loss_ratio: 0.25 });
        row.loss = Some(LossStepsOutcome { rows: Vec::new(), irregular: Vec::new() });
        let check = |text: &str| text.parse::<DeviceExpectation>().expect(text).check(&report);
        assert!(check("a.b.64.mrr=150pps").held && check("a.b.64.mrr.loss<=25%").held);
        assert!(!check("a.b.64.loss<=1").held, "no step of it was measured");
    }

    #[test]
    fn every_figure_can_be_written_with_its_own_example() {
        for figure in DEVICE_FIGURES {
            let value = figure.quantity.example().split(' ').next().expect("an example");
            let text = format!("a.b.64.{}>={value}", figure.name);
            let read: DeviceExpectation = text.parse().expect(&text);
            assert!(std::ptr::eq(read.figure, figure), "{text}");
            assert!(known_device_keys().contains(figure.name), "{text}");
        }
        for text in
            ["nrd>=1pps", "64>=1", "64.>=1pps", ".ndr>=1pps", "ndr>=fast", "ndr", "xndr>=1pps", "ndr>=1"]
        {
            assert!(text.parse::<DeviceExpectation>().is_err(), "{text}");
        }
    }
}
