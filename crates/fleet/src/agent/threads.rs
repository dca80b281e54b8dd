//! Jobs carried out by a closure, each in a thread of its own.

use super::{Permit, Runner, Task, TaskEnd};
use crate::clock::Clock;
use crate::job::AgentJob;
use model::time::{MonoTime, WallTime};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A function that carries a job out: it returns the result, or why there is none.
pub type Work = dyn Fn(&AgentJob, &Start) -> std::result::Result<Measured, String> + Send + Sync;

/// A function that answers a question at once.
pub type Answers = dyn Fn(&str) -> Option<String> + Send + Sync;

/// When a job may begin, and until when it may go on.
pub struct Start {
    at: Option<WallTime>,
    permit: Arc<Permit>,
    clock: Arc<dyn Clock>,
}

/// The result of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The result.
    pub body: String,
    /// When data began to flow, and when it ended, wall clock of this host; absent: the time of the whole job.
    pub span: Option<(WallTime, WallTime)>,
}

impl Start {
    /// The permit to watch: the job ends soon after it is no longer valid.
    #[must_use]
    pub fn permit(&self) -> &Arc<Permit> {
        &self.permit
    }

    /// Whether it is one of a group, which start at the same time: it connects at once and calls [`Start::wait`] before it sends.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.at.is_some()
    }

    /// Waits for the common start, if there is one: sleeps until shortly before, and then spins, as a sleep alone ends 1.5 ms
    /// late at the median. Returns early when the permit ends.
    pub fn wait(&self) {
        let Some(at) = self.at else { return };
        while self.clock.wall() < at && self.permit.is_valid(self.clock.mono()) {
            let left = Duration::from_nanos((at - self.clock.wall()).0);
            match left.checked_sub(SPIN) {
                // When it is stopped, it must not sleep on.
                Some(left) => thread::sleep(left.min(Duration::from_millis(100))),
                None => std::hint::spin_loop(),
            }
        }
    }
}

/// A [`Runner`] of threads.
pub struct Threads {
    work: Arc<Work>,
    clock: Arc<dyn Clock>,
    answers: Option<Box<Answers>>,
}

impl Threads {
    /// Has jobs carried out by `work`.
    #[must_use]
    pub fn new(work: Arc<Work>, clock: Arc<dyn Clock>) -> Threads {
        Threads { work, clock, answers: None }
    }

    /// With what answers questions.
    #[must_use]
    pub fn answering(mut self, answers: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Threads {
        self.answers = Some(Box::new(answers));
        self
    }
}

impl Runner for Threads {
    fn answer(&self, question: &str) -> Option<String> {
        self.answers.as_ref().and_then(|answers| answers(question))
    }

    fn start(&self, job: &AgentJob, at: Option<WallTime>, permit: &Arc<Permit>) -> Box<dyn Task> {
        let (work, clock, job) = (Arc::clone(&self.work), Arc::clone(&self.clock), job.clone());
        let start = Start { at, permit: Arc::clone(permit), clock: Arc::clone(&clock) };
        let carry_out = move || {
            let begun = clock.wall();
            let measured = work(&job, &start);
            let (whole, ended) = ((begun, clock.wall()), clock.mono());
            let (started, finished) = measured.as_ref().map_or(whole, |done| done.span.unwrap_or(whole));
            TaskEnd { started, finished, ended, result: measured.map(|done| done.body) }
        };
        let begun = (self.clock.wall(), self.clock.mono());
        let thread = thread::Builder::new().name("job".to_owned()).spawn(carry_out);
        Box::new(ThreadTask { thread: Some(thread), begun })
    }
}

struct ThreadTask {
    thread: Option<std::io::Result<JoinHandle<TaskEnd>>>,
    begun: (WallTime, MonoTime),
}

impl ThreadTask {
    fn failed(&self, why: &str) -> TaskEnd {
        let (wall, ended) = self.begun;
        TaskEnd { started: wall, finished: wall, ended, result: Err(why.to_owned()) }
    }
}

impl Task for ThreadTask {
    fn poll(&mut self) -> Option<TaskEnd> {
        match self.thread.take()? {
            Ok(thread) if !thread.is_finished() => {
                self.thread = Some(Ok(thread));
                None
            }
            Ok(thread) => Some(
                thread.join().unwrap_or_else(|_| self.failed("internal error: the job's thread panicked")),
            ),
            Err(error) => Some(self.failed(&format!("start a thread: {error}"))),
        }
    }
}

const SPIN: Duration = Duration::from_millis(2);
