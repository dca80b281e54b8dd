//! The runs of a filter as a file: rows for a spreadsheet, or documents that another store takes.

use super::request::query;
use super::runs::{Wanted, get, named_format};
use super::{App, ask};
use crate::backend::Backend;
use crate::failed::Failed;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use report::format::history::History;
use report::format::{Style, by_name, render};
use std::convert::Infallible;
use store::{Exported, Filter, Store};
use tokio::sync::mpsc;

/// Writes them. `ndjson` has a document for each run, which `pathmeter import --save` takes with its label, name and time.
pub(super) async fn export(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let mut wanted: Wanted = query(&uri)?;
    let (name, kind, ending) = named_format(&wanted.format.take().unwrap_or_else(|| "csv".into()))?;
    let limit = wanted.limit.unwrap_or(MOST).min(MOST);
    let filter = Filter { limit: Some(limit), ..wanted.filter()? };
    let body = if name == "ndjson" {
        documents(&app, filter).await?
    } else {
        let entries = ask(&app, move |store, _| Ok(store.list(&filter)?)).await?;
        let format = by_name(name).ok_or_else(Failed::internal)?;
        Body::from(render(&History { entries, notes: Vec::new() }, format, &Style::default()))
    };
    let named = format!("attachment; filename=\"pathmeter-runs.{ending}\"");
    Ok(([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, named)], body).into_response())
}

/// A line for each run, read while it is sent: a store has more of them than memory.
async fn documents(app: &App, filter: Filter) -> Result<Body, Failed> {
    let ids = ask(app, move |store, _| Ok(store.ids(&filter)?)).await?;
    let (send, receive) = mpsc::channel::<Bytes>(AHEAD);
    let backend = app.backend.clone();
    tokio::task::spawn_blocking(move || {
        let Ok(store) = (backend.open)() else { return };
        for ids in ids.chunks(AT_ONCE) {
            let Ok(runs) = store.exported(ids) else { return };
            // One that is damaged does not keep the others back.
            let lines: String = runs.into_iter().filter_map(|run| line(&store, &backend, run).ok()).collect();
            if send.blocking_send(lines.into()).is_err() {
                return;
            }
        }
    });
    let lines = unfold(receive, |mut receive| async {
        let lines = receive.recv().await?;
        Some((Ok::<_, Infallible>(lines), receive))
    });
    Ok(Body::from_stream(lines))
}

/// The document of a run with its row, as `pathmeter export` writes it.
fn line(store: &Store, backend: &Backend, Exported { stored, document }: Exported) -> Result<String, Failed> {
    let mut document = match document {
        Some(document) => document?,
        None => {
            let (_, kept) = get(store, backend, &stored.id)?;
            kept.measured().value().map_err(|_| Failed::internal())?
        }
    };
    if let Some(fields) = document.as_object_mut() {
        let row = serde_json::to_value(stored).map_err(|_| Failed::internal())?;
        fields.insert("stored".into(), row);
    }
    Ok(format!("{document}\n"))
}

/// Runs of an export.
const MOST: u64 = 100_000;
/// Runs that are read by one query, and sent at once.
const AT_ONCE: usize = 50;
/// Parts that wait for the client.
const AHEAD: usize = 4;
