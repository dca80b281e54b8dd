//! Many runs at once: labelled, or taken out of the store. All of them, or none.

use super::request::{Json, check_label};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Labelled {
    ids: Vec<String>,
    label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forgotten {
    ids: Vec<String>,
}

/// Gives them a label; empty: none.
pub(super) async fn label(
    State(app): State<App>,
    Json(Labelled { ids, label }): Json<Labelled>,
) -> Result<Response, Failed> {
    check(&ids)?;
    check_label(&label)?;
    answer(&app, move |store, _| Ok(json!({ "runs": store.label_all(&ids, label.trim())? }))).await
}

/// Takes them out.
pub(super) async fn forget(
    State(app): State<App>,
    Json(Forgotten { ids }): Json<Forgotten>,
) -> Result<Response, Failed> {
    check(&ids)?;
    answer(&app, move |store, _| Ok(json!({ "runs": store.forget_all(&ids)? }))).await
}

/// The size of a body bounds how many there are.
fn check(ids: &[String]) -> Result<(), Failed> {
    if ids.is_empty() { Err(Failed::bad("ids has whole names of runs, and is empty")) } else { Ok(()) }
}
