//! Two sets of runs compared.

use super::request::query;
use super::{App, answer};
use crate::blocks;
use crate::failed::Failed;
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
    let compared = answer(&app, move |store, _| {
        let (first, second) = (set(store, &base)?, set(store, &other)?);
        let (base, other) = called(&first, &second);
        // Which direction is better depends on the figure.
        let compared = Compared::of_samples((&base, &first.runs), (&other, &second.runs), Rules::new(true));
        Ok(json!({ "comparison": compared, "document": blocks::document(&compared) }))
    });
    compared.await
}

/// Runs that are compared with others.
struct Set {
    /// The label by which they were selected; absent: they were selected by their names.
    label: Option<String>,
    runs: Vec<Sample>,
}

/// Names for two sets, to be read: a label, or the command and the time of the runs.
fn called(base: &Set, other: &Set) -> (String, String) {
    let name = |set: &Set, digits: usize| match (&set.label, set.runs.as_slice()) {
        (Some(label), _) => label.clone(),
        (None, []) => "no run".into(),
        (None, [run]) => format!("{} of {}", run.kind, time(run, digits)),
        (None, runs) => {
            // The latest stands first.
            let (first, last) =
                (runs.iter().min_by_key(|run| run.started), runs.iter().max_by_key(|run| run.started));
            let span = [first, last].map(|run| run.map(|run| time(run, digits)).unwrap_or_default());
            format!("{} runs of {} to {}", runs.len(), span[0], span[1])
        }
    };
    // To the minute, and as much more as makes them differ.
    for digits in [MINUTE, MINUTE + 3, MINUTE + 7] {
        let (one, two) = (name(base, digits), name(other, digits));
        if one != two {
            return (one, two);
        }
    }
    (format!("{} (base)", name(base, MINUTE)), name(other, MINUTE))
}

/// `2026-11-26 04:56`, UTC.
fn time(run: &Sample, digits: usize) -> String {
    format!(
        "{} UTC",
        run.started.to_string().replace('T', " ").trim_end_matches('Z').get(..digits).unwrap_or_default()
    )
}

/// The runs of a label, or those that are named, with commas between them.
fn set(store: &Store, name: &str) -> Result<Set, Failed> {
    if name.is_empty() {
        return Err(Failed::bad("a set of runs has no name").advised("give a label, or names of runs"));
    }
    let labelled =
        store.samples(&Filter { label: Some(name.into()), limit: Some(MOST), ..Filter::default() })?;
    if !labelled.is_empty() {
        return Ok(Set { label: Some(name.into()), runs: labelled });
    }
    let mut runs = Vec::new();
    for id in name.split(',').map(str::trim).filter(|id| !id.is_empty()).take(MOST as usize) {
        let id = match store.full_id(id) {
            Err(unknown @ StoreError::NoRun(_)) => {
                return Err(Failed::new(
                    StatusCode::NOT_FOUND,
                    format!("{unknown}, and no run has this label"),
                ));
            }
            found => found?,
        };
        runs.extend(store.samples(&Filter { id: Some(id), ..Filter::default() })?);
    }
    Ok(Set { label: None, runs })
}

/// Runs of a set, the latest: more do not change the words.
const MOST: u64 = 1_000;
/// Letters of a time up to its minute.
const MINUTE: usize = 16;
