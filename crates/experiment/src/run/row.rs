//! A row while its runs come in.

use crate::agents::Lease;
use crate::compare::{findings, merged};
use crate::plan::Cell;
use engine::error::{Error, sentence};
use model::expectation::Checked;
use model::experiment::{ExperimentRow, RowRun};
use model::finding::{Finding, Status};
use model::history::Measured;
use model::run::Run;
use model::stats::histogram::Histogram;
use model::units::Bytes;
use report::expect::{Expectation, headlines, sample};

/// A row and what came of its runs.
pub(super) struct Gathered<'a> {
    pub(super) cell: Cell<'a>,
    /// Why it cannot run here.
    refused: Option<String>,
    /// Why no more of it is done.
    left: Option<String>,
    expected: Vec<Expectation>,
    runs: Vec<RowRun>,
    /// Findings, round trips and outcomes of the expectations of each run that counts.
    counted: Vec<(Vec<Finding>, Option<Histogram>, Vec<Checked>)>,
    /// Runs that failed in a row.
    failed: u32,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) enum Came {
    /// A result, why it was cut short, and the agent's lease.
    Ran(Box<Run>, Option<String>, Option<Lease>),
    /// Nothing, and why.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

impl Came {
    pub(super) fn failed(error: &Error) -> Came {
        let advice = error.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
        Came::Failed(format!("{}{advice}", sentence(error)))
    }
}

impl<'a> Gathered<'a> {
    pub(super) fn new(cell: Cell<'a>, refused: Option<String>, expected: Vec<Expectation>) -> Gathered<'a> {
        let (runs, counted) = (Vec::new(), Vec::new());
        Gathered { cell, refused, left: None, expected, runs, counted, failed: 0 }
    }

    /// Nothing more of it is to be done.
    pub(super) fn is_over(&self) -> bool {
        self.refused.is_some() || self.left.is_some()
    }

    /// Takes a run.
    pub(super) fn take(&mut self, round: u32, came: Came) {
        match came {
            Came::Ran(run, error, lease) => {
                self.failed = 0;
                if error.is_none() && run.verdict.status != Status::Void {
                    let round_trips = sample(Measured::Run(&run)).histograms;
                    let round_trips = merged(round_trips.iter().map(|(_, counted)| counted));
                    let checked = self.expected.iter().map(|expected| expected.check(&run)).collect();
                    self.counted.push((run.findings.clone(), round_trips, checked));
                }
                self.runs.push(of_run(round, &run, error, lease));
            }
            Came::Failed(why) => {
                self.failed += 1;
                self.runs.push(RowRun { round, error: Some(why), ..RowRun::default() });
                if self.failed == GIVE_UP {
                    self.left = Some(format!("given up after {GIVE_UP} failures one after the other"));
                }
            }
            Came::Stopped => {}
        }
    }

    /// Leaves the missing runs out.
    pub(super) fn leave(&mut self, why: &str, repetitions: u32) {
        if self.runs.len() < repetitions as usize && !self.is_over() {
            self.left = Some(why.to_owned());
        }
    }

    /// The row as the document has it, but for its comparison.
    pub(super) fn finish(self, repetitions: u32) -> ExperimentRow {
        let reason = self.reason(repetitions);
        let (path, test) = (self.cell.path.name.clone(), self.cell.test.name.clone());
        ExperimentRow {
            path,
            sites: self.cell.path.sites.clone(),
            test,
            settings: self.cell.variant.settings.clone(),
            figures: Vec::new(),
            round_trips: merged(self.counted.iter().filter_map(|(_, counted, _)| counted.as_ref()))
                .and_then(|all| all.distribution()),
            against: None,
            findings: findings(self.counted.iter().map(|(findings, ..)| findings.as_slice())),
            expectations: self.expectations(),
            unavailable: self.refused.is_some(),
            reason,
            runs: self.runs,
        }
    }

    /// Why runs are missing or do not count.
    fn reason(&self, repetitions: u32) -> Option<String> {
        if let Some(refused) = &self.refused {
            return Some(refused.clone());
        }
        let void = self.runs.iter().find(|run| run.error.is_none() && run.status == Some(Status::Void));
        let void = void.map(|run| format!("void: {}", run.verdict));
        let first = self.runs.iter().find_map(|run| run.error.clone()).or(void);
        let counted = self.counted.len();
        let all = || match counted {
            0 => String::new(),
            some => format!("{some} of {repetitions} runs count: "),
        };
        match (first, &self.left) {
            (Some(first), Some(left)) => Some(format!("{}{first}; {left}", all())),
            (Some(why), None) => Some(format!("{}{why}", all())),
            (None, Some(why)) => Some(format!("{}{why}", all())),
            (None, None) => None,
        }
    }

    /// Each expectation is met when every run that counts meets it. The measured value is that of the first run that does not.
    fn expectations(&self) -> Vec<Checked> {
        let checked = |(at, text): (usize, &String)| {
            let mut all = self.counted.iter().filter_map(|(.., checked)| checked.get(at));
            let broken = all.clone().find(|checked| !checked.held);
            broken.or_else(|| all.next()).cloned().unwrap_or(Checked {
                expectation: text.clone(),
                measured: None,
                held: false,
            })
        };
        self.cell.test.expect.iter().enumerate().map(checked).collect()
    }
}

fn of_run(round: u32, run: &Run, error: Option<String>, lease: Option<Lease>) -> RowRun {
    let (agent, lease_token) = lease.map(|lease| (lease.agent, lease.token)).unzip();
    RowRun {
        id: run.id.clone(),
        round,
        started: run.started,
        status: Some(run.verdict.status),
        verdict: run.verdict.text.clone(),
        figures: headlines(Measured::Run(run)),
        error,
        agent,
        lease_token,
    }
}

/// Payload that a run moved, in both directions.
pub(super) fn payload(run: &Run) -> Bytes {
    let directions =
        std::iter::once(run).chain(&run.tests).flat_map(|run| [&run.summary.up, &run.summary.down]);
    let streams = directions.flatten().map(|one| one.received.bytes);
    let files = run.summary.transfer.iter().flat_map(|result| &result.transfers).map(|one| one.bytes);
    streams.chain(files).fold(Bytes::ZERO, Bytes::saturating_add)
}

/// A far end that fails this many times in a row is not tried again.
const GIVE_UP: u32 = 3;
