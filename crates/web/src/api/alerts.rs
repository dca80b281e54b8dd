//! The changes that `pathmeter watch` and meshes reported.

use super::request::target;
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use serde_json::json;

/// Those of a far end, or of all, the latest first.
pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let target = target(&uri)?;
    answer(&app, move |store, _| Ok(json!({ "alerts": store.alerts(target.as_deref(), MOST)? }))).await
}

pub(super) const MOST: u64 = 100;
