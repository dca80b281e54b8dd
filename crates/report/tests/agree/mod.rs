//! A document held against itself: figures that follow from one another, as a reader with a pocket calculator would.
//!
//! Written against the JSON that is published, not against the types that wrote it.

mod device;
mod hops;
mod lab;
mod latency;
mod path;
mod throughput;
mod transfer;

use serde_json::Value;

/// What contradicts what in a result document (`pathmeter/result/1`), a lab's or a benchmark's; nothing: it agrees.
pub(crate) fn contradictions(document: &Value) -> Vec<String> {
    let mut found = Found::default();
    found.everywhere("", document);
    found.run(document);
    lab::check(&mut found, document);
    device::check(&mut found, document);
    found.0
}

#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    /// A run and the tests in it.
    fn run(&mut self, run: &Value) {
        throughput::check(self, run);
        latency::check(self, run);
        path::check(self, run);
        hops::check(self, run);
        transfer::check(self, run);
        for test in items(run, "tests") {
            self.run(test);
        }
    }

    /// What has the shape of a distribution, wherever it stands.
    fn everywhere(&mut self, at: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                self.ordered(at, value);
                self.spread(at, value);
                fields.iter().for_each(|(name, inner)| self.everywhere(&format!("{at}.{name}"), inner));
            }
            Value::Array(inner) => inner.iter().for_each(|inner| self.everywhere(at, inner)),
            Value::Number(number) => {
                self.that(at, number.as_f64().is_some_and(f64::is_finite), || format!("{number} is endless"));
            }
            _ => {}
        }
    }

    /// From the least to the largest, the mean between them.
    fn ordered(&mut self, at: &str, value: &Value) {
        for order in ORDERS {
            let known: Vec<(&str, f64)> =
                order.iter().filter_map(|name| Some((*name, number(value, name)?))).collect();
            for pair in known.windows(2) {
                let ((lower, a), (upper, b)) = (pair[0], pair[1]);
                self.that(at, a <= b * (1.0 + 1e-12), || format!("{lower} {a} is above {upper} {b}"));
            }
        }
    }

    /// A sample's standard deviation is at most half its range, times √(n / (n − 1)).
    fn spread(&mut self, at: &str, value: &Value) {
        let figures = ["stddev", "min", "max"].map(|name| number(value, name));
        let [Some(stddev), Some(min), Some(max)] = figures else { return };
        let count = number(value, "count").filter(|count| *count > 1.0);
        let half = (max - min) / 2.0 * count.map_or(std::f64::consts::SQRT_2, |n| (n / (n - 1.0)).sqrt());
        self.that(at, stddev <= half * (1.0 + 1e-9) + 1.0, || {
            format!("standard deviation {stddev} of {min} to {max}: at most {half}")
        });
        // The other end: the least and the largest are among the values. Some tools divide by n.
        let least = count.map_or(0.0, |n| (max - min) / (2.0 * n).sqrt());
        self.that(at, stddev >= least * (1.0 - 1e-9) - 1.0, || {
            format!("standard deviation {stddev} of {min} to {max}: at least {least}")
        });
    }

    fn that(&mut self, at: &str, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.0.push(format!("{at}: {}", otherwise()));
        }
    }

    /// Both are known and differ by more than `tolerance`.
    fn same(&mut self, at: &str, what: &str, found: Option<f64>, reckoned: Option<f64>, tolerance: f64) {
        if let (Some(found), Some(reckoned)) = (found, reckoned) {
            let holds = (found - reckoned).abs() <= tolerance + reckoned.abs() * 1e-12;
            self.that(at, holds, || format!("{what}: {found}, reckoned {reckoned}"));
        }
    }

    fn at_most(&mut self, at: &str, what: &str, less: Option<f64>, more: Option<f64>) {
        if let (Some(less), Some(more)) = (less, more) {
            self.that(at, less <= more + more.abs() * 1e-12, || {
                format!("{what}: {less} is more than {more}")
            });
        }
    }
}

/// What stands at a path of names.
fn get<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| &value[name])
}

fn number(value: &Value, path: &str) -> Option<f64> {
    get(value, path).as_f64()
}

fn items<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    get(value, path).as_array().map_or(&[], Vec::as_slice)
}

/// The sum of a figure over rows that all have it; none of no rows.
fn sum<'a>(rows: impl IntoIterator<Item = &'a Value>, path: &str) -> Option<f64> {
    let figures: Option<Vec<f64>> = rows.into_iter().map(|row| number(row, path)).collect();
    figures.filter(|figures| !figures.is_empty()).map(|figures| figures.iter().sum())
}

const ORDERS: [&[&str]; 5] = [
    &["min", "p50", "p90", "p99", "p999", "p9999", "max"],
    &["min", "mean", "max"],
    &["min", "median", "max"],
    &["min_ns", "mean_ns", "max_ns"],
    &["lower", "upper"],
];
