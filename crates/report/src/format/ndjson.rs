//! Newline-delimited JSON: one object per line, each with an `event`; the last of a run is `run`.

use super::Style;
use model::event::Event;
use model::run::Run;
use model::sample::IntervalSample;
use serde::Serialize;

/// One event as one line, as it happens.
pub fn line(event: &Event) -> String {
    to_line(event)
}

/// The last line of a run: the document without its intervals, which went before.
pub fn last_line(run: &Run) -> String {
    let mut run = run.clone();
    run.intervals.clear();
    run.tests.iter_mut().for_each(|test| test.intervals.clear());
    to_line(&Tagged { event: "run", test: None, body: &run })
}

/// A stored run: its intervals, those of its tests with the number of the `test`, and the last line.
pub fn document(run: &Run, _style: &Style) -> String {
    let own = run.intervals.iter().map(|sample| sample_line(None, sample));
    let of_tests =
        run.tests.iter().enumerate().flat_map(|(test, part)| {
            part.intervals.iter().map(move |sample| sample_line(Some(test), sample))
        });
    own.chain(of_tests).chain([last_line(run)]).collect()
}

fn sample_line(test: Option<usize>, sample: &IntervalSample) -> String {
    to_line(&Tagged { event: "sample", test, body: sample })
}

#[derive(Serialize)]
struct Tagged<'a, T> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<usize>,
    #[serde(flatten)]
    body: &'a T,
}

fn to_line(value: &impl Serialize) -> String {
    let mut text =
        serde_json::to_string(value).expect("events and runs have string keys and plain values only");
    text.push('\n');
    text
}
