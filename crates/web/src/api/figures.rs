//! Figures of kept runs as flat rows, for dashboards that read JSON, such as Grafana with its Infinity data source.

use super::request::{query, time};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use model::history::{Entry, Headline};
use serde::{Deserialize, Serialize};
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

/// A figure of a run.
#[derive(Serialize)]
struct FigureRow {
    /// Begin of the run, RFC 3339.
    time: String,
    run: String,
    target: String,
    kind: String,
    label: String,
    figure: String,
    value: f64,
    /// The value with its unit.
    text: String,
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
        let rows: Vec<FigureRow> = usable.flat_map(|entry| rows(entry, is_wanted)).collect();
        Ok(serde_json::json!({ "figures": rows }))
    });
    figures.await
}

/// A void run has figures that are not to be used.
fn is_usable(entry: &Entry) -> bool {
    entry.status.as_deref().is_some_and(|status| status != "void")
}

fn rows(entry: Entry, is_wanted: impl Fn(&Headline) -> bool) -> Vec<FigureRow> {
    let time = entry.started.to_string();
    let row = |Headline { name, value, text }: Headline| FigureRow {
        time: time.clone(),
        run: entry.id.clone(),
        target: entry.target.clone(),
        kind: entry.kind.clone(),
        label: entry.label.clone(),
        figure: name,
        value,
        text,
    };
    entry.figures.into_iter().filter(is_wanted).map(row).collect()
}

/// Runs of an answer, the latest.
const MOST: u64 = 10_000;
