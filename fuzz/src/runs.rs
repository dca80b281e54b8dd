//! Invariants of every run, whatever it was made of; read and written in one place, so that targets build quickly.

use model::run::Run;
use model::stats::distribution::Distribution;
use report::document::Document;
use report::format::{FORMATS, RunDocument, Style, render};
use serde_json::Value;

/// The run of a JSON document.
#[must_use]
pub fn read(json: &[u8]) -> Option<Run> {
    serde_json::from_slice(json).ok()
}

/// The JSON document of a run.
#[must_use]
pub fn json(run: &Run) -> String {
    RunDocument::from_run(run).json()
}

/// Holds a run from anywhere: every format takes it, its document reads as the same run (in which nothing is NaN or infinite,
/// since JSON has neither), and its findings have texts.
pub fn hold(run: &Run) {
    let written = json(run);
    let again = read(written.as_bytes()).expect("our own document is read");
    assert_eq!(json(&again), written, "a run changed when it went through JSON");
    let named = is_no_figure(&written);
    for format in FORMATS {
        let text = render(&RunDocument::from_run(run), format, &Style::default());
        assert!(text.ends_with('\n'), "{} does not end with a line feed", format.name);
        assert!(named || !is_no_figure(&text), "{} prints a figure that is none:\n{text}", format.name);
    }
    let findings = insight::finding::findings_of_run(run);
    assert!(findings.iter().all(|finding| !finding.title.is_empty()), "a finding without a title");
    assert!(!insight::finding::verdict(run).text.is_empty(), "a verdict without words");
}

/// Holds a run that this program itself has made: its findings and verdict follow from its very figures, and these are
/// possible.
pub fn hold_own(run: &Run) {
    hold(run);
    assert_eq!(run.findings, insight::finding::findings_of_run(run), "findings of other figures");
    assert_eq!(run.verdict, insight::finding::verdict(run), "a verdict of other figures");
    let summary = serde_json::to_value(&run.summary).expect("it is JSON");
    possible(&summary, "summary");
}

/// NaN or an infinite figure, as a word of its own. In a document only names have such words.
fn is_no_figure(text: &str) -> bool {
    let mut tokens = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.'));
    tokens.any(|word| matches!(word.trim_start_matches('-'), "NaN" | "inf"))
}

/// Figures that can be true: percentiles rise, and nothing is below zero that is no difference.
fn possible(value: &Value, path: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| possible(item, path)),
        Value::Object(fields) => {
            if fields.contains_key("p9999") {
                let found = serde_json::from_value(value.clone()).expect("it is a distribution");
                assert!(rises(&found), "{path}: percentiles fall: {found:?}");
            }
            fields.iter().for_each(|(key, value)| possible(value, &format!("{path}.{key}")));
        }
        Value::Number(number) if number.as_f64().is_some_and(|number| number < 0.0) => {
            assert!(DIFFERENCES.iter().any(|part| path.contains(part)), "{path} is {number}");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn rises(found: &Distribution) -> bool {
    let figures =
        [found.min, found.p50, found.p90, found.p99, found.p999, found.p9999, found.max].map(|time| time.0);
    // A mean may have been printed more roughly than the extremes.
    let rough = found.min.0 - found.min.0 / 50..=found.max.0.saturating_add(found.max.0 / 50);
    found.count == 0 || (figures.is_sorted() && rough.contains(&found.mean.0))
}

/// Parts of the names of figures that have a sign.
const DIFFERENCES: [&str; 4] = ["offset", "one_way", "difference", "lag1"];
