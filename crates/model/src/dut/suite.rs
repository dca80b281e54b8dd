//! The sequence of a benchmark: the next request, and the results so far. This module has no clock, no randomness, and sends
//! nothing.
//!
//! Every stream begins with a flood, which shows whether the device forwards at all and the rate that the generator reaches. Then
//! come the tests in the order of the request. A test is a [`DeviceTest`]: it names one action after the other and writes its part
//! of the report. A test that cannot be done is left out with the reason, and the others go on.

mod bursts;
mod delays;
mod disturbed;
mod flood;
mod halves;
mod job;
mod latency;
mod loss;
mod progress;
mod rates;
mod service;

pub use progress::Progress;

use super::{
    Action, BenchRequest, LeftOut, Observation, PlanRow, ServiceReport, Setup, SetupError, StreamReport, Test,
};
use crate::search::Load;
use crate::units::Nanos;
use bursts::Bursts;
use delays::DelayVariation;
use disturbed::{Recovery, Reset};
use job::DeviceTest;
use latency::Latency;
use loss::{FrameLoss, MostLoad};
use rates::Rates;
use service::Service;

/// A running benchmark.
#[derive(Debug)]
pub struct Suite {
    setup: Setup,
    /// The streams that are done.
    done: Vec<StreamReport>,
    service: Option<ServiceReport>,
    /// The running stream; `None` when all are done.
    running: Option<Running>,
}

/// A running stream.
#[derive(Debug)]
struct Running {
    row: StreamReport,
    tests: Vec<PlanRow>,
    /// Index of the running test.
    at: usize,
    /// `None` of the flood.
    job: Option<Box<dyn DeviceTest>>,
    /// Trials of this test whose result was taken.
    trials: u32,
    /// Planned duration of the finished ones, with their pauses.
    spent: Nanos,
}

impl Suite {
    /// A benchmark of which nothing has been done.
    ///
    /// # Errors
    /// As [`Setup::check`].
    pub fn new(setup: &Setup) -> Result<Suite, SetupError> {
        setup.check()?;
        let mut suite = Suite { setup: setup.clone(), done: Vec::new(), service: None, running: None };
        suite.begin_stream();
        Ok(suite)
    }

    /// The next request; `None` when all is done. The same until its observation is taken.
    #[must_use]
    pub fn next_request(&self) -> Option<BenchRequest> {
        let running = self.running.as_ref()?;
        let action = running.action(&self.setup)?;
        Some(BenchRequest {
            test: running.tests[running.at].test,
            stream: running.row.stream.clone(),
            action,
        })
    }

    /// Takes what came of that order. Without effect when all is done.
    pub fn take(&mut self, observation: &Observation) {
        let Some(running) = &mut self.running else { return };
        running.spent += running
            .action(&self.setup)
            .map_or(Nanos::ZERO, |action| self.setup.times.pause + action.time(&running.row.stream));
        running.trials = running.trials.saturating_add(1);
        match &mut running.job {
            None => match flood::read(&self.setup, &mut running.row, observation) {
                Ok(()) => self.start(0),
                Err(why) => self.leave_out(&why),
            },
            Some(job) => match job.take(observation) {
                Err(why) => self.leave_out(&why),
                Ok(()) if job.action().is_none() => self.end_test(),
                Ok(()) => {}
            },
        }
    }

    /// The rest of the present test of the present stream cannot be done; what it found so far stays. A flood that cannot be
    /// done leaves out all tests of its stream.
    pub fn leave_out(&mut self, why: &str) {
        let Some(running) = &mut self.running else { return };
        if running.job.is_some() {
            running.leave_out(running.at..=running.at, why);
            self.end_test();
        } else {
            running.leave_out(0..running.tests.len(), why);
            self.start(usize::MAX);
        }
    }

    /// Longest duration of the remainder, with its pauses; trials that are discarded and repeated come on top.
    pub fn left(&self) -> Nanos {
        let Some(running) = &self.running else { return Nanos::ZERO };
        let all = |rows: &[PlanRow]| rows.iter().map(|row| row.most).sum::<Nanos>();
        let later = self.done.len() + 1..self.setup.streams.len();
        let whole = |index| self.setup.flood_time(&self.setup.streams[index]) + all(&self.rows_of(index));
        let later: Nanos = later.map(whole).sum();
        later
            + match running.job {
                None => self.setup.flood_time(&running.row.stream) + all(&running.tests),
                Some(_) => {
                    (all(&running.tests[running.at..])) - running.spent.min(running.tests[running.at].most)
                }
            }
    }

    /// Where it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let tests =
            |streams: usize| (0..streams).map(|index| self.setup.tests_of(index).len()).sum::<usize>();
        let rows = tests(self.setup.streams.len());
        let Some(running) = &self.running else {
            let (stream, test) = (String::new(), self.setup.tests[0]);
            return Progress { stream, test, trial: 0, trials: 0, load: None, row: rows, rows };
        };
        let test = &running.tests[running.at];
        Progress {
            stream: running.row.stream.to_string(),
            test: test.test,
            trial: running.trials.saturating_add(1),
            trials: running.job.as_ref().map_or(1, |_| test.trials),
            load: running.action(&self.setup).and_then(|action| action.load()),
            row: tests(self.done.len()) + running.at + 1,
            rows,
        }
    }

    /// The results, a row for each stream. Before the end, unfinished parts are marked.
    #[must_use]
    pub fn finish(mut self) -> (Vec<StreamReport>, Option<ServiceReport>) {
        if let Some(running) = &mut self.running {
            if let Some(job) = &running.job {
                job.report(&mut running.row, &mut self.service);
                running.leave_out(running.at..=running.at, UNFINISHED);
                running.leave_out(running.at + 1..running.tests.len(), NOT_BEGUN);
            } else {
                running.leave_out(0..running.tests.len(), NOT_BEGUN);
            }
        }
        while let Some(running) = self.running.take() {
            self.done.push(running.row);
            self.begin_stream();
            if let Some(next) = &mut self.running {
                next.leave_out(0..next.tests.len(), NOT_BEGUN);
            }
        }
        (self.done, self.service)
    }

    fn rows_of(&self, index: usize) -> Vec<PlanRow> {
        let stream = &self.setup.streams[index];
        self.setup.tests_of(index).into_iter().map(|test| self.setup.row(test, stream)).collect()
    }

    /// The next stream that has a test, before its flood.
    fn begin_stream(&mut self) {
        while let Some(stream) = self.setup.streams.get(self.done.len()) {
            let line_rate = self.setup.line_rate(stream).ok().flatten();
            let row = StreamReport { stream: stream.clone(), line_rate, ..StreamReport::default() };
            let tests = self.rows_of(self.done.len());
            if !tests.is_empty() {
                self.running = Some(Running { row, tests, at: 0, job: None, trials: 0, spent: Nanos::ZERO });
                return;
            }
            self.done.push(row);
        }
    }

    /// The present test is over.
    fn end_test(&mut self) {
        let Some(running) = &mut self.running else { return };
        if let Some(job) = &running.job {
            job.report(&mut running.row, &mut self.service);
        }
        let next = running.at + 1;
        self.start(next);
    }

    /// Starts the next test that can be done, from this one on, or the next stream.
    fn start(&mut self, from: usize) {
        let Some(mut running) = self.running.take() else { return };
        for at in from..running.tests.len() {
            match start(running.tests[at].test, &self.setup, &running.row) {
                Err(why) => running.leave_out(at..=at, &why),
                Ok(job) => {
                    self.running =
                        Some(Running { at, job: Some(job), trials: 0, spent: Nanos::ZERO, ..running });
                    return;
                }
            }
        }
        self.done.push(running.row);
        self.begin_stream();
    }
}

impl Running {
    fn action(&self, setup: &Setup) -> Option<Action> {
        self.job.as_ref().map_or(Some(Action::Flood(setup.times.flood)), |job| job.action())
    }

    fn leave_out(&mut self, tests: impl IntoIterator<Item = usize>, why: &str) {
        let left_out = tests.into_iter().map(|at| LeftOut { test: self.tests[at].test, why: why.to_owned() });
        self.row.left_out.extend(left_out);
    }
}

const UNFINISHED: &str = "unfinished: the benchmark was ended";
const NOT_BEGUN: &str = "not begun: the benchmark was ended";

/// Starts a test; its first action is at hand.
///
/// # Errors
/// Why it cannot be done with this stream.
fn start(test: Test, setup: &Setup, row: &StreamReport) -> Result<Box<dyn DeviceTest>, String> {
    let most = row.most.ok_or("nothing is known of the most load")?;
    let throughput = || throughput(row);
    Ok(match test {
        Test::Throughput => Box::new(Rates::new(setup, row, most)?),
        Test::Latency => Box::new(Latency::new(setup, row, throughput()?)?),
        Test::FrameLoss => Box::new(FrameLoss::new(setup, most)?),
        Test::BackToBack => Box::new(Bursts::new(setup, row, throughput()?, most)?),
        Test::Recovery => Box::new(Recovery::new(setup, throughput()?, most)?),
        Test::Reset => Box::new(Reset::new(setup, throughput()?)?),
        Test::Mrr => Box::new(MostLoad::new(setup, most)?),
        Test::DelayVariation => Box::new(DelayVariation::new(setup, throughput()?)?),
        Test::Service => Box::new(Service::new(setup, row, most)?),
    })
}

/// The rate that stands for the throughput: the lower bound of the first goal that has one.
fn throughput(row: &StreamReport) -> Result<Load, String> {
    let named = |name: &String| row.rates.iter().find(|rate| rate.goal == *name);
    let lower = row.reference.as_ref().and_then(named).and_then(|rate| rate.lower);
    lower.ok_or_else(|| "no throughput was found, and its loads are shares of it".to_owned())
}
