//! RFC 2544's throughput (section 26.1) by bisection: the highest load at which a full trial loses no frame.
//!
//! With a shorter trial for the search, only the reported load is measured for the full time: RFC 2544 section 24 requires 60
//! seconds at the throughput itself.

use super::{Irregular, Limits, Load, Search, SearchError, Trial, TrialResult, accept, not_empty};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The configuration of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BinaryConfig {
    /// The least and the most load.
    pub limits: Limits,
    /// The search ends when the bounds are this close, as a share of the most load.
    pub resolution: f64,
    /// The loss ratio that passes, 0 for RFC 2544.
    pub loss_ratio: f64,
    /// Duration of a trial that decides, in nanoseconds.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
    /// Duration of a shorter trial for the search, in nanoseconds.
    #[serde(rename = "short_duration_ns")]
    pub short: Option<Nanos>,
}

impl BinaryConfig {
    fn check(&self) -> Result<(), SearchError> {
        self.limits.check()?;
        let resolution = (1e-6..1.0).contains(&self.resolution);
        accept(resolution, "resolution", self.resolution, "from 0.000001 to below 1")?;
        let loss = (0.0..1.0).contains(&self.loss_ratio);
        accept(loss, "loss ratio", self.loss_ratio, "from 0 to below 1")?;
        if self.short.is_some_and(|short| short >= self.duration) {
            return Err(SearchError::Durations("the short trial must be shorter than the full one"));
        }
        not_empty(self.limits.min, self.short.unwrap_or(self.duration))
    }

    /// The most trials that such a search can take.
    #[must_use]
    pub fn most_trials(&self) -> u32 {
        let halves = (1.0 / self.resolution).log2().ceil().max(0.0) as u32;
        // Both ends, and the bisections; with short trials, each that passed once more, and the bisections below the one that
        // holds.
        if self.short.is_some() { 3 * (halves + 3) } else { halves + 2 }
    }
}

/// The outcome of a binary search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BinaryOutcome {
    /// The highest load that passed a full trial, in frames per second.
    #[serde(rename = "throughput_pps")]
    pub throughput: Option<Load>,
    /// The lowest load that failed, in frames per second.
    #[serde(rename = "upper_pps")]
    pub upper: Option<Load>,
    /// Notes on these; empty for a regular result.
    pub irregular: Vec<Irregular>,
    /// Number of trials.
    pub trials: u32,
}

/// The search itself.
#[derive(Clone, Debug)]
pub struct Binary {
    config: BinaryConfig,
    /// Loads that passed a short trial only, ascending, all above `throughput`.
    candidates: Vec<f64>,
    throughput: Option<f64>,
    upper: Option<f64>,
    /// The device passes at the upper bound, but the generator does not.
    generator_limited: bool,
    duplicates: bool,
    /// A short trial has been contradicted or confirmed: from now on every trial is a full one.
    full_only: bool,
    trials: u32,
}

impl Binary {
    /// A search that has run no trial yet.
    ///
    /// # Errors
    /// When the limits, shares or durations are not valid.
    pub fn new(config: BinaryConfig) -> Result<Binary, SearchError> {
        config.check()?;
        Ok(Binary {
            full_only: config.short.is_none(),
            config,
            candidates: Vec::new(),
            throughput: None,
            upper: None,
            generator_limited: false,
            duplicates: false,
            trials: 0,
        })
    }

    /// The outcome so far; also while the search runs.
    #[must_use]
    pub fn outcome(&self) -> BinaryOutcome {
        let mut irregular = Vec::new();
        match (self.throughput, self.upper) {
            _ if self.trial().is_some() => irregular.push(Irregular::Unfinished),
            (Some(_), None) => irregular.push(Irregular::NoUpperBound),
            (None, _) => irregular.push(Irregular::NoLowerBound),
            _ => {}
        }
        if self.generator_limited {
            irregular.push(Irregular::GeneratorLimited);
        }
        if self.duplicates {
            irregular.push(Irregular::Duplicates);
        }
        BinaryOutcome {
            throughput: self.throughput.map(Load),
            upper: self.upper.map(Load),
            irregular,
            trials: self.trials,
        }
    }

    /// The next load, and whether the trial is a full one.
    fn planned(&self) -> Option<(f64, bool)> {
        let Limits { min: Load(min), max: Load(max) } = self.config.limits;
        let candidate = self.candidates.last().copied();
        let Some(upper) = self.upper else {
            return match candidate {
                Some(candidate) => Some((candidate, true)),
                None if self.throughput.is_some() => None,
                None => Some((max, self.full_only)),
            };
        };
        // Once a full trial has contradicted a short one, the results of the others are doubtful too.
        let doubtful = candidate.filter(|_| self.full_only);
        let lower = candidate.or(self.throughput).unwrap_or(min);
        if let Some(candidate) = doubtful {
            Some((candidate, true))
        } else if upper - lower > self.config.resolution * max {
            Some((lower + (upper - lower) / 2.0, self.full_only))
        } else if let Some(candidate) = candidate {
            Some((candidate, true))
        } else if self.throughput.is_none() && upper > min {
            Some((min, self.full_only))
        } else {
            None
        }
    }
}

impl Search for Binary {
    fn trial(&self) -> Option<Trial> {
        let (load, full) = self.planned()?;
        let short = self.config.short.filter(|_| !full);
        Some(Trial::new(Load(load), short.unwrap_or(self.config.duration)))
    }

    fn take(&mut self, result: &TrialResult) {
        let Some((load, full)) = self.planned() else { return };
        self.trials += 1;
        let passes = result.loss_ratio() <= self.config.loss_ratio;
        if passes && !full {
            self.candidates.push(load);
            return;
        }
        self.full_only |= full;
        self.duplicates |= result.has_duplicates();
        if passes {
            self.throughput = Some(load);
            self.candidates.retain(|candidate| *candidate > load);
        } else {
            self.upper = Some(load);
            self.candidates.retain(|candidate| *candidate < load);
            self.generator_limited = result.device_loss_ratio() <= self.config.loss_ratio;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2544: trials of 60 seconds without loss, to 0.1 % of the maximum load.
    fn rfc2544(limits: Limits) -> BinaryConfig {
        let duration = Nanos::from_secs(60);
        BinaryConfig { limits, resolution: 0.001, loss_ratio: 0.0, duration, short: None }
    }

    fn config(short: Option<u64>) -> BinaryConfig {
        let limits = Limits { min: Load(1000.0), max: Load(1_000_000.0) };
        BinaryConfig { short: short.map(Nanos::from_secs), ..rfc2544(limits) }
    }

    /// A device that forwards up to a load, and less in full trials than in short ones.
    fn found(config: BinaryConfig, long: f64, short: f64) -> BinaryOutcome {
        let full = config.duration;
        let mut search = Binary::new(config).unwrap();
        while let Some(trial) = search.trial() {
            let limit = if trial.duration >= full { long } else { short };
            let received = trial.frames.min(Load(limit).frames_in(trial.duration));
            search.take(&TrialResult {
                intended: trial.frames,
                sent: trial.frames,
                received,
                duplicates: 0,
                duration: trial.duration,
            });
        }
        search.outcome()
    }

    #[test]
    fn the_throughput_is_within_the_resolution() {
        for config in [config(None), config(Some(1))] {
            let most = config.most_trials();
            let outcome = found(config, 123_456.0, 123_456.0);
            let (lower, upper) = (outcome.throughput.unwrap().0, outcome.upper.unwrap().0);
            assert!(lower <= 123_456.0 && 123_456.0 < upper && upper - lower <= 1000.0);
            assert_eq!(outcome.irregular, []);
            assert!(outcome.trials <= most);
        }
    }

    #[test]
    fn a_short_trial_is_believed_only_when_a_full_one_agrees() {
        let outcome = found(config(Some(1)), 100_000.0, 500_000.0);
        let (lower, upper) = (outcome.throughput.unwrap().0, outcome.upper.unwrap().0);
        assert!(lower <= 100_000.0 && 100_000.0 < upper && upper - lower <= 1000.0);
        assert!(outcome.trials <= config(Some(1)).most_trials());
    }

    #[test]
    fn the_limits_are_marked() {
        let all = found(config(None), 2e6, 2e6);
        assert_eq!(all.throughput, Some(Load(1e6)));
        assert_eq!((all.irregular, all.trials), (vec![Irregular::NoUpperBound], 1));
        let none = found(config(Some(1)), 0.0, 0.0);
        assert_eq!((none.throughput, none.upper), (None, Some(Load(1000.0))));
        assert_eq!(none.irregular, [Irregular::NoLowerBound]);
        let least = found(config(None), 1000.0, 1000.0);
        assert_eq!(least.throughput, Some(Load(1000.0)));
        let untried = Binary::new(config(None)).unwrap().outcome();
        assert_eq!(untried.irregular, [Irregular::Unfinished]);
    }

    #[test]
    fn senseless_limits_are_refused() {
        let swapped = Limits { min: Load(10.0), max: Load(5.0) };
        let error = Binary::new(rfc2544(swapped)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "search: the least load (10 frames/s) must be above 0 and below the most (5 frames/s)"
        );
        let tiny = rfc2544(Limits { min: Load(0.01), max: Load(5.0) });
        assert!(matches!(Binary::new(tiny), Err(SearchError::EmptyTrial { .. })));
    }
}
