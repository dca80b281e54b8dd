//! Kept runs: the list, and one of them in every shape.

use super::request::{Json, query, time};
use super::{App, ask};
use crate::backend::Backend;
use crate::blocks;
use crate::failed::{Failed, json};
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use model::finding::Status;
use model::history::{Entry, Kept};
use report::format::{Series, Style, by_name, document as document_of, render};
use serde::Deserialize;
use serde_json::json;
use store::{Content, Filter, Store};

/// Which runs are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    kind: Option<String>,
    target: Option<String>,
    label: Option<String>,
    status: Option<String>,
    since: Option<String>,
    before: Option<String>,
    after: Option<String>,
    limit: Option<u64>,
}

pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    let limit = wanted.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(
            Failed::bad(format!("limit is to be from 1 to {MOST}")).advised("ask for more with `after`")
        );
    }
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let status = given(wanted.status);
    if let Some(word) = status.as_deref().filter(|word| Status::ALL.iter().all(|one| one.word() != *word)) {
        return Err(Failed::bad(format!("no verdict is called `{word}`"))
            .advised("a verdict is ok, degraded, problem or void"));
    }
    let filter = Filter {
        id: None,
        skip: 0,
        since: time("since", wanted.since.as_deref())?,
        before: time("before", wanted.before.as_deref())?,
        kind: given(wanted.kind),
        target: given(wanted.target),
        label: given(wanted.label),
        status,
        after: given(wanted.after),
        // One more than is shown tells whether there are more.
        limit: Some(limit + 1),
    };
    let mut runs = ask(&app, move |store, _| Ok(store.list(&filter)?)).await?;
    let more = runs.len() as u64 > limit;
    runs.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(json(StatusCode::OK, &json!({ "runs": runs, "more": more })))
}

/// A run as the page shows it.
pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    let value = ask(&app, move |store, backend| {
        let (entry, kept) = get(store, backend, &id)?;
        let written = blocks::document(&*document_of(&kept));
        let status = blocks::word(kept.measured().verdict().status);
        Ok(json!({ "entry": entry, "status": status, "document": written }))
    });
    Ok(json(StatusCode::OK, &value.await?))
}

/// Its document, as `--json` writes it.
pub(super) async fn document(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    let (entry, text) = ask(&app, move |store, backend| {
        let (entry, run) = get(store, backend, &id)?;
        Ok((entry, document_of(&run).json()))
    })
    .await?;
    Ok((headers("application/json", &entry, "json"), text).into_response())
}

/// Every point that it measured over time.
pub(super) async fn series(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    let series = ask(&app, move |store, backend| Ok(points(&get(store, backend, &id)?.1)));
    Ok(json(StatusCode::OK, &series.await?))
}

/// One page that holds all it needs.
pub(super) async fn report(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    let (entry, page) = ask(&app, move |store, backend| {
        let (entry, run) = get(store, backend, &id)?;
        let html = by_name("html").ok_or_else(Failed::internal)?;
        Ok((entry, render(&*document_of(&run), html, &Style::default())))
    })
    .await?;
    let policy = [(
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
    )];
    Ok((headers("text/html; charset=utf-8", &entry, "html"), policy, page).into_response())
}

/// One of its charts, from 0: `0.svg`.
pub(super) async fn chart(
    State(app): State<App>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Failed> {
    let number = number.strip_suffix(".svg").and_then(|number| number.parse::<usize>().ok());
    let number = number.ok_or_else(Failed::unknown)?;
    let (entry, svg) = ask(&app, move |store, backend| {
        let (entry, run) = get(store, backend, &id)?;
        let blocks = document_of(&run).blocks();
        let charts = blocks::charts(&blocks);
        let chart = charts.get(number).ok_or_else(|| {
            Failed::new(
                StatusCode::NOT_FOUND,
                format!("this run has {} charts, counted from 0", charts.len()),
            )
        })?;
        Ok((entry, chart.drawing().svg()))
    })
    .await?;
    Ok((headers("image/svg+xml", &entry, "svg"), svg).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Label {
    label: String,
}

pub(super) async fn label(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(Label { label }): Json<Label>,
) -> Result<StatusCode, Failed> {
    if label.chars().count() > LONGEST_LABEL || label.chars().any(char::is_control) {
        return Err(Failed::bad(format!(
            "a label has at most {LONGEST_LABEL} characters, all of them printable"
        )));
    }
    ask(&app, move |store, _| Ok(store.label(&id, label.trim())?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn forget(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Failed> {
    ask(&app, move |store, _| Ok(store.forget(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The points over time of a run; reports of devices and topologies have none.
fn points(kept: &Kept) -> Vec<Series> {
    kept.run().map(report::format::series).unwrap_or_default()
}

/// What is kept of a run, and its row; of one that has not ended what was measured until then.
fn get(store: &Store, backend: &Backend, id: &str) -> Result<(Entry, Kept), Failed> {
    let stored = store.get(id)?;
    let kept = match stored.content {
        Content::Kept(kept) => kept,
        Content::Events(events) => Kept::Run(Box::new((backend.unended)(&stored.entry, &events))),
    };
    Ok((stored.entry, kept))
}

/// What a download is called: names of runs are UUIDs, and of what is not only that part is taken which is harmless.
fn headers(kind: &str, entry: &Entry, ending: &str) -> [(HeaderName, String); 2] {
    let name: String =
        entry.id.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
    [
        (CONTENT_TYPE, kind.into()),
        (CONTENT_DISPOSITION, format!("inline; filename=\"pathmeter-{name}.{ending}\"")),
    ]
}

const USUAL: u64 = 50;
const MOST: u64 = 500;
const LONGEST_LABEL: usize = 100;
