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

/// The findings that the cells of each test show together. A cell that is void or missed is no evidence about a path.
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
            value: cell.measured().map(|figure| compared(test, figure.value)),
        });
        let limits: Vec<&MeshCell> = known.iter().copied().filter(|cell| cell.limit.is_some()).collect();
        let mut cells: Vec<Cell> = there.collect();
        if test == LATENCY {
            // A round trip is one of both ends.
            let back = cells.clone().into_iter();
            cells.extend(back.map(|cell| Cell { source: cell.target, target: cell.source, ..cell }));
        }
        let found = findings(test, &cells, higher).into_iter();
        found.filter_map(in_words).map(|one| with_limit(one, &limits)).collect::<Vec<_>>()
    };
    let mut all: Vec<MatrixFinding> = tests.into_iter().flat_map(of_test).collect();
    // Findings about rates stand before those about time.
    all.sort_by_key(|found| SEVERITY.iter().position(|test| *test == found.test).unwrap_or(SEVERITY.len()));
    all
}

/// A value as it is compared with others: round trips below half a millisecond differ by what hosts do, not by paths.
fn compared(test: &str, value: f64) -> f64 {
    if test == LATENCY { value.max(SHORT) } else { value }
}

/// A finding by the words of its test. Routers and packet sizes are no speed: of these only that a path or an IP version fails
/// counts.
fn in_words(found: MatrixFinding) -> Option<MatrixFinding> {
    let MatrixFinding { id, test, title } = found;
    let is_failure = id == "one-family-from" || title.contains(" fails");
    let title = match test.as_str() {
        test if OF_PATHS.contains(&test) && !is_failure => return None,
        LATENCY if !is_failure => {
            title.replace(" is slow: ", " has long round trips: ").replace(" times worse ", " times longer ")
        }
        _ => title,
    };
    Some(MatrixFinding { title: format!("{test}: {title}"), id, test })
}

/// A finding of a site, with what sets the rates of its paths where that is one kind of limit.
fn with_limit(found: MatrixFinding, cells: &[&MeshCell]) -> MatrixFinding {
    let is_of = |cell: &&&MeshCell| {
        let names =
            |word: &str, site: &str| found.title.contains(&format!("everything {word} {site} is slow"));
        names("out of", &cell.from)
            || names("into", &cell.to)
            || names("into and out of", &cell.from)
            || names("into and out of", &cell.to)
    };
    let limits: Vec<_> = cells.iter().filter(is_of).filter_map(|cell| cell.limit.as_ref()).collect();
    match limits.split_first() {
        Some((first, rest)) if rest.iter().all(|one| one.kind == first.kind) => {
            let title = format!("{}; the limit there: {}", found.title, first.text);
            MatrixFinding { title, ..found }
        }
        _ => found,
    }
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
/// Tests in the order in which their findings matter.
const SEVERITY: [&str; 4] = ["throughput", "latency", "mtu", "hops"];
/// Tests whose figures are of a path's form.
const OF_PATHS: [&str; 2] = ["hops", "mtu"];
/// Half a millisecond, in nanoseconds.
const SHORT: f64 = 500_000.0;
/// A test of round trips, which are those of both directions.
const LATENCY: &str = "latency";
/// A test of packet sizes, which measures both directions at once.
const MTU: &str = "mtu";

#[cfg(test)]
mod tests {
    use super::*;
    use model::limit::LimitKind;
    use model::mesh::CellLimit;
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

    fn measured(test: &str, from: &str, to: &str, value: f64) -> MeshCell {
        let name = match test {
            "throughput" => "tcp.up.goodput",
            "hops" => "hops.count",
            _ => "rtt.p50",
        };
        let figure = Headline { name: name.into(), value, text: String::new() };
        MeshCell { test: test.into(), to: to.into(), figure: Some(figure), ..cell(from, 0, 1) }
    }

    fn all(test: &str, value: impl Fn(&str, &str) -> f64) -> Vec<MeshCell> {
        let sites = ["ams", "fra", "mad"];
        let pairs = sites.iter().flat_map(|from| sites.iter().map(move |to| (*from, *to)));
        pairs
            .filter(|(from, to)| from != to)
            .map(|(from, to)| measured(test, from, to, value(from, to)))
            .collect()
    }

    fn titles(cells: Vec<MeshCell>) -> Vec<String> {
        report_of_cells(cells).findings.into_iter().map(|found| found.title).collect()
    }

    #[test]
    fn hops_are_no_speed_and_what_limits_rates_stands_first() {
        let hops = all("hops", |from, _| if from == "mad" { 2.0 } else { 1.0 });
        assert!(titles(hops.clone()).is_empty(), "{:?}", titles(hops));
        // 41 µs in place of 17 are of the hosts.
        let near = all("latency", |from, to| if [from, to].contains(&"mad") { 41e3 } else { 17e3 });
        assert!(titles(near.clone()).is_empty(), "{:?}", titles(near));
        let far = all("latency", |from, to| if [from, to].contains(&"mad") { 40e6 } else { 1e6 });
        let mut slow = all("throughput", |from, _| if from == "ams" { 47e6 } else { 190e6 });
        for cell in slow.iter_mut().filter(|cell| cell.from == "ams") {
            let text = "shaper at 50 Mbit/s".to_owned();
            cell.limit = Some(CellLimit { kind: LimitKind::Shaper, text, ..CellLimit::default() });
        }
        let found = titles([hops, far, slow].concat());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("throughput: everything out of ams is slow"), "{found:?}");
        assert!(found[0].ends_with("; the limit there: shaper at 50 Mbit/s"), "{found:?}");
        assert!(
            found[1].starts_with("latency: everything into and out of mad has long round trips"),
            "{found:?}"
        );
    }
}
