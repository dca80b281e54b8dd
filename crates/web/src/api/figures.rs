//! Figures of kept runs as flat rows, for dashboards that read JSON, such as Grafana with its Infinity data source.

use super::request::{query, time};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use model::history::{Entry, Headline};
use serde::Deserialize;
use serde_json::{Value, json};
use store::{Filter, ListOrder};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    target: Option<String>,
    kind: Option<String>,
    label: Option<String>,
    /// The name of a figure; absent: every figure.
    figure: Option<String>,
    since: Option<String>,
    before: Option<String>,
}

/// The rows of all runs with a verdict that can be used, the earliest first.
pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let filter = Filter {
        target: given(wanted.target),
        kind: given(wanted.kind),
        label: given(wanted.label),
        since: time("since", wanted.since.as_deref())?,
        before: time("before", wanted.before.as_deref())?,
        limit: Some(MOST),
        ..Filter::default()
    };
    let figure = given(wanted.figure);
    let figures = answer(&app, move |store, _| {
        // Where there are too many runs, the latest are wanted; dashboards draw from left to right.
        let entries = store.list(&Filter { order: ListOrder::Latest, ..filter })?;
        let usable = entries.into_iter().rev().filter(is_usable);
        let is_wanted = |one: &Headline| figure.as_ref().is_none_or(|name| *name == one.name);
        let rows: Vec<Value> = usable.flat_map(|entry| rows(entry, is_wanted)).collect();
        Ok(json!({ "figures": rows }))
    });
    figures.await
}

/// A void run has figures that are not to be used.
fn is_usable(entry: &Entry) -> bool {
    entry.status.as_deref().is_some_and(|status| status != "void")
}

/// The figures of a run, as flat rows.
fn rows(entry: Entry, is_wanted: impl Fn(&Headline) -> bool) -> Vec<Value> {
    let row = |figure: &Headline| {
        json!({
            "time": entry.started.to_string(),
            "run": entry.id,
            "target": entry.target,
            "kind": entry.kind,
            "label": entry.label,
            "figure": figure.name,
            "value": figure.value,
            "text": figure.text,
        })
    };
    entry.figures.iter().filter(|figure| is_wanted(figure)).map(row).collect()
}

/// Runs of an answer, the latest.
const MOST: u64 = 10_000;
