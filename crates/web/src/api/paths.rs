//! Paths: the runs to each far end, how the latest went, their figures over time, and their trends: those of
//! `pathmeter trend`. Each figure is drawn over runs alike: one command with the same options.

use super::schedules::{ScheduleRow, of_watches};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::response::Response;
use model::history::{Entry, Headline, Sample};
use model::stats::compare::Rules;
use report::expect::printed;
use report::format::trend::{Series, Trends};
use serde_json::{Value, json};
use std::collections::HashMap;
use store::{Filter, Store};

pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    let paths = answer(&app, |store, _| {
        let entries = store.list(&Filter { limit: Some(LOOKED_AT), ..Filter::default() })?;
        let paths = of_targets(&entries);
        let schedules = of_watches(store, None)?;
        let rows = paths.iter().take(PATHS).map(|(target, runs)| {
            let (samples, trends) = trends(store, target)?;
            let own = schedules.iter().filter(|schedule| schedule.target() == *target).collect();
            Ok(row((target, runs), &options_of(&samples), &trends, own))
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

/// The runs to a far end: how each went, and their figures, the oldest first.
fn row(
    (target, runs): (&str, &[&Entry]),
    options: &HashMap<&str, String>,
    trends: &Trends,
    schedules: Vec<&ScheduleRow>,
) -> Option<Value> {
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
    let figure_series = |(name, newest): &(&str, &Entry)| {
        let alike = |run: &&&Entry| {
            run.kind == newest.kind && options.get(run.id.as_str()) == options.get(newest.id.as_str())
        };
        let own = shown()
            .filter(alike)
            .filter_map(|run| Some((run, run.figures.iter().find(|figure| figure.name == *name)?)));
        let own: Vec<(&&Entry, &Headline)> = own.collect();
        let (_, newest_value) = own.last()?;
        let point = |(run, figure): &(&&Entry, &Headline)| {
            json!({
                "id": run.id,
                "started": run.started.to_string(),
                "value": figure.value,
                "text": figure.text,
                "status": run.status,
            })
        };
        let series = trends.series.iter().find(|series| series.kind == newest.kind && series.figure == *name);
        Some(json!({
            "name": name,
            "of": options.get(newest.id.as_str()).unwrap_or(&newest.kind),
            "text": newest_value.text,
            "points": own.iter().map(point).collect::<Vec<_>>(),
            "change": series.and_then(change),
            "is_suspicious": series.is_some_and(|series| series.is_suspicious),
        }))
    };
    Some(json!({
        "target": target,
        "runs": runs.len(),
        "latest": latest,
        "verdicts": shown().map(verdict).collect::<Vec<_>>(),
        "conclusion": trends.conclusion,
        "is_worse": trends.is_worse(),
        "figures": names.iter().filter_map(figure_series).collect::<Vec<_>>(),
        "schedules": schedules,
    }))
}

/// The latest change of a figure's level that three runs confirmed.
fn change(series: &Series) -> Option<Value> {
    let turn = series.changes.last()?;
    let value = |value| printed(&series.figure, value);
    Some(json!({
        "word": turn.kind.word(),
        "is_worse": series.is_worse,
        "at": turn.at,
        "run": turn.run,
        "before": value(turn.before),
        "after": value(turn.after),
        "percent": turn.percent,
    }))
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
