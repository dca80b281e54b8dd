//! The outcomes of a mesh's runs, as its document.

use crate::job::{JobResult, MeshJob, MeshTest, result_of};
use fleet::job::{Outcome, attempt_id};
use fleet::mesh::MeshPlan;
use fleet::results::Results;
use model::finding::Status;
use model::history::{Headline, Measured};
use model::limit::LimitKind;
use model::mesh::{CellLimit, CellState, MeshCell, MeshReport, ends, family, path};
use model::run::Run;
use model::time::WallTime;
use report::expect::headlines;
use report::mesh::report_of_cells;
use std::collections::HashSet;

/// The document of a mesh's results. `name`: that of the run of the mesh; `notes`: pairs that no run was planned for.
pub fn report_of_results(name: &str, results: &Results, notes: Vec<String>) -> MeshReport {
    let dated = |at: WallTime, cells: Vec<MeshCell>| cells.into_iter().map(move |cell| (at, cell));
    let ended = results.outcomes.values().flat_map(|one| dated(one.started, cells_of_outcome(one)));
    let is_path = |title: &str| split(title).is_some();
    let mut notes = notes;
    for row in results.missed.values().filter(|row| !is_path(&row.title)) {
        notes.push(format!("missed: {}: {}", row.title, row.state.reason().unwrap_or("no reason is known")));
    }
    notes.extend(results.damage.iter().map(|damage| {
        format!("{damage}: a run whose result stood there is measured again by the same command")
    }));
    let missed = results.missed.iter().filter(|(_, row)| is_path(&row.title)).flat_map(|(run, row)| {
        let reason = row.state.reason().unwrap_or("no reason is known");
        let cells = not_done(&row.title, CellState::Missed, reason);
        let (id, attempt) = (attempt_id(run, row.number), row.number.max(1));
        let of_run = |cell| MeshCell { run: id.clone(), started: Some(row.due), attempt, ..cell };
        dated(row.due, cells.into_iter().map(of_run).collect())
    });
    let cells = latest(ended.chain(missed).collect());
    let times = results.outcomes.values();
    MeshReport {
        name: name.to_owned(),
        started: times.clone().map(|outcome| outcome.started).min(),
        finished: times.map(|outcome| outcome.finished).max(),
        notes,
        ..report_of_cells(cells)
    }
}

/// The results of these runs alone: a coordinator takes what another one left, too.
#[must_use]
pub fn results_of_runs(mut results: Results, runs: &HashSet<String>) -> Results {
    results.outcomes.retain(|run, _| runs.contains(run));
    results.missed.retain(|run, _| runs.contains(run));
    results
}

/// The names of a plan's runs.
#[must_use]
pub fn runs_of_plan(plan: &MeshPlan) -> HashSet<String> {
    plan.all().map(|run| run.job.run.clone()).collect()
}

/// Keeps the latest outcome of each path and test: a path that was measured again has its newest result, and one that was
/// missed since is missed.
fn latest(mut cells: Vec<(WallTime, MeshCell)>) -> Vec<MeshCell> {
    cells.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let mut known = HashSet::new();
    let key = |cell: &MeshCell| (cell.test.clone(), cell.family, cell.from.clone(), cell.to.clone());
    cells.into_iter().map(|(_, cell)| cell).filter(|cell| known.insert(key(cell))).collect()
}

/// The cells of an outcome: sizes of packets are measured in both directions at once.
fn cells_of_outcome(outcome: &Outcome) -> Vec<MeshCell> {
    let (result, void) = result_of(outcome);
    let cells = match result {
        Ok(result) => of_run(result),
        Err(why) => not_done(&outcome.title, CellState::Failed, &why),
    };
    let of_outcome = |cell: MeshCell| MeshCell {
        state: void.map_or(cell.state, |_| CellState::Void),
        reason: void.map(str::to_owned).or(cell.reason),
        run: outcome.id(),
        started: Some(outcome.started),
        finished: Some(outcome.finished),
        token: outcome.token,
        attempt: outcome.number,
        ..cell
    };
    cells.into_iter().map(of_outcome).collect()
}

fn of_run(result: JobResult) -> Vec<MeshCell> {
    let JobResult { job, run } = result;
    let target = path(&job.from, &job.to, job.family);
    let cell = |job: &MeshJob| MeshCell { target: target.clone(), ..measured(job, &run) };
    job.directions().iter().map(cell).collect()
}

/// The cell of one direction of a run.
fn measured(job: &MeshJob, run: &Run) -> MeshCell {
    let named = |figure: &Headline| figure.name == job.figure();
    let figure = headlines(Measured::Run(run)).into_iter().find(named);
    let void = Some(run.verdict.text.clone()).filter(|_| run.verdict.status == Status::Void);
    let state = match (&figure, &void) {
        (_, Some(_)) => CellState::Void,
        (None, None) => CellState::Failed,
        (Some(_), None) => CellState::Done,
    };
    let nothing = (state == CellState::Failed).then(|| format!("the run has no {}", job.figure()));
    MeshCell {
        limit: limit_of(job, run).filter(|_| state == CellState::Done),
        from: job.from.clone(),
        to: job.to.clone(),
        test: job.test.word().to_owned(),
        family: job.family,
        state,
        reason: void.or(nothing),
        figure,
        status: Some(run.verdict.status),
        ..MeshCell::default()
    }
}

/// The limit of this direction's rate, where the run found it.
fn limit_of(job: &MeshJob, run: &Run) -> Option<CellLimit> {
    let direction = if job.reverse { &run.summary.down } else { &run.summary.up };
    let limit = direction.as_ref()?.limit.as_ref()?;
    let at = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let text = format!("{}{at}", limit.kind);
    (limit.kind != LimitKind::NotKnown).then_some(CellLimit { kind: limit.kind, rate: limit.rate, text })
}

/// The test and the path of a run's title; absent: it is the title of none.
pub(crate) fn split(title: &str) -> Option<(&str, &str)> {
    title.split_once(' ').filter(|(_, path)| ends(path).is_some())
}

/// The cells of a run without a result. Its title is all that is known of it.
fn not_done(title: &str, state: CellState, reason: &str) -> Vec<MeshCell> {
    let (test, path_of_run) = split(title).unwrap_or(("", title));
    let (from, to) = ends(path_of_run).unwrap_or((path_of_run, "?"));
    let cell = |from: &str, to: &str| MeshCell {
        from: from.to_owned(),
        to: to.to_owned(),
        test: test.to_owned(),
        family: family(path_of_run),
        state,
        reason: Some(reason.to_owned()),
        target: path_of_run.to_owned(),
        ..MeshCell::default()
    };
    let is_both = test == MeshTest::Mtu.word();
    std::iter::once(cell(from, to)).chain(is_both.then(|| cell(to, from))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcomes::{done, failed, latency, missed, outcome};
    use fleet::job::End;
    use fleet::ledger::LedgerRow;

    fn states(results: &Results) -> Vec<(String, String, CellState)> {
        let report = report_of_results("night", results, Vec::new());
        report.cells.into_iter().map(|cell| (cell.test.clone(), cell.path(), cell.state)).collect()
    }

    #[test]
    fn every_outcome_has_its_cell() {
        let job = latency("ams", "fra");
        let back = latency("fra", "ams");
        let (title, back_title) = (job.title(), back.title());
        let mut results = Results::default();
        let lapsed = End::Void { reason: "lease lost".into(), body: done(&back, 900) };
        for one in [
            outcome("1", &title, End::Done { body: done(&job, 1_000) }),
            outcome("2", &back_title, lapsed),
            outcome("3", "latency ams -> par", End::Failed { reason: "no route".into() }),
            outcome("4", "mtu par -> ams", End::Failed { reason: "no route".into() }),
        ] {
            results.outcomes.insert(one.run.clone(), one);
        }
        results.missed.insert("5".into(), missed("latency par -> ams"));
        let expected_cell = |test: &str, path: &str, state| (test.to_owned(), path.to_owned(), state);
        let expected = [
            expected_cell("latency", "ams -> fra", CellState::Done),
            expected_cell("latency", "ams -> par", CellState::Failed),
            expected_cell("latency", "fra -> ams", CellState::Void),
            expected_cell("latency", "par -> ams", CellState::Missed),
            expected_cell("mtu", "ams -> par", CellState::Failed),
            expected_cell("mtu", "par -> ams", CellState::Failed),
        ];
        assert_eq!(states(&results), expected);
        let report = report_of_results("night", &results, Vec::new());
        let cell = report.cells.iter().find(|cell| cell.state == CellState::Done).expect("one is done");
        let figure = cell.measured().expect("it has a figure");
        assert_eq!((figure.name.as_str(), figure.value, cell.token), ("rtt.p50", 1000.0, 1));
    }

    #[test]
    fn a_path_that_was_measured_again_is_what_it_was_then() {
        let job = latency("ams", "fra");
        let mut results = Results::default();
        let mut again = outcome("2", &job.title(), End::Done { body: done(&job, 1_000) });
        again.started.0 += 1;
        for one in [failed("1", &job.title()), again] {
            results.outcomes.insert(one.run.clone(), one);
        }
        results.missed.insert("3".into(), missed(&job.title()));
        let state =
            |results: &Results| states(results).into_iter().map(|(.., state)| state).collect::<Vec<_>>();
        assert_eq!(state(&results), [CellState::Done]);
        // A night later nothing came of it.
        let due = WallTime(1_790_086_400_000_000_000);
        results.missed.insert("4".into(), LedgerRow { due, ..missed(&job.title()) });
        assert_eq!(state(&results), [CellState::Missed]);
    }

    #[test]
    fn the_result_of_another_job_is_refused() {
        let other = latency("par", "waw");
        let title = latency("ams", "fra").title();
        let mut results = Results::default();
        for (run, body) in [("1", done(&other, 900)), ("2", "nonsense".to_owned())] {
            results.outcomes = [(run.to_owned(), outcome(run, &title, End::Done { body }))].into();
            assert_eq!(states(&results), [("latency".into(), "ams -> fra".into(), CellState::Failed)]);
        }
    }
}
