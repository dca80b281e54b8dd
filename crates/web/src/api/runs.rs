//! Kept runs: the list, and one of them in every shape.

use super::request::{Json, check_label, query, time};
use super::{App, answer, ask};
use crate::again::again;
use crate::backend::Backend;
use crate::blocks;
use crate::failed::{Failed, json};
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use model::finding::Status;
use model::history::{Entry, Kept};
use report::document::Chart;
use report::format::{Series, Style, by_name, document as document_of, render};
use serde::Deserialize;
use serde_json::json;
use store::{Content, Filter, ListOrder, Store};

/// Which runs are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Wanted {
    kind: Option<String>,
    target: Option<String>,
    label: Option<String>,
    /// Several labels, parted by commas.
    labels: Option<String>,
    find: Option<String>,
    status: Option<String>,
    since: Option<String>,
    before: Option<String>,
    order: Option<String>,
    after: Option<String>,
    pub(super) limit: Option<u64>,
    /// Format of an export.
    pub(super) format: Option<String>,
}

impl Wanted {
    /// The filter of the store, whatever the limit.
    pub(super) fn filter(self) -> Result<Filter, Failed> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let status = given(self.status);
        let unended = status.as_deref() == Some(UNENDED);
        let is_known = |word: &str| unended || Status::ALL.iter().any(|one| one.word() == word);
        if let Some(word) = status.as_deref().filter(|word| !is_known(word)) {
            return Err(Failed::bad(format!("no verdict is called `{word}`")).advised(format!(
                "a verdict is ok, degraded, broken, problem or void; {UNENDED}: it has none yet"
            )));
        }
        if self.after.as_ref().is_some_and(|after| after.chars().count() > LONGEST_NAME) {
            return Err(Failed::bad(format!(
                "after is the name of a run, of at most {LONGEST_NAME} characters"
            )));
        }
        let sorting = match given(self.order) {
            None => ListOrder::Latest,
            Some(word) => {
                let found = ORDERS.iter().find(|(name, _)| *name == word).map(|(_, sorting)| *sorting);
                found.ok_or_else(|| {
                    let names = ORDERS.map(|(name, _)| name).join(", ");
                    Failed::bad(format!("no order is called `{word}`"))
                        .advised(format!("an order is one of {names}"))
                })?
            }
        };
        Ok(Filter {
            since: time("since", self.since.as_deref())?,
            before: time("before", self.before.as_deref())?,
            kind: given(self.kind),
            target: given(self.target),
            label: given(self.label),
            labels: listed(self.labels.as_deref().unwrap_or_default()),
            find: given(self.find),
            status: status.filter(|_| !unended),
            unended,
            order: sorting,
            after: given(self.after),
            ..Filter::default()
        })
    }
}

/// The parts of a list with commas.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Into::into).collect()
}

pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    if wanted.format.is_some() {
        return Err(Failed::bad("a list has no format").advised("/api/export writes lists in formats"));
    }
    let limit = wanted.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(
            Failed::bad(format!("limit is to be from 1 to {MOST}")).advised("ask for more with `after`")
        );
    }
    // With one more than is shown it is known whether there are more.
    let filter = Filter { limit: Some(limit + 1), ..wanted.filter()? };
    let (mut runs, count) = ask(&app, move |store, _| {
        let whole = Filter { after: None, ..filter.clone() };
        let runs = store.list(&filter)?;
        check_place(store, filter.after.as_ref().filter(|_| runs.is_empty()))?;
        Ok((runs, store.count(&whole)?))
    })
    .await?;
    let more = runs.len() as u64 > limit;
    runs.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(json(StatusCode::OK, &json!({ "runs": runs, "more": more, "count": count })))
}

/// A list without an end must not look like one that has ended: behind a run that was taken out there is no place.
fn check_place(store: &Store, after: Option<&String>) -> Result<(), Failed> {
    let Some(after) = after else { return Ok(()) };
    match store.count(&Filter { id: Some(after.clone()), ..Filter::default() })? {
        0 => Err(Failed::new(StatusCode::NOT_FOUND, format!("`after` names no kept run: {after}"))
            .advised("read the list again from its begin: the run was taken out meanwhile")),
        _ => Ok(()),
    }
}

/// A run as the page shows it.
pub(super) async fn show(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    let run = answer(&app, move |store, backend| {
        let (entry, kept) = get(store, backend, &id)?;
        Ok(json!({
            "entry": entry,
            "status": blocks::word(kept.measured().verdict().status),
            "document": blocks::document(&*document_of(&kept)),
            "again": kept.run().and_then(|run| again(run, &entry)),
            // One reading of the document serves both.
            "series": points(&kept),
        }))
    });
    run.await
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    format: Option<String>,
}

/// Its document, as `--json` writes it, or as another format does.
pub(super) async fn document(
    State(app): State<App>,
    Path(id): Path<String>,
    uri: Uri,
) -> Result<Response, Failed> {
    let format = query::<Written>(&uri)?.format.unwrap_or_else(|| "json".into());
    let (name, kind, ending) = named_format(&format)?;
    let (entry, text) = ask(&app, move |store, backend| {
        let (entry, run) = get(store, backend, &id)?;
        let document = document_of(&run);
        let format = by_name(name).ok_or_else(Failed::internal)?;
        Ok((
            entry,
            if name == "json" { document.json() } else { render(&*document, format, &Style::default()) },
        ))
    })
    .await?;
    Ok((headers(kind, &entry, ending), text).into_response())
}

/// A format that answers may have: its name, its media type, how its files end.
pub(super) fn named_format(name: &str) -> Result<(&'static str, &'static str, &'static str), Failed> {
    WRITTEN.iter().copied().find(|(own, ..)| *own == name).ok_or_else(|| {
        let names = WRITTEN.map(|(name, ..)| name).join(", ");
        Failed::bad(format!("no format is called `{name}`")).advised(format!("a format is one of {names}"))
    })
}

/// Every point that it measured over time.
pub(super) async fn series(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Failed> {
    answer(&app, move |store, backend| Ok(points(&get(store, backend, &id)?.1))).await
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

/// One of its charts, from 0: `0.svg` or `0.png`.
pub(super) async fn chart(
    State(app): State<App>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Failed> {
    let (number, ending) = number.split_once('.').ok_or_else(Failed::unknown)?;
    let number = number.parse::<usize>().map_err(|_| Failed::unknown())?;
    let (kind, ending) = match ending {
        "svg" => ("image/svg+xml", "svg"),
        "png" if cfg!(feature = "png") => ("image/png", "png"),
        _ => return Err(Failed::unknown()),
    };
    let (entry, drawn) = ask(&app, move |store, backend| {
        let (entry, run) = get(store, backend, &id)?;
        let blocks = document_of(&run).blocks();
        let charts = blocks::charts(&blocks);
        let chart = charts.get(number).ok_or_else(|| no_chart(charts.len()))?;
        Ok((entry, if ending == "png" { png_of(chart)? } else { chart.drawing().svg().into_bytes() }))
    })
    .await?;
    Ok((headers(kind, &entry, ending), drawn).into_response())
}

/// There are fewer charts.
pub(super) fn no_chart(count: usize) -> Failed {
    Failed::new(StatusCode::NOT_FOUND, format!("this run has {count} charts, counted from 0"))
}

#[cfg(feature = "png")]
fn png_of(chart: &Chart) -> Result<Vec<u8>, Failed> {
    report::plot::png(&chart.drawing(), PNG_SCALE).map_err(|_| Failed::internal())
}

#[cfg(not(feature = "png"))]
fn png_of(_: &Chart) -> Result<Vec<u8>, Failed> {
    Err(Failed::unknown())
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
    check_label(&label)?;
    ask(&app, move |store, _| Ok(store.label(&id, label.trim())?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Note {
    note: String,
}

/// Gives a run a note of the user's; an empty one takes it away.
pub(super) async fn note(
    State(app): State<App>,
    Path(id): Path<String>,
    Json(Note { note }): Json<Note>,
) -> Result<StatusCode, Failed> {
    ask(&app, move |store, _| Ok(store.set_note(&id, note.trim())?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn forget(State(app): State<App>, Path(id): Path<String>) -> Result<StatusCode, Failed> {
    ask(&app, move |store, _| Ok(store.forget(&id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The points over time of a run; reports of devices and topologies have none.
pub(super) fn points(kept: &Kept) -> Vec<Series> {
    kept.run().map(report::format::series).unwrap_or_default()
}

/// Returns the kept document of a run, and its row; of one that has not ended, the results until then.
pub(super) fn get(store: &Store, backend: &Backend, id: &str) -> Result<(Entry, Kept), Failed> {
    let stored = store.get(id)?;
    let kept = match stored.content {
        Content::Kept(kept) => kept,
        Content::Events(events) => Kept::Run(Box::new((backend.unended)(&stored.entry, &events))),
    };
    Ok((stored.entry, kept))
}

/// Names a download: the names of runs are UUIDs, and only the harmless characters of any other name are used.
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
/// Pixels for each unit of a drawing: sharp on the screens of today.
#[cfg(feature = "png")]
const PNG_SCALE: f32 = 2.0;
/// Characters of a run's name.
const LONGEST_NAME: usize = 200;
/// The word for the verdict of a run that has none yet.
const UNENDED: &str = "unended";
const ORDERS: [(&str, ListOrder); 5] = [
    ("latest", ListOrder::Latest),
    ("earliest", ListOrder::Earliest),
    ("target", ListOrder::Target),
    ("label", ListOrder::Label),
    ("verdict", ListOrder::Verdict),
];
const WRITTEN: [(&str, &str, &str); 4] = [
    ("json", "application/json", "json"),
    ("ndjson", "application/x-ndjson", "ndjson"),
    ("csv", "text/csv; charset=utf-8", "csv"),
    ("markdown", "text/markdown; charset=utf-8", "md"),
];
