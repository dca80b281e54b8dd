//! What stands in a JSON document beside what was measured, so that any program can read it: times as text, and the units of
//! keys that do not name them.

use super::{indented_json, json_line};
use model::dut::DutReport;
use model::event::Event;
use model::experiment::Experiment;
use model::history::Entry;
use model::lab::LabReport;
use model::mesh::MeshReport;
use model::plan::Plan;
use model::run::Run;
use model::time::WallTime;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A document as it is written.
///
/// `started` and `finished` are nanoseconds since 1970. Such a number is above 2⁵³, and programs that have floating point
/// alone (JavaScript, jq before 1.7) round it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}")]
pub struct Published<T> {
    #[serde(flatten)]
    document: T,
    /// Begin, as RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    /// End, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<String>,
    /// The units of those keys of plans whose names do not say them.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<BTreeMap<&'static str, &'static str>>,
}

impl<T: Serialize> Published<T> {
    fn new(document: T, started: Option<WallTime>, finished: Option<WallTime>) -> Published<T> {
        let text = |time: WallTime| time.to_string();
        Published { document, started_at: started.map(text), finished_at: finished.map(text), units: None }
    }

    /// As indented JSON with a line feed.
    pub fn indented(&self) -> String {
        indented_json(self)
    }

    /// As a line of JSON.
    pub fn line(&self) -> String {
        json_line(self)
    }
}

impl<'a> Published<&'a Run> {
    /// A run.
    #[must_use]
    pub fn of_run(run: &'a Run) -> Published<&'a Run> {
        Published { units: Some(UNITS.into()), ..Published::new(run, run.started, run.finished) }
    }
}

impl<'a> Published<&'a DutReport> {
    /// The report of devices.
    #[must_use]
    pub fn of_devices(report: &'a DutReport) -> Published<&'a DutReport> {
        Published::new(report, report.started, report.finished)
    }
}

impl<'a> Published<&'a LabReport> {
    /// The report of topologies.
    #[must_use]
    pub fn of_lab(report: &'a LabReport) -> Published<&'a LabReport> {
        Published::new(report, report.started, report.finished)
    }
}

impl<'a> Published<&'a Experiment> {
    /// A plan that was carried out.
    #[must_use]
    pub fn of_experiment(report: &'a Experiment) -> Published<&'a Experiment> {
        Published::new(report, report.started, report.finished)
    }
}

impl<'a> Published<&'a MeshReport> {
    /// A mesh that was measured.
    #[must_use]
    pub fn of_mesh(report: &'a MeshReport) -> Published<&'a MeshReport> {
        Published::new(report, report.started, report.finished)
    }
}

impl<'a> Published<&'a Entry> {
    /// A row of the history.
    #[must_use]
    pub fn of_entry(entry: &'a Entry) -> Published<&'a Entry> {
        Published::new(entry, Some(entry.started), entry.finished)
    }
}

/// An event as it is written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct PublishedEvent<T = Event> {
    #[serde(flatten)]
    event: T,
    /// `wall` as RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
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
}

/// A plan as it is printed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Plan")]
pub struct PublishedPlan<T = Plan> {
    #[serde(flatten)]
    plan: T,
    /// The units of those keys whose names do not say them.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<BTreeMap<&'static str, &'static str>>,
}

/// A plan of any kind, or several: each with the units of its keys.
///
/// # Panics
/// Never: what is an object of JSON is one with a key more, too.
#[must_use]
pub fn with_units(plan: Value) -> Value {
    match plan {
        Value::Array(plans) => plans.into_iter().map(with_units).collect(),
        plan if plan.is_object() => {
            let units: BTreeMap<_, _> = UNITS.into_iter().filter(|(key, _)| has(&plan, key)).collect();
            let published = PublishedPlan { plan, units: Some(units).filter(|units| !units.is_empty()) };
            serde_json::to_value(published).expect("a plan is an object with string keys")
        }
        plan => plan,
    }
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
