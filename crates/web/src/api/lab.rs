//! The topologies of the lab.

use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;

pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    answer(&app, |_, backend| Ok(json!({ "topologies": (backend.topologies)() }))).await
}
