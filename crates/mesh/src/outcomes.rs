//! Outcomes for tests.

use crate::job::{JobResult, MeshJob, MeshTest};
use fleet::job::{End, Outcome};
use fleet::ledger::{LedgerRow, RunState};
use insight::run_of_events;
use model::finding::Status;
use model::stats::histogram::Histogram;
use model::time::WallTime;
use model::units::Nanos;

/// A job between two agents.
pub(crate) fn latency(from: &str, to: &str) -> MeshJob {
    MeshJob {
        from: from.into(),
        to: to.into(),
        test: MeshTest::Latency,
        host: "192.0.2.1".into(),
        port: 5210,
        reverse: false,
        time: Nanos::from_secs(1),
        family: None,
    }
}

/// The body of a result of this job with this round trip.
pub(crate) fn done(job: &MeshJob, time: u64) -> String {
    let mut run = run_of_events("of the agent", "latency", &[]);
    let mut times = Histogram::default();
    times.record(time);
    run.summary.rtt = times.distribution();
    run.verdict.status = Status::Ok;
    serde_json::to_string(&JobResult { job: job.clone(), run }).expect("a result is JSON")
}

/// The outcome of a run that ended with `end`.
pub(crate) fn outcome(run: &str, title: &str, end: End) -> Outcome {
    let (started, finished) = (WallTime(1_790_000_000_000_000_000), WallTime(1_790_000_001_000_000_000));
    Outcome {
        run: run.into(),
        title: title.into(),
        agent: "ams".into(),
        end,
        started,
        finished,
        token: 1,
        attempt: 1,
        number: 1,
        unmeasured: false,
    }
}

/// A run that could not be measured.
pub(crate) fn failed(run: &str, title: &str) -> Outcome {
    outcome(run, title, End::Failed { reason: "no route".into() })
}

/// A run of which nothing came.
pub(crate) fn missed(title: &str) -> LedgerRow {
    let state = RunState::Missed { reason: "ams has not been heard".into() };
    LedgerRow { title: title.into(), due: WallTime(1), deadline: WallTime(2), state, ..LedgerRow::default() }
}
