//! Where a benchmark is, for a line of progress.

use super::super::Test;
use crate::search::Load;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Where a benchmark is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Name of the stream: `IPv4 64`; empty when all is done.
    pub stream: String,
    /// The test; of a flood the first one of its stream.
    pub test: Test,
    /// The number of the trial that is next in this test, from 1.
    pub trial: u32,
    /// Most trials.
    pub trials: u32,
    /// The load in each direction; `None` for as fast as can be.
    pub load: Option<Load>,
    /// The number of this test of this stream among all, from 1.
    pub row: usize,
    /// Number of rows.
    pub rows: usize,
}

/// `IPv4 64, throughput (3 of 14): trial 7 of at most 600 at 1.20 Mpps`
impl Display for Progress {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Progress { stream, test, trial, trials, row, rows, .. } = self;
        match self.load {
            _ if stream.is_empty() => f.write_str("done"),
            Some(load) => {
                write!(f, "{stream}, {test} ({row} of {rows}): trial {trial} of at most {trials} at {load}")
            }
            None => write!(f, "{stream}: as fast as can be"),
        }
    }
}
