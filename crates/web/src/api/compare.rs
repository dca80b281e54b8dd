//! Two sets of runs compared.

use super::request::query;
use super::runs::get;
use super::{App, ask};
use crate::backend::Backend;
use crate::blocks;
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::run::Run;
use report::format::compared::Compared;
use serde::Deserialize;
use serde_json::json;
use store::{Filter, Store, StoreError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sets {
    base: String,
    other: String,
}

pub(super) async fn compare(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let Sets { base, other } = query(&uri)?;
    let value = ask(&app, move |store, backend| {
        let (first, second) = (set(store, backend, &base)?, set(store, backend, &other)?);
        let compared = Compared::of((&base, &first), (&other, &second));
        Ok(json!({ "comparison": compared, "document": blocks::document(&compared) }))
    });
    Ok(json(StatusCode::OK, &value.await?))
}

/// The runs of a label, or those that are named, with commas between them.
fn set(store: &Store, backend: &Backend, name: &str) -> Result<Vec<Run>, Failed> {
    if name.is_empty() {
        return Err(Failed::bad("a set of runs has no name").advised("give a label, or names of runs"));
    }
    let labelled =
        store.list(&Filter { label: Some(name.into()), limit: Some(MOST), ..Filter::default() })?;
    let ids: Vec<&str> = match labelled.is_empty() {
        true => name.split(',').map(str::trim).filter(|id| !id.is_empty()).collect(),
        false => labelled.iter().map(|entry| entry.id.as_str()).collect(),
    };
    let run = |id: &&str| match get(store, backend, id) {
        Err(failed) if failed.status == StatusCode::NOT_FOUND => {
            let unknown = StoreError::NoRun { id: (*id).into() };
            Err(Failed::new(StatusCode::NOT_FOUND, format!("{unknown}, and no run has this label")))
        }
        found => found.map(|(_, run)| run),
    };
    ids.iter().take(MOST as usize).map(run).collect()
}

/// Runs of a set, the latest: more do not change the words.
const MOST: u64 = 1_000;
