//! Runs as documents that say what their figures mean: filled from events, then judged.

use crate::{advice, analysis, finding, limit};
use model::event::{Event, Finished, Outcome};
use model::finding::Status;
use model::frames::FrameRow;
use model::pairs::Pairs;
use model::run::{Run, Subject};
use model::time::WallTime;
use model::units::Nanos;

/// Makes the document of one test from its events.
#[must_use]
pub fn run_of_events(id: &str, kind: &str, events: &[Event]) -> Run {
    judge(Run::unjudged(id, kind, events))
}

/// Makes the document of a run of several tests, with the findings of all of them.
#[must_use]
pub fn run_of_tests(id: &str, kind: &str, probes: &[Event], tests: Vec<Run>) -> Run {
    judge(Run::unjudged(id, kind, probes).with_tests(tests))
}

/// Makes the document of pairs that ran at once: each is one of its tests, and the plan is the first one's.
#[must_use]
pub fn run_of_pairs(id: &str, probes: &[Event], tests: Vec<Run>, pairs: Pairs) -> Run {
    let warnings = analysis::warnings(&pairs).into_iter().map(Event::Warning);
    let events: Vec<Event> = probes.iter().cloned().chain(warnings).collect();
    let mut run = Run::unjudged(id, "throughput", &events).with_tests(tests);
    run.work = run.tests.first().and_then(|test| test.work.clone());
    run.summary.pairs = Some(Box::new(pairs));
    judge(run)
}

/// Makes the document of a sweep over frame sizes: its tests in order, and its rows.
#[must_use]
pub fn run_of_frames(id: &str, probes: &[Event], tests: Vec<Run>, rows: Vec<FrameRow>) -> Run {
    let mut run = Run::unjudged(id, "frames", probes).with_tests(tests);
    run.summary.rows = rows;
    judge(run)
}

/// Makes the document of a run that measured nothing: it is void.
#[must_use]
pub fn run_of_failure(id: &str, kind: &str, times: [WallTime; 2], reason: &str) -> Run {
    let [started, finished] = times;
    let outcome = Outcome::Failed { reason: reason.to_owned() };
    let ended = Event::Finished(Finished { wall: finished, elapsed: Nanos::ZERO, outcome });
    let mut run = run_of_events(id, kind, &[ended]);
    run.started = Some(started);
    run.verdict.status = Status::Void;
    run
}

/// Fills in limits, findings, advice and verdict of a run. Earlier values are replaced.
#[must_use]
pub fn judge(mut run: Run) -> Run {
    limit::fill(&mut run);
    run.findings = finding::findings_of_run(&run);
    run.advice = if run.subject() == Subject::Path { advice::of_run(&run) } else { Vec::new() };
    run.verdict = finding::verdict(&run);
    run
}
