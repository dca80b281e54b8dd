//! Paths: the runs to each far end, how the latest went, their figures over time, and their trends: those of
//! `pathmeter trend`. Each figure is drawn over runs alike: one command with the same options.

use super::schedules::{ScheduleRow, of_watches};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::response::Response;
use model::history::{Entry, Sample};
use model::stats::compare::Rules;
use report::expect::printed;
use report::format::trend::{Series, Trends};
use serde::Serialize;
use serde_json::{Value, json};
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
    verdicts: Vec<Value>,
    /// The conclusion of the trends, in a sentence.
    conclusion: String,
    /// A figure is worse than it was, and not back.
    is_worse: bool,
    figures: Vec<FigureSeries<'a>>,
    /// How often `watch` measures it.
    schedules: Vec<&'a ScheduleRow>,
}

/// The values of a figure, the oldest first.
#[derive(Serialize)]
struct FigureSeries<'a> {
    name: &'a str,
    /// The command and the options that its runs share.
    of: String,
    /// The latest value with its unit.
    text: &'a str,
    points: Vec<Value>,
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
    /// Name of that run.
    run: String,
    /// The levels, with their unit.
    before: String,
    after: String,
    percent: Option<f64>,
}

pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    let paths = answer(&app, |store, _| {
        let entries = store.list(&Filter { limit: Some(LOOKED_AT), ..Filter::default() })?;
        let paths = of_targets(&entries);
        let schedules = of_watches(store, None)?;
        let rows = paths.iter().take(PATHS).map(|(target, runs)| {
            let (samples, trends) = trends(store, target)?;
            let own = schedules.iter().filter(|schedule| schedule.target() == *target).collect();
            let found = row(target, runs, &options_of(&samples), &trends);
            Ok(found.map(|found| PathRow { schedules: own, ..found }))
        });
        let rows = rows.collect::<Result<Vec<_>, Failed>>()?.into_iter().flatten().collect::<Vec<_>>();
        let whole = (entries.len() as u64) < LOOKED_AT;
        Ok(json!({ "paths": rows, "far_ends": paths.len(), "looked_at": entries.len(), "whole": whole }))
    });
    paths.await
}

/// The trends of a path, by the default rules of `pathmeter trend`.
pub(super) fn trends(store: &Store, target: &str) -> Result<(Vec<Sample>, Trends), Failed> {
    let (samples, marks) =
        store.marked_series(target, &Filter { limit: Some(TREND), ..Filter::default() })?;
    let trends = Trends::from_samples(target, &samples, &marks, Rules::new(true));
    Ok((samples, trends))
}

/// The options of each run as text: the requested settings without the target.
pub(super) fn options_of(samples: &[Sample]) -> HashMap<&str, String> {
    samples.iter().map(|sample| (sample.id.as_str(), options(sample))).collect()
}

fn options(sample: &Sample) -> String {
    let options = sample.facts.iter().filter(|fact| ASKED.contains(&fact.name.as_str()));
    // Usual values are left out.
    let named = options
        .filter(|fact| !matches!(fact.value.as_str(), "" | "none" | "native" | "0" | "any"))
        .map(|fact| match (fact.name.as_str(), fact.value.as_str()) {
            ("streams", "1") => "1 stream".to_owned(),
            ("streams", count) => format!("{count} streams"),
            (name, value) => format!("{name} {value}"),
        });
    std::iter::once(sample.kind.clone()).chain(named).collect::<Vec<_>>().join(", ")
}

/// Lists of frame sizes, of devices and of topologies are no far ends.
fn is_path(entry: &Entry) -> bool {
    !entry.target.is_empty() && !["lab", "rfc2544"].contains(&entry.kind.as_str())
}

/// The runs to each far end, in the order of their latest runs. `entries`: the latest first.
fn of_targets(entries: &[Entry]) -> Vec<(&str, Vec<&Entry>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut targets: Vec<(&str, Vec<&Entry>)> = Vec::new();
    for entry in entries.iter().filter(|entry| is_path(entry)) {
        let place = *places.entry(&entry.target).or_insert_with(|| {
            targets.push((&entry.target, Vec::new()));
            targets.len() - 1
        });
        targets[place].1.push(entry);
    }
    targets
}

fn row<'a>(
    target: &'a str,
    runs: &[&'a Entry],
    options: &HashMap<&str, String>,
    trends: &Trends,
) -> Option<PathRow<'a>> {
    let latest = runs.first()?;
    let shown = || runs.iter().take(SHOWN).rev();
    let verdict =
        |run: &&Entry| json!({ "id": run.id, "started": run.started.to_string(), "status": run.status });
    // Each figure has those runs that are like the latest one that has it; a sweep over frame sizes is only used for figures
    // that no other run has.
    let mut names: Vec<(&str, &Entry)> = Vec::new();
    let (sweeps, others): (Vec<&Entry>, Vec<&Entry>) = runs.iter().partition(|run| run.kind == "frames");
    for run in others.into_iter().chain(sweeps) {
        for figure in &run.figures {
            if !names.iter().any(|(name, _)| *name == figure.name) {
                names.push((&figure.name, run));
            }
        }
    }
    let figure_series = |(name, newest): &(&'a str, &'a Entry)| {
        let alike = |run: &&&Entry| {
            run.kind == newest.kind && options.get(run.id.as_str()) == options.get(newest.id.as_str())
        };
        let named = |run: &&'a Entry| run.figures.iter().find(|figure| figure.name == *name);
        let point = |run: &&'a Entry| {
            let (started, figure) = (run.started.to_string(), named(run)?);
            let (value, text) = (figure.value, &figure.text);
            Some(
                json!({ "id": run.id, "started": started, "value": value, "text": text, "status": run.status }),
            )
        };
        let text = &shown().filter(alike).filter_map(named).next_back()?.text;
        let points = shown().filter(alike).filter_map(point).collect();
        let series = trends.series.iter().find(|series| series.kind == newest.kind && series.figure == *name);
        Some(FigureSeries {
            name,
            of: options.get(newest.id.as_str()).unwrap_or(&newest.kind).clone(),
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
        schedules: Vec::new(),
    })
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

/// Facts that describe the request.
const ASKED: [&str; 11] = [
    "streams",
    "length",
    "rate asked for",
    "protocol",
    "transport",
    "mode",
    "message size",
    "messages asked for",
    "MTUs set",
    "MSS asked for",
    "congestion control asked for",
];
/// Paths that are shown: those of the latest runs.
const PATHS: usize = 100;
/// Runs of a path that its trend is made of, the latest: three weeks of one every quarter of an hour.
const TREND: u64 = 2_000;
/// Runs that are looked at, the latest.
const LOOKED_AT: u64 = 5_000;
/// Runs of a path that are drawn.
const SHOWN: usize = 60;
