//! Where a benchmark is, for a line of progress.

use super::super::Test;
use crate::search::Load;
use std::fmt::{Display, Formatter};

/// Where a benchmark is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What is sent: `IPv4 64`. Empty when all is done.
    pub stream: String,
    /// The test.
    pub test: Test,
    /// The number of the trial that is next in this test, from 1.
    pub trial: u32,
    /// How many there are at most.
    pub trials: u32,
    /// The load in each direction; `None` for as fast as can be.
    pub load: Option<Load>,
    /// The number of this test of this stream among all, from 1.
    pub row: usize,
    /// How many there are.
    pub rows: usize,
}

/// `IPv4 64, throughput 3 of 14: trial 7 of at most 600 at 1.20 Mpps`
impl Display for Progress {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Progress { stream, test, trial, trials, row, rows, .. } = self;
        write!(f, "{stream}, {test} ({row} of {rows}): ")?;
        match self.load {
            Some(load) => write!(f, "trial {trial} of at most {trials} at {load}"),
            None => f.write_str("as fast as can be"),
        }
    }
}
