//! Paths: the runs to each far end, how the latest went, the course of their figures, and their trends: those of
//! `pathmeter trend`.

use super::{App, ask};
use crate::failed::{Failed, json};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use model::history::Entry;
use model::stats::compare::Rules;
use report::expect::printed;
use report::format::trend::{Series, Trends};
use serde::Serialize;
use std::collections::HashMap;
use store::{Filter, Store};

/// The runs to a far end.
#[derive(Serialize)]
struct PathRow<'a> {
    target: &'a str,
    /// Runs among those looked at.
    runs: usize,
    latest: &'a Entry,
    /// How each run went, the oldest first.
    verdicts: Vec<Verdict<'a>>,
    /// What the trends come to, in a sentence.
    conclusion: String,
    /// A figure is worse than it was, and not back.
    is_worse: bool,
    figures: Vec<FigureSeries<'a>>,
}

#[derive(Serialize)]
struct Verdict<'a> {
    id: &'a str,
    started: String,
    status: Option<&'a str>,
}

/// The values of a figure, the oldest first.
#[derive(Serialize)]
struct FigureSeries<'a> {
    name: &'a str,
    /// The latest value with its unit.
    text: &'a str,
    points: Vec<Point<'a>>,
    /// The latest change of its level that three runs confirmed.
    change: Option<Confirmed>,
    /// The newest run is so bad that two more like it would be a change.
    is_suspicious: bool,
}

/// A change of level, to be read.
#[derive(Serialize)]
struct Confirmed {
    /// `worse`, `better`, `recovered`.
    word: &'static str,
    /// The figure is still worse than it was.
    is_worse: bool,
    /// When the first run on the new level began.
    at: String,
    /// That run.
    run: String,
    /// The levels, with their unit.
    before: String,
    after: String,
    percent: Option<f64>,
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
    let value = ask(&app, |store, _| {
        let entries = store.list(&Filter { limit: Some(LOOKED_AT), ..Filter::default() })?;
        let paths = of_targets(&entries);
        let rows = paths.iter().map(|(target, runs)| Ok(row(target, runs, &trends(store, target)?)));
        let rows = rows.collect::<Result<Vec<_>, Failed>>()?.into_iter().flatten().collect::<Vec<_>>();
        Ok(serde_json::json!({ "paths": rows, "looked_at": entries.len() }))
    });
    Ok(json(StatusCode::OK, &value.await?))
}

/// The trends of a path, with the rules that `pathmeter trend` has where no others are asked for.
fn trends(store: &Store, target: &str) -> Result<Trends, Failed> {
    let (samples, marks) =
        store.marked_series(target, &Filter { limit: Some(TREND), ..Filter::default() })?;
    Ok(Trends::from_samples(target, &samples, &marks, Rules::new(true)))
}

/// The runs to each far end, in the order of their latest runs. `entries`: the latest first.
fn of_targets(entries: &[Entry]) -> Vec<(&str, Vec<&Entry>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut targets: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.target.is_empty()) {
        let place = *places.entry(&entry.target).or_insert_with(|| {
            targets.push((&entry.target, Vec::new()));
            targets.len() - 1
        });
        targets[place].1.push(entry);
    }
    targets.truncate(PATHS);
    targets
}

fn row<'a>(target: &'a str, runs: &[&'a Entry], trends: &Trends) -> Option<PathRow<'a>> {
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
    let figure_series = |name: &&'a str| {
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
        let series = series_of(trends, name);
        Some(FigureSeries {
            name,
            text,
            points,
            change: series.and_then(confirmed),
            is_suspicious: series.is_some_and(|series| series.is_suspicious),
        })
    };
    Some(PathRow {
        target,
        runs: runs.len(),
        latest,
        verdicts: shown().map(verdict).collect(),
        conclusion: trends.conclusion.clone(),
        is_worse: trends.is_worse(),
        figures: names.iter().filter_map(figure_series).collect(),
    })
}

/// The series of a figure: several commands may measure it, and one in which it is worse is shown before others.
fn series_of<'a>(trends: &'a Trends, name: &str) -> Option<&'a Series> {
    let all = || trends.series.iter().filter(|series| series.figure == name);
    all()
        .find(|series| series.is_worse)
        .or_else(|| all().find(|series| !series.changes.is_empty()))
        .or_else(|| all().next())
}

fn confirmed(series: &Series) -> Option<Confirmed> {
    let turn = series.changes.last()?;
    let value = |value| printed(&series.figure, value);
    Some(Confirmed {
        word: turn.kind.word(),
        is_worse: series.is_worse,
        at: turn.at.clone(),
        run: turn.run.clone(),
        before: value(turn.before),
        after: value(turn.after),
        percent: turn.percent,
    })
}

/// Paths that are shown: those of the latest runs.
const PATHS: usize = 100;
/// Runs of a path that its trend is made of, the latest: three weeks of one every quarter of an hour.
const TREND: u64 = 2_000;
/// Runs that are looked at, the latest.
const LOOKED_AT: u64 = 5_000;
/// Runs of a path that are drawn.
const SHOWN: usize = 60;
