//! The attributes of a search goal (RFC 9971 section 4.4), and the coarser targets that lead to it.

use super::super::{SearchError, accept};
use super::scale::Scale;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// One goal of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[must_use]
pub struct Goal {
    /// A trial with a higher loss ratio is a bad one; 0 to below 1.
    pub loss_ratio: f64,
    /// The share of the time at a load that bad trials may take, 0 to below 1.
    pub exceed_ratio: f64,
    /// The search ends when upper and lower bound are this close, as a share of the upper one.
    pub width: f64,
    /// The shortest trial, in nanoseconds: the search begins with it.
    #[serde(rename = "initial_duration_ns")]
    pub initial_duration: Nanos,
    /// The trials that decide, in nanoseconds.
    #[serde(rename = "final_duration_ns")]
    pub final_duration: Nanos,
    /// The least sum of these at a load, in nanoseconds.
    #[serde(rename = "duration_sum_ns")]
    pub duration_sum: Nanos,
    /// Number of coarser and shorter searches that precede this one.
    pub preceding: u32,
    /// Factor by which the step grows when a search for the missing bound fails again.
    pub expansion: u32,
    /// End the whole search when the least load fails this goal.
    pub fail_fast: bool,
}

impl Goal {
    /// No drop rate as defined by CSIT: half of 21 trials of one second without any loss, to half a percent.
    pub fn ndr() -> Goal {
        Goal {
            loss_ratio: 0.0,
            exceed_ratio: 0.5,
            width: 0.005,
            initial_duration: Nanos::from_secs(1),
            final_duration: Nanos::from_secs(1),
            duration_sum: Nanos::from_secs(21),
            preceding: 2,
            expansion: 2,
            fail_fast: true,
        }
    }

    /// Partial drop rate as defined by CSIT: the same with up to 0.5 % loss.
    pub fn pdr() -> Goal {
        Goal { loss_ratio: 0.005, ..Goal::ndr() }
    }

    /// RFC 2544's throughput (section 26.1): one trial of 60 seconds without loss; its load is the conditional throughput.
    pub fn rfc2544() -> Goal {
        let minute = Nanos::from_secs(60);
        Goal { exceed_ratio: 0.0, final_duration: minute, duration_sum: minute, ..Goal::ndr() }
    }

    pub(super) fn check(&self) -> Result<(), SearchError> {
        let ratio = 0.0..1.0;
        accept(ratio.contains(&self.loss_ratio), "loss ratio", self.loss_ratio, RATIO)?;
        accept(ratio.contains(&self.exceed_ratio), "exceed ratio", self.exceed_ratio, RATIO)?;
        let width = (LEAST_WIDTH..1.0).contains(&self.width);
        accept(width, "width", self.width, "from 0.000001 to below 1")?;
        accept(self.expansion > 1, "expansion", self.expansion.into(), "2 or more")?;
        accept(self.preceding <= MOST_PRECEDING, "preceding targets", self.preceding.into(), "16 or fewer")?;
        let problem = if self.initial_duration == Nanos::ZERO {
            "the initial trial must be longer than nothing"
        } else if self.final_duration < self.initial_duration {
            "the final trial must not be shorter than the initial one"
        } else if self.duration_sum < self.final_duration {
            "the duration sum must not be shorter than the final trial"
        } else if self.preceding == 0 && self.initial_duration < self.duration_sum {
            "without preceding targets the initial trial must be as long as the duration sum"
        } else {
            return Ok(());
        };
        Err(SearchError::Durations(problem))
    }

    /// The chain of targets, coarsest first: each twice as wide as the next, its duration sum in a geometric series from the
    /// initial trial to the goal's own sum.
    pub(super) fn targets(&self, scale: &Scale) -> Vec<Target> {
        let width = scale.width(self.width);
        let ratio = self.initial_duration.0 as f64 / self.duration_sum.0 as f64;
        let sum = |ahead: u32| match ahead {
            0 => self.duration_sum,
            _ if ahead == self.preceding => self.initial_duration,
            _ => {
                let part = ratio.powf(f64::from(ahead) / f64::from(self.preceding));
                Nanos((self.duration_sum.0 as f64 * part).round() as u64)
            }
        };
        (0..=self.preceding)
            .rev()
            .map(|ahead| Target {
                loss_ratio: self.loss_ratio,
                exceed_ratio: self.exceed_ratio,
                width: scale.limit(width << ahead),
                trial_duration: self.final_duration.min(sum(ahead)),
                duration_sum: sum(ahead),
                expansion: i64::from(self.expansion),
                fail_fast: self.fail_fast && ahead == 0,
            })
            .collect()
    }
}

/// A goal, or a coarser search that precedes it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) loss_ratio: f64,
    pub(super) exceed_ratio: f64,
    /// The width in steps of the scale.
    pub(super) width: i64,
    pub(super) trial_duration: Nanos,
    pub(super) duration_sum: Nanos,
    pub(super) expansion: i64,
    pub(super) fail_fast: bool,
}

const RATIO: &str = "from 0 to below 1";
/// Below this a step is lost in a double's rounding, and no generator is that exact.
const LEAST_WIDTH: f64 = 1e-6;
const MOST_PRECEDING: u32 = 16;

#[cfg(test)]
mod tests {
    use super::super::super::{Limits, Load};
    use super::*;

    #[test]
    fn the_chain_of_csit() {
        let limits = Limits { min: Load(9001.0), max: Load(1e7) };
        let scale = Scale::new(&limits, &[0.005]).unwrap();
        let chain = Goal::ndr().targets(&scale);
        let sums: Vec<u64> = chain.iter().map(|target| target.duration_sum.0).collect();
        assert_eq!(sums, [1_000_000_000, 4_582_575_695, 21_000_000_000]);
        assert!(chain.iter().all(|target| target.trial_duration == Nanos::from_secs(1)));
        assert_eq!(chain[0].width, 4 * chain[2].width);
        let long = Goal::rfc2544().targets(&scale);
        let trials: Vec<u64> = long.iter().map(|target| target.trial_duration.0).collect();
        assert_eq!(trials, [1_000_000_000, 7_745_966_692, 60_000_000_000]);
    }

    #[test]
    fn goals_without_sense_are_refused() {
        for bad in [
            Goal { loss_ratio: 1.0, ..Goal::ndr() },
            Goal { exceed_ratio: f64::NAN, ..Goal::ndr() },
            Goal { width: 0.0, ..Goal::ndr() },
            Goal { expansion: 1, ..Goal::ndr() },
            Goal { preceding: 0, ..Goal::ndr() },
            Goal { preceding: 17, ..Goal::ndr() },
            Goal { initial_duration: Nanos::ZERO, ..Goal::ndr() },
            Goal { final_duration: Nanos::from_millis(10), ..Goal::ndr() },
            Goal { duration_sum: Nanos::from_millis(10), ..Goal::ndr() },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        for good in [Goal::ndr(), Goal::pdr(), Goal::rfc2544()] {
            good.check().unwrap();
        }
    }
}
