//! pathmeter's own documents: `--json`, and the events of `--format ndjson`.

use super::json::Document;
use super::{Imported, Tool};
use insight::run_of_events;
use model::event::{Event, Outcome};
use model::history::Kept;
use model::run::{Run, SCHEMA};
use model::{dut, lab};
use serde_json::Value;

/// The run of a document of our schema.
pub(super) fn document(document: &Document) -> Option<Imported> {
    let run = run_of(&document.value)?;
    Some(imported(document.line, run))
}

/// Whether this says of itself that it is a document of our schema.
pub(super) fn is_document(value: &Value) -> bool {
    value.get("event").is_none() && value.get("schema").and_then(Value::as_str) == Some(SCHEMA)
}

/// The report of a document of another schema of ours.
pub(super) fn report(document: Document) -> Option<Kept> {
    let schema = document.value.get("schema")?.as_str()?.to_owned();
    let is_report = [dut::SCHEMA, lab::SCHEMA].contains(&schema.as_str());
    let whole = is_report && !document.mended;
    whole.then(|| Kept::read(&schema, document.value).ok()).flatten()
}

/// What says of itself that it is a run of our schema, and is.
fn run_of(value: &Value) -> Option<Run> {
    let named = value.get("schema").and_then(Value::as_str) == Some(SCHEMA);
    named.then(|| serde_json::from_value(value.clone()).ok()).flatten()
}

/// Whether this is one of our events.
pub(super) fn is_event(value: &Value) -> bool {
    value.get("event").is_some() && value.get("data").is_none()
}

/// The runs of events in a row: each ends with a document (`run`), or where the next one begins.
pub(super) fn events(documents: &[&Document]) -> Vec<Imported> {
    let mut runs = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    let mut line = None;
    for document in documents {
        let name = document.value.get("event").and_then(Value::as_str);
        if matches!(name, Some("connected" | "latency_started" | "path_started")) && !events.is_empty() {
            runs.extend(of_events(&mut events, line.take().unwrap_or(document.line)));
        }
        line.get_or_insert(document.line);
        if name == Some("run") {
            let begun = line.take().unwrap_or(document.line);
            let whole = run_of(&document.value);
            runs.extend(whole.map(|run| imported(begun, with_intervals(run, &events))));
            events.clear();
        } else {
            events.extend(serde_json::from_value::<Event>(document.value.clone()).ok());
        }
    }
    runs.extend(of_events(&mut events, line.unwrap_or_default()));
    runs
}

/// The last line leaves out the intervals that went before.
fn with_intervals(mut run: Run, events: &[Event]) -> Run {
    for event in events {
        match event {
            Event::Sample(sample) if run.tests.is_empty() => run.intervals.push(sample.clone()),
            Event::LatencySample(sample) if run.tests.is_empty() => {
                run.latency_intervals.push(sample.clone())
            }
            _ => {}
        }
    }
    run
}

/// A run whose last line is missing.
fn of_events(events: &mut Vec<Event>, line: usize) -> Option<Imported> {
    let taken = std::mem::take(events);
    let kind = taken.iter().find_map(|event| match event {
        Event::Connected(_) => Some("throughput"),
        Event::LatencyStarted(_) => Some("latency"),
        Event::PathStarted(_) => Some("mtu"),
        _ => None,
    })?;
    let mut run = run_of_events(&format!("events of line {line}"), kind, &taken);
    run.summary.outcome.get_or_insert(Outcome::Interrupted);
    Some(imported(line, run))
}

fn imported(line: usize, run: Run) -> Imported {
    let version =
        run.host.as_ref().and_then(|host| host.version.strip_prefix("pathmeter ")).map(str::to_owned);
    Imported { tool: Tool::Pathmeter, version, line, run }
}
