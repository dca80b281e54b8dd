//! Pairs of several hosts that started at the same time, as one run.

use crate::job::{AnyJob, JobResult, read_run};
use engine::error::Result;
use engine::run::run_id;
use fleet::group::{GroupReport, Offset, Started, judge};
use fleet::job::{End, Outcome};
use fleet::mesh::PlannedRun;
use fleet::results::Results;
use insight::analysis::sum_pairs;
use insight::run_of_pairs;
use model::pairs::{BrokenPair, CommonStart, HostPair};
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;

/// The document of a group: its pairs as tests, their sum over the time in which all ran, by the coordinator's clock, and how they
/// started. `started`: how they were started; `None`: they were not.
///
/// # Errors
/// The kernel gives no name for the run.
pub fn document(group: &[PlannedRun], started: Option<&Started>, results: &Results) -> Result<Run> {
    let outcome = |run: &PlannedRun| results.outcomes.get(&run.job.run);
    let outcomes: Vec<Outcome> = group.iter().filter_map(outcome).cloned().collect();
    let (mut tests, mut broken, mut members) = (Vec::new(), Vec::new(), Vec::new());
    for (index, run) in group.iter().enumerate() {
        let outcome = outcome(run);
        let offset = started.and_then(|started| started.offsets.get(&run.agent).copied());
        let missed = || results.missed.get(&run.job.run).and_then(|row| row.state.reason());
        let measured = match outcome {
            Some(outcome) => read(&run.job.body, outcome, offset),
            None => Err(missed().unwrap_or("nothing came of it").to_owned()),
        };
        let of_pair = |reason| broken.push(BrokenPair { pair: index as u64 + 1, reason });
        let measured = measured.map_err(of_pair).ok();
        members.push(member(run, outcome, offset, measured.as_ref()));
        tests.extend(measured);
    }
    let mut pairs = sum_pairs(group.len() as u64, &tests.iter().collect::<Vec<_>>(), broken, None);
    let unstarted = Started { at: WallTime(0), offsets: Default::default() };
    let report = judge(started.unwrap_or(&unstarted), group.len(), &outcomes);
    let first = pairs.broken.first().map(|one| format!("pair {}: {}", one.pair, one.reason));
    let void = void(started, &report, first);
    pairs.common_start = Some(CommonStart {
        at: started.unwrap_or(&unstarted).at,
        skew: report.start_skew,
        skew_error: report.skew_error,
        overlap_share: report.overlap_share,
        members,
        void,
    });
    Ok(run_of_pairs(&run_id()?, &[], tests, pairs))
}

/// The first reason is the most informative: a group that never started has none of the others.
fn void(started: Option<&Started>, report: &GroupReport, broken: Option<String>) -> Option<String> {
    match (started, broken) {
        (None, Some(why)) => Some(format!("they were not started together ({why})")),
        (None, None) => Some("it is not known how they were started".to_owned()),
        (Some(_), Some(why)) => Some(why),
        (Some(_), None) => report.void.clone(),
    }
}

/// The run of a pair, on the coordinator's clock. `asked` is the body of its job.
fn read(asked: &str, outcome: &Outcome, offset: Option<Offset>) -> std::result::Result<Run, String> {
    let body = match &outcome.end {
        End::Done { body } => body,
        End::Void { reason, .. } => return Err(format!("void: {reason}")),
        End::Failed { reason } => return Err(reason.clone()),
    };
    let mut run = match AnyJob::read(asked)? {
        AnyJob::Mesh(_) => JobResult::read(body, &outcome.title)?.run,
        AnyJob::Plan(_) => read_run(body, &outcome.agent)?,
    };
    let ours = |time| offset.map_or(time, |offset| offset.at_ours(time));
    run.started = Some(ours(outcome.started));
    run.finished = Some(ours(outcome.finished));
    Ok(run)
}

fn member(
    run: &PlannedRun,
    outcome: Option<&Outcome>,
    offset: Option<Offset>,
    test: Option<&Run>,
) -> HostPair {
    let (from, to) = match AnyJob::read(&run.job.body) {
        Ok(AnyJob::Mesh(job)) => (job.from, job.to),
        Ok(AnyJob::Plan(job)) => (run.agent.clone(), job.end.unwrap_or_default()),
        Err(_) => Default::default(),
    };
    HostPair {
        from,
        to,
        agent: run.agent.clone(),
        run: test.map(|test| test.id.clone()),
        lease_token: outcome.map_or(0, |outcome| outcome.token),
        clock_ahead_ns: offset.map_or(0, |offset| offset.ahead),
        clock_error_ns: offset.map_or(Nanos::ZERO, |offset| offset.error),
    }
}
