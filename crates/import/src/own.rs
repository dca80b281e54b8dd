//! pathmeter's own documents: `--json`, and the events of `--format ndjson`.

use super::json::Document;
use super::{Imported, Item, Tool, What};
use insight::run_of_events;
use model::event::{Event, Outcome};
use model::history::{Kept, MARK_SCHEMA};
use model::run::{Run, SCHEMA};
use model::{dut, lab};
use serde_json::Value;

/// The item of a document of ours, and how the store that exported it had it.
pub(super) fn item(document: &Document) -> Option<Item> {
    let what = match schema(&document.value)? {
        SCHEMA => What::Run(imported(document.line, run_of(&document.value)?)),
        MARK_SCHEMA => What::Mark(serde_json::from_value(document.value.clone()).ok()?),
        schema => What::Report(Kept::read(schema, document.value.clone()).ok()?),
    };
    let is_cut = document.repaired && !matches!(what, What::Run(_));
    let stored = document.value.get("stored").and_then(|stored| serde_json::from_value(stored.clone()).ok());
    (!is_cut).then_some(Item { line: document.line, what, stored })
}

/// Whether this is a document of one of our schemas.
pub(super) fn is_document(value: &Value) -> bool {
    let schemas = [SCHEMA, MARK_SCHEMA, dut::SCHEMA, lab::SCHEMA];
    value.get("event").is_none() && schema(value).is_some_and(|schema| schemas.contains(&schema))
}

fn schema(value: &Value) -> Option<&str> {
    value.get("schema").and_then(Value::as_str)
}

/// A value that names our schema of runs, and is one.
fn run_of(value: &Value) -> Option<Run> {
    (schema(value) == Some(SCHEMA)).then(|| Run::read(value.clone()).ok()).flatten()
}

/// Whether this is one of our events.
pub(super) fn is_event(value: &Value) -> bool {
    value.get("event").is_some() && value.get("data").is_none()
}

/// Whether a run begins with this event.
pub(super) fn begins_events(value: &Value) -> bool {
    let begins = ["connected", "latency_started", "path_started"];
    is_event(value) && value["event"].as_str().is_some_and(|name| begins.contains(&name))
}

/// Whether a run ends with this event.
pub(super) fn ends_events(value: &Value) -> bool {
    is_event(value) && value["event"] == "run"
}

/// Events in a row, apart by runs: each ends with a document (`run`), or where the next one begins.
pub(super) fn runs_of_events(documents: Vec<Document>) -> Vec<Vec<Document>> {
    let mut runs: Vec<Vec<Document>> = Vec::new();
    let mut is_open = false;
    for document in documents {
        let (begins, ends) = (begins_events(&document.value), ends_events(&document.value));
        match runs.last_mut().filter(|_| is_open && !begins) {
            Some(run) => run.push(document),
            None => runs.push(vec![document]),
        }
        is_open = !ends;
    }
    runs
}

/// The run of events in a row.
pub(super) fn events(documents: &[Document]) -> Option<Box<Imported>> {
    let line = documents.first()?.line;
    let event = |document: &Document| serde_json::from_value::<Event>(document.value.clone()).ok();
    match documents.split_last().filter(|(last, _)| ends_events(&last.value)) {
        Some((last, before)) => {
            let events: Vec<Event> = before.iter().filter_map(event).collect();
            run_of(&last.value).map(|run| imported(line, with_intervals(run, &events)))
        }
        None => of_events(&documents.iter().filter_map(event).collect::<Vec<_>>(), line),
    }
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
fn of_events(events: &[Event], line: usize) -> Option<Box<Imported>> {
    let kind = events.iter().find_map(|event| match event {
        Event::Connected(_) => Some("throughput"),
        Event::LatencyStarted(_) => Some("latency"),
        Event::PathStarted(_) => Some("mtu"),
        _ => None,
    })?;
    let mut run = run_of_events(&format!("events of line {line}"), kind, events);
    run.summary.outcome.get_or_insert(Outcome::Interrupted);
    Some(imported(line, run))
}

fn imported(line: usize, run: Run) -> Box<Imported> {
    let version =
        run.host.as_ref().and_then(|host| host.version.strip_prefix("pathmeter ")).map(str::to_owned);
    Box::new(Imported { tool: Tool::Pathmeter, version, line, run })
}
