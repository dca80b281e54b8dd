//! The changes that `pathmeter watch` and meshes reported.

use super::request::query;
use super::{App, ask};
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use store::Alerted;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    target: Option<String>,
}

/// A change of a path, or of one of its figures.
#[derive(Serialize)]
pub(super) struct AlertRow {
    run: String,
    target: String,
    kind: String,
    /// Empty: the path itself.
    figure: String,
    change: String,
    at: String,
    /// Receivers that did not get it yet.
    waiting: u64,
}

impl From<Alerted> for AlertRow {
    fn from(alerted: Alerted) -> AlertRow {
        let Alerted { run, target, kind, figure, change, at, waiting } = alerted;
        AlertRow { run, target, kind, figure, change, at: at.to_string(), waiting }
    }
}

/// Those of a far end, or of all, the latest first.
pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let target = query::<Wanted>(&uri)?.target.filter(|target| !target.is_empty());
    let found = ask(&app, move |store, _| Ok(store.alerts(target.as_deref(), MOST)?)).await?;
    let rows: Vec<AlertRow> = found.into_iter().map(Into::into).collect();
    Ok(json(StatusCode::OK, &serde_json::json!({ "alerts": rows })))
}

pub(super) const MOST: u64 = 100;
