//! Jobs carried out by a closure, each in a thread of its own.

use super::{Permit, Runner, Task, TaskEnd};
use crate::clock::Clock;
use crate::job::AgentJob;
use model::time::WallTime;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What carries a job out: it gets the job and the permit that it must watch, and gives the result or why there is none.
pub type Work = dyn Fn(&AgentJob, &Arc<Permit>) -> std::result::Result<String, String> + Send + Sync;

/// A [`Runner`] of threads.
pub struct Threads {
    work: Arc<Work>,
    clock: Arc<dyn Clock>,
}

impl Threads {
    /// Has jobs carried out by `work`.
    #[must_use]
    pub fn new(work: Arc<Work>, clock: Arc<dyn Clock>) -> Threads {
        Threads { work, clock }
    }
}

impl Runner for Threads {
    fn start(&self, job: &AgentJob, at: Option<WallTime>, permit: &Arc<Permit>) -> Box<dyn Task> {
        let (work, clock, job) = (Arc::clone(&self.work), Arc::clone(&self.clock), job.clone());
        let permit = Arc::clone(permit);
        let carry_out = move || {
            wait_until(at, &*clock, &permit);
            let started = clock.wall();
            let result = work(&job, &permit);
            TaskEnd { started, finished: clock.wall(), result }
        };
        let begun = self.clock.wall();
        let thread = thread::Builder::new().name("job".to_owned()).spawn(carry_out);
        Box::new(ThreadTask { thread: Some(thread), begun })
    }
}

struct ThreadTask {
    thread: Option<std::io::Result<JoinHandle<TaskEnd>>>,
    begun: WallTime,
}

impl ThreadTask {
    fn failed(&self, why: &str) -> TaskEnd {
        TaskEnd { started: self.begun, finished: self.begun, result: Err(why.to_owned()) }
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

/// Sleeps until shortly before, and then spins: a sleep alone ends 1.5 ms late at the median.
fn wait_until(at: Option<WallTime>, clock: &dyn Clock, permit: &Permit) {
    let Some(at) = at else { return };
    while clock.wall() < at && permit.is_valid(clock.mono()) {
        let left = Duration::from_nanos((at - clock.wall()).0);
        match left.checked_sub(SPIN) {
            // Asked to stop, it must not sleep on.
            Some(left) => thread::sleep(left.min(Duration::from_millis(100))),
            None => std::hint::spin_loop(),
        }
    }
}

const SPIN: Duration = Duration::from_millis(2);
