//! The changes that `pathmeter watch` and meshes reported.

use super::request::query;
use super::{App, ask};
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    target: Option<String>,
}

/// Those of a far end, or of all, the latest first.
pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let target = query::<Wanted>(&uri)?.target.filter(|target| !target.is_empty());
    let found = ask(&app, move |store, _| Ok(store.alerts(target.as_deref(), MOST)?)).await?;
    Ok(json(StatusCode::OK, &serde_json::json!({ "alerts": found })))
}

pub(super) const MOST: u64 = 100;
