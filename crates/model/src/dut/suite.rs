//! The conductor of a benchmark: what to send next, and what has been found. It has no clock, no chance, and sends nothing.

mod progress;

pub use progress::Progress;

use super::{Action, Observation, Order, ServiceReport, Setup, SetupError, StreamReport};
use crate::units::Nanos;

/// A benchmark under way.
#[derive(Debug)]
pub struct Suite {
    setup: Setup,
    rows: Vec<StreamReport>,
}

impl Suite {
    /// A benchmark of which nothing has been done.
    ///
    /// # Errors
    /// As [`Setup::check`].
    pub fn new(setup: &Setup) -> Result<Suite, SetupError> {
        setup.check()?;
        Ok(Suite { setup: setup.clone(), rows: Vec::new() })
    }

    /// What to do now; `None` when all is done. The same until its observation is taken.
    #[must_use]
    pub fn order(&self) -> Option<Order> {
        let stream = self.setup.streams.get(self.rows.len())?.clone();
        Some(Order { test: self.setup.tests[0], stream, action: Action::Flood(self.setup.times.flood) })
    }

    /// Takes what came of that order. Without effect when all is done.
    pub fn take(&mut self, _observation: &Observation) {
        self.leave_out("not measured");
    }

    /// The rest of the present test of the present stream cannot be done; what it found so far stays. A flood that cannot be
    /// done leaves out all tests of its stream.
    pub fn leave_out(&mut self, _why: &str) {
        if let Some(stream) = self.setup.streams.get(self.rows.len()) {
            self.rows.push(StreamReport::new(stream.clone()));
        }
    }

    /// How long what is left takes at most.
    #[must_use]
    pub fn left(&self) -> Nanos {
        self.setup.plan().most()
    }

    /// Where it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            stream: String::new(),
            test: self.setup.tests[0],
            trial: 0,
            trials: 0,
            load: None,
            row: 0,
            rows: 0,
        }
    }

    /// What was found, a row for each stream; also in the middle, and then what is unfinished is marked.
    #[must_use]
    pub fn finish(self) -> (Vec<StreamReport>, Option<ServiceReport>) {
        (self.rows, None)
    }
}
