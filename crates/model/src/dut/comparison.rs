//! Two devices compared by the rates of their trials, as CSIT reports them.

use super::{DeviceComparison, DeviceReport, DutReport, RateChange, RateReport, Rates, StreamReport};
use crate::search::Irregular;

/// Each goal's rate and the MRR of two devices, wherever both have it for the same frames; the largest loss first.
#[must_use]
pub fn compare(reference: &DeviceReport, compared: &DeviceReport) -> Vec<RateChange> {
    let pairs = compared.rows.iter().filter_map(|row| {
        let twin = reference.rows.iter().find(|other| other.stream == row.stream)?;
        Some((twin, row))
    });
    let mut changes: Vec<RateChange> = pairs.flat_map(|(one, other)| changes(one, other)).collect();
    let percent = |row: &RateChange| row.change.map_or(f64::INFINITY, |change| change.percent);
    changes.sort_by(|one, other| percent(one).total_cmp(&percent(other)));
    changes
}

/// Every device held against the one of the same name in an older report, or the only one against the only one.
#[must_use]
pub fn compare_with(reference: &DutReport, compared: &DutReport) -> Vec<DeviceComparison> {
    let alone = reference.devices.len() == 1 && compared.devices.len() == 1;
    let twins = compared.devices.iter().filter_map(|device| {
        let twin = reference.devices.iter().find(|other| alone || other.name == device.name)?;
        Some((twin, device))
    });
    let older = reference.started.map_or_else(String::new, |at| format!(" of {at}"));
    twins.map(|(one, other)| named(format!("{}{older}", one.name), one, other)).collect()
}

/// Every further device of a report held against its first one.
#[must_use]
pub fn compare_devices(report: &DutReport) -> Vec<DeviceComparison> {
    let mut devices = report.devices.iter();
    let first = devices.next();
    first
        .into_iter()
        .flat_map(|one| devices.clone().map(|other| named(one.name.clone(), one, other)))
        .collect()
}

fn named(reference: String, one: &DeviceReport, other: &DeviceReport) -> DeviceComparison {
    DeviceComparison { reference, compared: other.name.clone(), rows: compare(one, other) }
}

fn changes(one: &StreamReport, other: &StreamReport) -> Vec<RateChange> {
    let row = |figure: &str, reference: Rates, compared: Rates, least: [bool; 2]| RateChange {
        stream: other.stream.clone(),
        figure: figure.to_owned(),
        reference,
        compared,
        change: compared.against(&reference),
        reference_is_least: least[0],
        compared_is_least: least[1],
    };
    let mut rows = Vec::new();
    for rate in &other.rates {
        let twin = one.rates.iter().find(|twin| twin.goal == rate.goal);
        if let Some((twin, was, is)) = twin.and_then(|twin| Some((twin, rates(twin)?, rates(rate)?))) {
            rows.push(row(&rate.goal, was, is, [twin, rate].map(RateReport::is_least)));
        }
    }
    let mrr = one.mrr.as_ref().zip(other.mrr.as_ref());
    rows.extend(mrr.map(|(was, is)| row("mrr", was.forwarded, is.forwarded, [false; 2])));
    rows
}

fn rates(rate: &RateReport) -> Option<Rates> {
    let single = rate.lower.map(|load| Rates { trials: 1, mean: load.0, stddev: None });
    rate.repeats.or(single)
}

impl RateChange {
    /// Slower by more than chance explains: three standard deviations and 5 % of the reference, or 10 % where a side was found
    /// but once. A figure that may be higher than it was found is no regression.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        let Some(change) = self.change.filter(|_| !self.compared_is_least) else { return false };
        change.percent < -change.stddev.map_or(FOUND_ONCE, |stddev| (DEVIATIONS * stddev).max(LEAST_CHANGE))
    }
}

const DEVIATIONS: f64 = 3.0;
/// Percent.
const LEAST_CHANGE: f64 = 5.0;
/// Percent.
const FOUND_ONCE: f64 = 10.0;

impl RateReport {
    /// The true figure may be higher: the most load passed, or the generator fell short.
    #[must_use]
    pub fn is_least(&self) -> bool {
        let bounds = [Irregular::NoUpperBound, Irregular::GeneratorLimited];
        self.irregular.iter().any(|word| bounds.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dut::{Frames, MrrReport, SCHEMA, Setup, Stream};
    use crate::framing::Network;
    use crate::plan::Directions;
    use crate::search::Load;
    use crate::time::WallTime;
    use crate::units::Bytes;

    #[test]
    fn a_regression_is_more_than_chance() {
        let first = device("first", &[64], 1e6);
        let changed = |mean: f64, stddev: Option<f64>, is_least: bool| {
            let mut row = compare(&first, &device("other", &[64], 1e6)).remove(0);
            row.reference = Rates { trials: 10, mean: 100.0, stddev: stddev.map(|_| 1.0) };
            row.compared = Rates { trials: 10, mean, stddev };
            row.compared_is_least = is_least;
            row.change = row.compared.against(&row.reference);
            row.is_regression()
        };
        // 90 ± 1 against 100 ± 1: −10 % ± 1.3; with ± 5 it is ± 5.1.
        assert!(changed(90.0, Some(1.0), false) && !changed(90.0, Some(5.0), false));
        assert!(!changed(96.0, Some(0.1), false), "a difference under 5 % is no change");
        assert!(changed(89.9, None, false) && !changed(90.1, None, false), "found once each");
        assert!(
            changed(0.0, Some(0.0), false)
                && !changed(50.0, Some(1.0), true)
                && !changed(150.0, Some(1.0), false)
        );
    }

    fn device(name: &str, frames: &[u64], pps: f64) -> DeviceReport {
        let row = |size: &u64| {
            let frames = Frames::for_payload(Bytes(*size));
            let stream = Stream { network: Network::V4, frames, directions: Directions::Up };
            let mut row = StreamReport { stream, ..StreamReport::default() };
            let lower = pps * (*size as f64) / 64.0;
            row.rates = vec![RateReport {
                goal: "ndr".into(),
                lower: Some(Load(lower)),
                upper: None,
                conditional_throughput: None,
                repeats: Rates::from_frames_per_second(&[lower * 0.9, lower * 1.1]),
                irregular: if *size > 64 { vec![Irregular::NoUpperBound] } else { Vec::new() },
                trials: 9,
            }];
            let forwarded = Rates { trials: 10, mean: pps * 1.5, stddev: Some(pps * 0.03) };
            row.mrr = Some(MrrReport { offered: Load(1e7), forwarded, loss_ratio: 0.5 });
            row
        };
        DeviceReport { name: name.into(), rows: frames.iter().map(row).collect(), ..DeviceReport::default() }
    }

    #[test]
    fn figures_of_the_same_frames_are_compared_the_largest_loss_first() {
        let first = device("first", &[64, 512, 1518], 1e6);
        let mut other = device("other", &[64, 1518], 2e6);
        other.rows[1].rates[0].repeats = None;
        other.rows[1].rates[0].lower = Some(Load(0.5 * 1518.0 / 64.0 * 1e6));
        let changes = compare(&first, &other);
        let row = |change: &RateChange| {
            let percent = change.change.unwrap().percent.round();
            (change.stream.frames.name.clone(), change.figure.clone(), percent, change.compared_is_least)
        };
        let expected = [
            ("1518".into(), "ndr".into(), -50.0, true),
            ("64".into(), "ndr".into(), 100.0, false),
            ("64".into(), "mrr".into(), 100.0, false),
            ("1518".into(), "mrr".into(), 100.0, false),
        ];
        assert_eq!(changes.iter().map(row).collect::<Vec<_>>(), expected);
        assert_eq!(
            changes[0].change.unwrap().stddev,
            None,
            "of a single search nothing is known of the spread"
        );
        // 2 × √(0.1414² + 0.1414²) of sample deviations 0.1414.
        assert!((changes[1].change.unwrap().stddev.unwrap() - 40.0).abs() < 1e-6);
    }

    fn report(devices: Vec<DeviceReport>) -> DutReport {
        DutReport {
            schema: SCHEMA.into(),
            id: String::new(),
            started: None,
            finished: None,
            host: None,
            setup: Setup::standard(&[], Vec::new()),
            devices,
            comparisons: Vec::new(),
            notes: Vec::new(),
            expectations: Vec::new(),
        }
    }

    #[test]
    fn devices_are_compared_by_name_or_as_the_only_ones() {
        let [one, two] = ["one", "two"].map(|name| device(name, &[64], 1e6));
        let names = |comparisons: Vec<DeviceComparison>| -> Vec<(String, String)> {
            comparisons.into_iter().map(|one| (one.reference, one.compared)).collect()
        };
        let both = report(vec![one.clone(), two.clone()]);
        assert_eq!(names(compare_devices(&both)), [("one".into(), "two".into())]);
        assert_eq!(names(compare_devices(&report(Vec::new()))), []);
        let older = DutReport { started: Some(WallTime(0)), ..report(vec![one]) };
        let dated = "one of 1970-01-01T00:00:00.000Z".to_owned();
        assert_eq!(names(compare_with(&older, &both)), [(dated.clone(), "one".into())]);
        assert_eq!(names(compare_with(&older, &report(vec![two]))), [(dated, "two".into())]);
    }
}
