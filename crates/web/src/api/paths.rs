//! Paths: the runs to each far end, how the latest went, and the course of their figures.

use super::{App, ask};
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::history::Entry;
use serde::Serialize;
use store::Filter;

/// The runs to a far end.
#[derive(Serialize)]
struct PathRow<'a> {
    target: &'a str,
    /// Runs among those looked at.
    runs: usize,
    latest: &'a Entry,
    /// How each run went, the oldest first.
    verdicts: Vec<Verdict<'a>>,
    figures: Vec<Course<'a>>,
}

#[derive(Serialize)]
struct Verdict<'a> {
    id: &'a str,
    started: String,
    status: Option<&'a str>,
}

/// The values of a figure, the oldest first.
#[derive(Serialize)]
struct Course<'a> {
    name: &'a str,
    /// The latest value with its unit.
    text: &'a str,
    points: Vec<Point<'a>>,
}

#[derive(Serialize)]
struct Point<'a> {
    id: &'a str,
    started: String,
    value: f64,
    text: &'a str,
    status: Option<&'a str>,
}

pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    let entries =
        ask(&app, |store, _| Ok(store.list(&Filter { limit: Some(LOOKED_AT), ..Filter::default() })?))
            .await?;
    Ok(json(StatusCode::OK, &serde_json::json!({ "paths": rows(&entries), "looked_at": entries.len() })))
}

/// A row for each far end, in the order of their latest runs. `entries`: the latest first.
fn rows(entries: &[Entry]) -> Vec<PathRow<'_>> {
    let mut targets: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.target.is_empty()) {
        match targets.iter_mut().find(|(target, _)| *target == entry.target) {
            Some((_, runs)) => runs.push(entry),
            None => targets.push((&entry.target, vec![entry])),
        }
    }
    targets.into_iter().filter_map(|(target, runs)| row(target, &runs)).collect()
}

fn row<'a>(target: &'a str, runs: &[&'a Entry]) -> Option<PathRow<'a>> {
    let latest = runs.first()?;
    let shown = || runs.iter().take(SHOWN).rev();
    let verdict = |run: &&'a Entry| Verdict {
        id: &run.id,
        started: run.started.to_string(),
        status: run.status.as_deref(),
    };
    let mut names: Vec<&str> = Vec::new();
    for figure in runs.iter().flat_map(|run| &run.figures) {
        if !names.contains(&figure.name.as_str()) {
            names.push(&figure.name);
        }
    }
    let course = |name: &&'a str| {
        let mut points: Vec<Point<'a>> = Vec::new();
        for run in shown() {
            points.extend(run.figures.iter().find(|figure| figure.name == *name).map(|figure| Point {
                id: &run.id,
                started: run.started.to_string(),
                value: figure.value,
                text: &figure.text,
                status: run.status.as_deref(),
            }));
        }
        let text = points.last()?.text;
        Some(Course { name, text, points })
    };
    Some(PathRow {
        target,
        runs: runs.len(),
        latest,
        verdicts: shown().map(verdict).collect(),
        figures: names.iter().filter_map(course).collect(),
    })
}

/// Runs that are looked at, the latest.
const LOOKED_AT: u64 = 5_000;
/// Runs of a path that are drawn.
const SHOWN: usize = 60;
