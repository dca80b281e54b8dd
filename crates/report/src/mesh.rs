//! The document of a mesh: of its cells, or of the runs of a store.

use crate::expect::higher_is_better;
use insight::matrix::{Cell, findings};
use model::experiment::MatrixFinding;
use model::finding::Status;
use model::history::{Entry, Headline};
use model::mesh::{CellState, MeshCell, MeshReport, SCHEMA, ends, family};
use model::units::Nanos;
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
    mark_older(&mut cells);
    let place = |cell: &MeshCell| (cell.test.clone(), cell.family, cell.from.clone(), cell.to.clone());
    cells.sort_by_key(place);
    let findings = findings_of(&cells);
    MeshReport { schema: SCHEMA.into(), cells, findings, ..MeshReport::default() }
}

/// Marks what is not of the latest round. In a round one run follows the other; what ended long before all of those began is of
/// an earlier one.
fn mark_older(cells: &mut [MeshCell]) {
    let times = |cell: &MeshCell| Some((cell.finished.or(cell.started)?, cell.started?));
    let mut all: Vec<_> = cells.iter().filter_map(times).collect();
    all.sort_unstable_by_key(|(end, _)| std::cmp::Reverse(*end));
    let Some(latest) = all.iter().map(|(_, begin)| *begin).max() else { return };
    let mut round = latest;
    for (end, begin) in all {
        if end + BETWEEN_RUNS < round {
            break;
        }
        round = round.min(begin);
    }
    for cell in cells {
        let begin = cell.started.filter(|begin| *begin < round);
        cell.age_ns = begin.map(|begin| latest - begin);
    }
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
            finished: entry.finished,
            ..MeshCell::default()
        }
    };
    if entry.kind == MTU {
        return vec![cell(from, to, Some("up.")), cell(to, from, Some("down."))];
    }
    vec![cell(from, to, None)]
}

/// From the end of a run to the begin of the next one of the same round, at most.
const BETWEEN_RUNS: Nanos = Nanos::from_secs(300);
/// A test of round trips, which are those of both directions.
const LATENCY: &str = "latency";
/// A test of packet sizes, which measures both directions at once.
const MTU: &str = "mtu";

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::WallTime;

    fn cell(from: &str, started: u64, took: u64) -> MeshCell {
        let at = |seconds: u64| Some(WallTime(1_790_000_000_000_000_000 + seconds * 1_000_000_000));
        let (started, finished) = (at(started), at(started + took));
        MeshCell {
            from: from.into(),
            to: "z".into(),
            state: CellState::Done,
            started,
            finished,
            ..MeshCell::default()
        }
    }

    fn ages(cells: Vec<MeshCell>) -> Vec<Option<u64>> {
        let report = report_of_cells(cells);
        report.cells.iter().map(|cell| cell.age_ns.map(|age| age.0 / 1_000_000_000)).collect()
    }

    #[test]
    fn what_is_older_than_the_round_of_the_others_has_its_age() {
        // A round of an hour, in which run follows run, is one.
        let long = (0..6).map(|n| cell(&n.to_string(), n * 610, 600)).collect();
        assert_eq!(ages(long), [None; 6]);
        // The night before, and a run that is missed since.
        let night = 86_400;
        let gone = MeshCell { state: CellState::Missed, finished: None, ..cell("c", night, 0) };
        let two = vec![cell("a", 0, 10), cell("b", night + 60, 10), gone];
        assert_eq!(ages(two), [Some(night + 60), None, None]);
        assert_eq!(ages(vec![MeshCell::default()]), [None]);
    }
}
