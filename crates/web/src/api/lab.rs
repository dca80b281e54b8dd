//! The topologies of the lab.

use super::{App, ask};
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    let topologies = ask(&app, |_, backend| Ok((backend.topologies)())).await?;
    Ok(json(StatusCode::OK, &serde_json::json!({ "topologies": topologies })))
}
