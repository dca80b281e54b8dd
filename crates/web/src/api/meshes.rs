//! Meshes: the kept runs of paths between agents, as a matrix for each label, test and IP version. Each cell is the latest run of its
//! path, or that of the round which the address names.

use super::request::query;
use super::rounds::{Round, RoundRow, rounds};
use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use model::history::Entry;
use model::mesh::{CellState, MeshCell, MeshReport, ends};
use model::stats::quantile::median;
use report::expect::higher_is_better;
use report::mesh::report_of_entries;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::Filter;

/// The round that is wanted of a label.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wanted {
    label: String,
    round: Option<String>,
}

/// The rounds of a label, and the document of one of them, or of the latest run of each path.
struct Rounds {
    report: MeshReport,
    /// The begin of the round that the document is of.
    round: Option<String>,
    rows: Vec<RoundRow>,
}

pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let wanted: Wanted = query(&uri)?;
    let meshes = answer(&app, move |store, _| {
        let entries = store.list(&Filter { limit: Some(LOOKED_AT), ..Filter::default() })?;
        let looked_at = entries.len();
        let mut labels: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in entries.into_iter().filter(|entry| ends(&entry.target).is_some()) {
            labels.entry(entry.label.clone()).or_default().push(entry);
        }
        let mut found: Vec<Rounds> =
            labels.into_iter().map(|(label, entries)| of_label(label, entries, &wanted)).collect();
        if wanted.round.is_some() && !found.iter().any(|mesh| mesh.round.is_some()) {
            return Err(Failed::new(StatusCode::NOT_FOUND, "no round of this label began then")
                .advised("the list without `round` has the begin of each"));
        }
        // The mesh that was measured last comes first: it is the one that users look for.
        found.sort_by_key(|mesh| std::cmp::Reverse(newest(&mesh.report)));
        let meshes: Vec<Value> = found.iter().map(mesh).collect();
        Ok(json!({ "meshes": meshes, "looked_at": looked_at }))
    });
    meshes.await
}

/// The document of a label: of the wanted round where it is one of this label's.
fn of_label(label: String, entries: Vec<Entry>, wanted: &Wanted) -> Rounds {
    let all = rounds(entries);
    let rows = all.iter().map(Round::row).collect();
    let is_wanted =
        |round: &&Round| label == wanted.label && wanted.round.is_some() && round.started() == wanted.round;
    match all.iter().find(is_wanted) {
        Some(round) => {
            Rounds { report: report_of_entries(&label, &round.entries), round: round.started(), rows }
        }
        None => {
            let entries: Vec<Entry> = all.into_iter().flat_map(|round| round.entries).collect();
            Rounds { report: report_of_entries(&label, &entries), round: None, rows }
        }
    }
}

fn newest(report: &MeshReport) -> Option<u64> {
    report.cells.iter().filter_map(|cell| Some(cell.started?.0)).max()
}

/// The runs of a label; without a round, the latest of each path.
fn mesh(Rounds { report, round, rows }: &Rounds) -> Value {
    let mut groups: BTreeMap<(&str, Option<u8>), Vec<&MeshCell>> = BTreeMap::new();
    for cell in &report.cells {
        groups.entry((&cell.test, cell.family)).or_default().push(cell);
    }
    let matrices = groups.into_iter().map(|((test, family), cells)| matrix(test, family, &cells));
    json!({
        "label": report.label,
        "started": report.started.map(|time| time.to_string()),
        "finished": report.finished.map(|time| time.to_string()),
        "round": round,
        "rounds": rows,
        "findings": report.findings,
        "matrices": matrices.collect::<Vec<_>>(),
    })
}

/// The paths of one test and one IP version, the agents in order.
fn matrix(test: &str, family: Option<u8>, cells: &[&MeshCell]) -> Value {
    let name = cells.iter().find_map(|cell| Some(cell.measured()?.name.as_str()));
    let higher = name.and_then(higher_is_better).unwrap_or(true);
    let values: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.measured()?.value)).collect();
    let usual = median(&values);
    let mut agents: Vec<&str> =
        cells.iter().flat_map(|cell| [cell.from.as_str(), cell.to.as_str()]).collect();
    agents.sort_unstable();
    agents.dedup();
    let cell = |cell: &&MeshCell| {
        json!({
            "from": cell.from,
            "to": cell.to,
            "state": cell.state.word(),
            "tone": tone(cell, usual, higher),
            "figure": cell.measured(),
            "reason": cell.reason,
            "run": cell.run,
            // The target under which the store has the runs of the path.
            "target": cell.target,
            "started": cell.started.map(|time| time.to_string()),
        })
    };
    let figure = name.map(|name| {
        name.split('.').filter(|part| !["up", "down"].contains(part)).collect::<Vec<_>>().join(".")
    });
    json!({
        "test": test,
        "family": family,
        "figure": figure,
        "higher_is_better": higher,
        "agents": agents,
        "cells": cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

/// How a cell looks beside the others: `ok`; `degraded`: 2 times worse than their median, or more; `problem`; `void`; absent: nothing is
/// known.
fn tone(cell: &MeshCell, usual: Option<f64>, higher_is_better: bool) -> Option<&'static str> {
    match (cell.state, cell.measured().zip(usual)) {
        (CellState::Failed, _) => Some("problem"),
        (CellState::Void, _) => Some("void"),
        (CellState::Missed, _) | (CellState::Done, None) => None,
        (CellState::Done, Some((figure, usual))) => {
            let is_far =
                if higher_is_better { figure.value * FAR <= usual } else { figure.value >= usual * FAR };
            Some(if is_far { "degraded" } else { "ok" })
        }
    }
}

/// A path is shown as far off when it is worse than the others by this factor.
const FAR: f64 = 2.0;
/// Runs that are looked at, the latest: two nights of a hundred agents.
const LOOKED_AT: u64 = 20_000;
