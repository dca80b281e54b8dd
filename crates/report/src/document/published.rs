//! The parts of a JSON document beside what was measured, so that any program can read it: every figure by its public name,
//! times as text, and the units of keys that do not name them.

use super::{ErrorBody, json_value, line};
use insight::figure::{Numbers, device_numbers, numbers, printed_figures};
use model::dut::DutReport;
use model::event::Event;
use model::plan::Plan;
use model::run::Run;
use model::time::WallTime;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A document as it is written.
///
/// `started` and `finished` are nanoseconds since 1970. Such a number is above 2⁵³, and programs that have floating point
/// alone (JavaScript, jq before 1.7) round it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "{T}"))]
#[must_use]
pub struct Published<T> {
    #[cfg_attr(feature = "schema", schemars(flatten))]
    document: T,
    /// Every known figure by the names of `--expect` (`docs/figures.md`), as a number of bits per second, packets per second, bytes,
    /// seconds, shares of one or a count, or as a word: the verdict, the kind of a limit, a confidence. A figure that is not known, or of which only a bound is, is absent.
    figures: Option<Figures>,
    /// The error that ended it early, below what was measured until then.
    error: Option<ErrorBody>,
    /// Begin, as RFC 3339 in UTC.
    started_at: Option<String>,
    /// End, likewise.
    finished_at: Option<String>,
    /// The units of those keys of plans whose names do not say them.
    units: Option<BTreeMap<&'static str, &'static str>>,
}

impl<T: Serialize> Published<T> {
    /// A document that has neither figures nor units.
    pub fn new(document: T, started: Option<WallTime>, finished: Option<WallTime>) -> Published<T> {
        let text = |time: WallTime| time.to_string();
        Published {
            document,
            figures: None,
            error: None,
            started_at: started.map(text),
            finished_at: finished.map(text),
            units: None,
        }
    }

    /// The JSON value: the keys of the document, then those that it has as a document alone.
    pub fn value(&self) -> Value {
        let [started, finished] =
            [&self.started_at, &self.finished_at].map(|time| time.clone().map(Value::String));
        let keys = [
            ("figures", self.figures.as_ref().map(json_figures)),
            ("error", self.error.as_ref().map(json_value)),
            ("started_at", started),
            ("finished_at", finished),
            ("units", self.units.as_ref().map(json_value)),
        ];
        extended(json_value(&self.document), keys)
    }
}

impl<'a> Published<&'a Run> {
    /// A run.
    pub fn of_run(run: &'a Run) -> Published<&'a Run> {
        let published = Published::new(run, run.started, run.finished);
        let mut figures = plain(numbers(run));
        figures.extend(printed_figures(run).into_iter().map(|(name, word)| (name, Plain::Word(word))));
        Published { figures: Some(figures), units: Some(UNITS.into()), ..published }
    }

    /// The same with the error that ended it early.
    pub fn with_error(self, error: Option<ErrorBody>) -> Published<&'a Run> {
        Published { error, ..self }
    }
}

impl<'a> Published<&'a DutReport> {
    /// The report of devices.
    pub fn of_devices(report: &'a DutReport) -> Published<&'a DutReport> {
        let published = Published::new(report, report.started, report.finished);
        Published { figures: Some(plain(device_numbers(report))), ..published }
    }
}

/// The value of a figure in a document.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(untagged))]
enum Plain {
    Number(f64),
    Word(String),
}

type Figures = BTreeMap<String, Plain>;

fn plain(numbers: Numbers) -> Figures {
    numbers.into_iter().map(|(name, value)| (name, Plain::Number(value))).collect()
}

/// Figures as JSON, whole numbers without a fraction.
fn json_figures(figures: &Figures) -> Value {
    let number = |value: f64| match value.fract() == 0.0 && (0.0..EXACT).contains(&value) {
        true => Value::from(value as u64),
        false => Value::from(value),
    };
    let value = |plain: &Plain| match plain {
        Plain::Number(value) => number(*value),
        Plain::Word(word) => Value::from(word.as_str()),
    };
    figures.iter().map(|(name, plain)| (name.clone(), value(plain))).collect()
}

/// Whole numbers below it are exact in floating point: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An event as it is written.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Event"))]
pub struct PublishedEvent<T = Event> {
    #[cfg_attr(feature = "schema", schemars(flatten))]
    event: T,
    /// `wall` as RFC 3339 in UTC.
    wall_at: Option<String>,
}

impl<'a> PublishedEvent<&'a Event> {
    /// An event.
    #[must_use]
    pub fn from_event(event: &'a Event) -> PublishedEvent<&'a Event> {
        let wall = match event {
            Event::Connected(of) => Some(of.wall),
            Event::Started(of) => Some(of.wall),
            Event::LatencyStarted(of) => Some(of.wall),
            Event::PathStarted(of) => Some(of.wall),
            Event::HopsStarted(of) => Some(of.wall),
            Event::TransferStarted(of) => Some(of.wall),
            Event::Finished(of) => Some(of.wall),
            _ => None,
        };
        PublishedEvent { event, wall_at: wall.map(|time| time.to_string()) }
    }

    /// A line of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        line(&extended(json_value(self.event), [("wall_at", self.wall_at.clone().map(Value::String))]))
    }
}

/// A plan as it is printed.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Plan"))]
pub struct PublishedPlan<T = Plan> {
    #[cfg_attr(feature = "schema", schemars(flatten))]
    plan: T,
    /// The units of those keys whose names do not say them.
    units: Option<BTreeMap<&'static str, &'static str>>,
}

impl PublishedPlan<Value> {
    fn value(self) -> Value {
        extended(self.plan, [("units", self.units.map(|units| json_value(&units)))])
    }
}

/// A plan of any kind, or several: each with the units of its keys, as [`PublishedPlan`].
#[must_use]
pub fn with_units(plan: Value) -> Value {
    match plan {
        Value::Array(plans) => plans.into_iter().map(with_units).collect(),
        plan if plan.is_object() => {
            let units: BTreeMap<_, _> = UNITS.into_iter().filter(|(key, _)| has(&plan, key)).collect();
            PublishedPlan { plan, units: Some(units).filter(|units| !units.is_empty()) }.value()
        }
        plan => plan,
    }
}

/// An object with those of these keys that have a value behind its own.
pub(crate) fn extended(
    document: Value,
    keys: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Value {
    let Value::Object(mut object) = document else { return document };
    object.extend(keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Value::Object(object)
}

/// An object in it has the key.
fn has(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(keys) => keys.contains_key(key) || keys.values().any(|value| has(value, key)),
        Value::Array(values) => values.iter().any(|value| has(value, key)),
        _ => false,
    }
}

/// The keys of plans that hold an amount and do not name its unit.
pub const UNITS: [(&str, &str); 12] = [
    ("bitrate", "bit/s"),
    ("bytes", "B"),
    ("connect_timeout", "ns"),
    ("fq_rate", "bit/s"),
    ("interval", "ns"),
    ("length", "B"),
    ("link", "bit/s"),
    ("mss", "B"),
    ("omit", "ns"),
    ("receive_timeout", "ns"),
    ("time", "ns"),
    ("window", "B"),
];
