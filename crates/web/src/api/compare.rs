//! Two sets of runs compared.

use super::request::query;
use super::{App, ask};
use crate::blocks;
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::history::Sample;
use model::stats::compare::Rules;
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
    let value = ask(&app, move |store, _| {
        let (first, second) = (set(store, &base)?, set(store, &other)?);
        // Which direction is better depends on the figure.
        let compared = Compared::of_samples((&base, &first), (&other, &second), Rules::new(true));
        Ok(json!({ "comparison": compared, "document": blocks::document(&compared) }))
    });
    Ok(json(StatusCode::OK, &value.await?))
}

/// The runs of a label, or those that are named, with commas between them.
fn set(store: &Store, name: &str) -> Result<Vec<Sample>, Failed> {
    if name.is_empty() {
        return Err(Failed::bad("a set of runs has no name").advised("give a label, or names of runs"));
    }
    let labelled =
        store.samples(&Filter { label: Some(name.into()), limit: Some(MOST), ..Filter::default() })?;
    if !labelled.is_empty() {
        return Ok(labelled);
    }
    let mut runs = Vec::new();
    for id in name.split(',').map(str::trim).filter(|id| !id.is_empty()).take(MOST as usize) {
        let id = match store.full_id(id) {
            Err(unknown @ StoreError::NoRun { .. }) => {
                return Err(Failed::new(
                    StatusCode::NOT_FOUND,
                    format!("{unknown}, and no run has this label"),
                ));
            }
            found => found?,
        };
        runs.extend(store.samples(&Filter { id: Some(id), ..Filter::default() })?);
    }
    Ok(runs)
}

/// Runs of a set, the latest: more do not change the words.
const MOST: u64 = 1_000;
