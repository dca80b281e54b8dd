//! The latest run of each path for Prometheus.

use super::{App, ask};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use report::format::history::History;
use report::format::{Style, by_name, render};

pub(super) async fn latest(State(app): State<App>) -> Result<Response, Failed> {
    let entries = ask(&app, |store, _| Ok(store.latest(LOOKED_AT)?)).await?;
    let prometheus = by_name("prometheus").ok_or_else(Failed::internal)?;
    let text = render(&History { entries, notes: Vec::new() }, prometheus, &Style::default());
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response())
}

/// Runs that are looked at, the latest: a path without any among them has no samples.
const LOOKED_AT: u64 = 50_000;
