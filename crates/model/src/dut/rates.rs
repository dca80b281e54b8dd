//! Rates of repeated trials, and their change.

use crate::stats::spread::Moments;
use serde::{Deserialize, Serialize};

/// Mean and standard deviation of the rates of several trials, such as ten of one second at the most load (CSIT's MRR,
/// the maximum receive rate; RFC 2889's forwarding rate at maximum offered load).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Number of trials.
    pub trials: u64,
    /// The mean, in frames per second.
    #[serde(rename = "mean_pps")]
    pub mean: f64,
    /// The sample standard deviation; absent of one trial.
    #[serde(rename = "stddev_pps")]
    pub stddev: Option<f64>,
}

impl Rates {
    /// Summarizes the frames per second of each trial; `None` without trials.
    #[must_use]
    pub fn from_frames_per_second(frames_per_second: &[f64]) -> Option<Rates> {
        let moments = Moments::from_values(frames_per_second);
        Some(Rates { trials: moments.count(), mean: moments.mean()?, stddev: moments.stddev() })
    }

    /// The difference from a reference; `None` when the reference forwards nothing.
    #[must_use]
    pub fn against(&self, reference: &Rates) -> Option<Change> {
        if reference.mean <= 0.0 {
            return None;
        }
        let quotient = self.mean / reference.mean;
        let relative = |rates: &Rates| rates.stddev.map(|stddev| stddev / rates.mean);
        // Nothing is known of the spread of a quotient whose numerator is zero.
        let spread = relative(reference).zip(relative(self)).filter(|_| self.mean > 0.0);
        Some(Change {
            percent: (quotient - 1.0) * 100.0,
            stddev: spread.map(|(one, other)| quotient * one.hypot(other) * 100.0),
        })
    }
}

/// A relative change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// In percent of the reference; above 0 when this is faster.
    pub percent: f64,
    /// Its standard deviation in percentage points, by propagation of both errors (independent, small against the means);
    /// absent where one of them is not known.
    #[serde(rename = "stddev_percent")]
    pub stddev: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread_of_ten_trials() {
        let rates = Rates::from_frames_per_second(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((rates.trials, rates.mean), (8, 5.0));
        assert!((rates.stddev.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Rates::from_frames_per_second(&[3.0]).unwrap().stddev, None);
        assert_eq!(Rates::from_frames_per_second(&[]), None);
    }

    /// 8 ± 0.4 against 10 ± 0.3: −20 %, and 0.8 × √(0.05² + 0.03²) = 4.66 points.
    #[test]
    fn the_change_carries_both_errors() {
        let rates = |mean, stddev| Rates { trials: 10, mean, stddev: Some(stddev) };
        let change = rates(8.0, 0.4).against(&rates(10.0, 0.3)).unwrap();
        assert!((change.percent + 20.0).abs() < 1e-9);
        assert!((change.stddev.unwrap() - 4.664_761_515_876_241).abs() < 1e-9);
        assert_eq!(rates(8.0, 0.4).against(&rates(0.0, 0.0)), None);
        let dead = rates(0.0, 0.0).against(&rates(10.0, 0.3)).unwrap();
        assert_eq!((dead.percent, dead.stddev), (-100.0, None));
    }
}
