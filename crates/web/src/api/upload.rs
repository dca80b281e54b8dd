//! Outputs of other tools, sent by a browser and put into the store.

use super::App;
use super::request::{check_label, is_printable, query, read};
use crate::backend::Upload;
use crate::failed::{Failed, json};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct About {
    name: String,
    label: String,
}

/// Keeps what is in it.
pub(super) async fn upload(State(app): State<App>, request: Request<Body>) -> Result<Response, Failed> {
    let About { name, label } = query(request.uri())?;
    check_label(&label)?;
    if name.chars().count() > LONGEST_NAME || !is_printable(&name) {
        return Err(Failed::bad(format!(
            "the name of a file has at most {LONGEST_NAME} characters, all of them printable"
        )));
    }
    let bytes = read(request.into_body(), LARGEST, app.limits.body * SLOWER).await?;
    let name = if name.is_empty() { "upload".into() } else { name };
    let backend = app.backend.clone();
    let label = label.trim().to_owned();
    let kept = tokio::task::spawn_blocking(move || (backend.import)(Upload { name, bytes, label })).await;
    Ok(json(StatusCode::OK, &kept.map_err(|_| Failed::internal())??))
}

const LONGEST_NAME: usize = 255;
/// A file of a day's outputs.
const LARGEST: usize = 16 * 1024 * 1024;
/// A file may take so much longer than a form.
const SLOWER: u32 = 12;
