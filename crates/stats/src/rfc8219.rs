//! Figures that RFC 8219 requires: delay variation, and the summary over runs.

use super::quantile::{ascending, median, nearest_rank};
use serde::{Deserialize, Serialize};

/// Inter-packet delay variation (RFC 8219 section 7.3.2, RFC 3393): each delay less the one before, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterPacketVariation {
    /// The least.
    pub min_ns: i64,
    /// The middle one, or the lower of the two in the middle.
    pub median_ns: i64,
    /// The most.
    pub max_ns: i64,
}

/// A figure over repeated runs: median, first and 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OverRuns {
    /// Number of runs.
    pub runs: u64,
    /// The middle run, or the mean of the two in the middle.
    pub median: f64,
    /// The first percentile; with fewer than 101 runs the least.
    pub p1: f64,
    /// The 99th percentile; with fewer than 100 runs the most.
    pub p99: f64,
    /// There were fewer runs than the 20 that RFC 8219 requires.
    pub too_few: bool,
}

impl OverRuns {
    /// The summary of one figure of each run, in any unit; `None` without runs.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<OverRuns> {
        let sorted = ascending(values);
        Some(OverRuns {
            runs: values.len() as u64,
            median: median(values)?,
            p1: nearest_rank(&sorted, 0.01)?,
            p99: nearest_rank(&sorted, 0.99)?,
            too_few: values.len() < RUNS_NEEDED,
        })
    }
}

/// Repetitions that RFC 8219 requires.
pub const RUNS_NEEDED: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_runs_have_their_ends_as_percentiles() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let summary = OverRuns::from_values(&values).unwrap();
        assert_eq!((summary.median, summary.p1, summary.p99, summary.too_few), (10.5, 1.0, 20.0, false));
        assert!(OverRuns::from_values(&values[..19]).unwrap().too_few);
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        let summary = OverRuns::from_values(&many).unwrap();
        assert_eq!((summary.p1, summary.p99), (2.0, 198.0));
        assert_eq!(OverRuns::from_values(&[]), None);
    }
}
