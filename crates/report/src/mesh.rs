//! The document of a mesh: of its cells, or of the runs of a store.

use crate::expect::higher_is_better;
use insight::matrix::{Cell, findings};
use model::experiment::MatrixFinding;
use model::finding::Status;
use model::history::{Entry, Headline};
use model::mesh::{CellState, MeshCell, MeshReport, SCHEMA, ends, family};
use std::collections::BTreeSet;

/// The document of the kept runs of a mesh: of each path and kind of test the latest. `label`: that of the runs.
#[must_use]
pub fn report_of_entries(label: &str, entries: &[Entry]) -> MeshReport {
    let mut latest: Vec<&Entry> = entries.iter().filter(|entry| ends(&entry.target).is_some()).collect();
    latest.sort_by_key(|entry| std::cmp::Reverse(entry.started));
    let mut known = BTreeSet::new();
    latest.retain(|entry| known.insert((entry.target.as_str(), entry.kind.as_str())));
    let cells = latest.iter().flat_map(|entry| cells_of_entry(entry)).collect();
    MeshReport {
        name: label.to_owned(),
        label: label.to_owned(),
        started: latest.iter().map(|entry| entry.started).min(),
        finished: latest.iter().filter_map(|entry| entry.finished).max(),
        ..report_of_cells(cells)
    }
}

/// The document of cells, in order, with what they show together.
#[must_use]
pub fn report_of_cells(mut cells: Vec<MeshCell>) -> MeshReport {
    let place = |cell: &MeshCell| (cell.test.clone(), cell.family, cell.from.clone(), cell.to.clone());
    cells.sort_by_key(place);
    let findings = findings_of(&cells);
    MeshReport { schema: SCHEMA.into(), cells, findings, ..MeshReport::default() }
}

/// What the cells of each test show together. What is void or missed says nothing of a path.
fn findings_of(cells: &[MeshCell]) -> Vec<MatrixFinding> {
    let tests: BTreeSet<&str> = cells.iter().map(|cell| cell.test.as_str()).collect();
    let of_test = |test: &str| {
        let known =
            |cell: &&MeshCell| cell.test == test && matches!(cell.state, CellState::Done | CellState::Failed);
        let known: Vec<&MeshCell> = cells.iter().filter(known).collect();
        let figure = known.iter().find_map(|cell| Some(cell.measured()?.name.as_str()));
        let higher = figure.and_then(higher_is_better).unwrap_or(true);
        let there = known.iter().map(|cell| Cell {
            source: cell.from.clone(),
            target: cell.to.clone(),
            family: cell.family,
            value: cell.measured().map(|figure| figure.value),
        });
        let mut cells: Vec<Cell> = there.collect();
        if test == LATENCY {
            // A round trip is one of both ends.
            let back = cells.clone().into_iter();
            cells.extend(back.map(|cell| Cell { source: cell.target, target: cell.source, ..cell }));
        }
        findings(test, &cells, higher)
    };
    tests.into_iter().flat_map(of_test).collect()
}

/// The cells of a kept run.
fn cells_of_entry(entry: &Entry) -> Vec<MeshCell> {
    let Some((from, to)) = ends(&entry.target) else { return Vec::new() };
    let status = entry.status.as_deref().and_then(Status::named);
    let cell = |from: &str, to: &str, direction: Option<&str>| {
        let is_own = |figure: &&Headline| match direction {
            Some(direction) => figure.name.starts_with(direction),
            None => true,
        };
        let figure = entry.figures.iter().find(is_own).cloned();
        let state = match (status, &figure) {
            (None, _) => CellState::Missed,
            (Some(Status::Void), _) => CellState::Void,
            (Some(_), None) => CellState::Failed,
            (Some(_), Some(_)) => CellState::Done,
        };
        MeshCell {
            from: from.to_owned(),
            to: to.to_owned(),
            test: entry.kind.clone(),
            family: family(&entry.target),
            state,
            reason: entry.verdict.clone().filter(|_| state != CellState::Done),
            figure,
            status,
            run: entry.id.clone(),
            target: entry.target.clone(),
            started: Some(entry.started),
            ..MeshCell::default()
        }
    };
    if entry.kind == MTU {
        return vec![cell(from, to, Some("up.")), cell(to, from, Some("down."))];
    }
    vec![cell(from, to, None)]
}

/// A test of round trips, which are those of both directions.
const LATENCY: &str = "latency";
/// A test of packet sizes, which measures both directions at once.
const MTU: &str = "mtu";
