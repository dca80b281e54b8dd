//! Newline-delimited JSON: one object per line, each with an `event`; the last of a run is `run`, or `error` where there is none.

use super::Style;
use crate::document::{Document, ErrorBody, Published, PublishedEvent, json_line, json_value};
use model::event::Event;
use model::run::Run;
use serde::Serialize;
use serde_json::{Map, Value};

/// One event as one line, as it happens.
pub fn line(event: &Event) -> String {
    PublishedEvent::from_event(event).line()
}

/// One document after the other.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    documents.iter().map(|document| document.ndjson()).collect()
}

/// The last line of a run: the document without its intervals, which went before. `error`: what ended it early.
pub fn last_line(run: &Run, error: Option<&ErrorBody>) -> String {
    let mut run = run.clone();
    without_intervals(&mut run);
    run.tests.iter_mut().for_each(without_intervals);
    tagged("run", None, &Published::of_run(&run).with_error(error.cloned()).value())
}

fn without_intervals(run: &mut Run) {
    run.intervals.clear();
    run.latency_intervals.clear();
}

/// A stored run: its intervals, those of its tests with the number of the `test`, and the last line.
pub(super) fn stored(run: &Run, error: Option<&ErrorBody>) -> String {
    let of_tests = run.tests.iter().enumerate().flat_map(|(test, part)| samples(Some(test), part));
    samples(None, run).chain(of_tests).chain([last_line(run, error)]).collect()
}

/// The intervals of one test, under the names that their events have.
fn samples(test: Option<usize>, run: &Run) -> impl Iterator<Item = String> {
    let streams = run.intervals.iter().map(move |body| tagged("sample", test, body));
    let egress_paths = run.latency_intervals.iter();
    streams.chain(egress_paths.map(move |body| tagged("latency_sample", test, body)))
}

/// A line with the name of an event, the number of the test that it belongs to, and the keys of its body.
pub(super) fn tagged(event: &'static str, test: Option<usize>, body: &impl Serialize) -> String {
    let Value::Object(body) = json_value(body) else { return String::new() };
    let mut keys = Map::from_iter([("event".to_owned(), event.into())]);
    keys.extend(test.map(|test| ("test".to_owned(), test.into())));
    keys.extend(body);
    json_line(&keys)
}
