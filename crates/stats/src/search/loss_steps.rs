//! RFC 2544's frame loss rate (section 26.3): from the most load down in equal steps, until two trials in a row lose
//! nothing.

use super::{Irregular, Load, Search, SearchError, Trial, TrialResult, accept};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The configuration of the steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossStepsConfig {
    /// The most load, in frames per second: 100 %.
    #[serde(rename = "max_pps")]
    pub max: Load,
    /// Number of steps in 100 %; RFC 2544 requires 10 or more.
    pub steps: u32,
    /// Duration of each trial, in nanoseconds.
    #[serde(rename = "duration_ns")]
    pub duration: Nanos,
}

/// One row: the offered load, and the loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossStep {
    /// The load, in frames per second.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// The same in percent of the maximum.
    pub offered_percent: f64,
    /// Frames lost of those sent, in percent.
    pub loss_percent: f64,
    /// The outcome of the trial.
    pub result: TrialResult,
}

/// All rows, and notes on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossStepsOutcome {
    /// From the most load down.
    pub rows: Vec<LossStep>,
    /// `no-lower-bound`: no two loads in a row went without loss; `generator-limited`: some load was not offered in full.
    pub irregular: Vec<Irregular>,
}

/// The steps, going down.
#[derive(Clone, Debug)]
pub struct LossSteps {
    config: LossStepsConfig,
    rows: Vec<LossStep>,
}

impl LossSteps {
    /// Steps of which none has been run yet.
    ///
    /// # Errors
    /// When there are fewer than 10 steps or more than 1000, or the load or duration is zero.
    pub fn new(config: LossStepsConfig) -> Result<LossSteps, SearchError> {
        let steps = (LEAST_STEPS..=MOST_STEPS).contains(&config.steps);
        accept(steps, "number of steps", config.steps.into(), "from 10 to 1000 (RFC 2544 section 26.3)")?;
        let load = config.max.0.is_finite() && config.max.0 > 0.0;
        accept(load, "most load", config.max.0, "above 0 frames/s")?;
        let search = LossSteps { config, rows: Vec::new() };
        super::not_empty(search.load(search.config.steps - 1), search.config.duration)?;
        Ok(search)
    }

    /// The outcome so far.
    #[must_use]
    pub fn outcome(&self) -> LossStepsOutcome {
        let mut irregular = Vec::new();
        if self.trial().is_some() {
            irregular.push(Irregular::Unfinished);
        } else if !self.settled() {
            irregular.push(Irregular::NoLowerBound);
        }
        if self.rows.iter().any(|row| row.result.sent < row.result.intended) {
            irregular.push(Irregular::GeneratorLimited);
        }
        if self.rows.iter().any(|row| row.result.has_duplicates()) {
            irregular.push(Irregular::Duplicates);
        }
        LossStepsOutcome { rows: self.rows.clone(), irregular }
    }

    /// Two trials in a row lost nothing.
    fn settled(&self) -> bool {
        let lossless = |row: &LossStep| row.result.sent > 0 && row.result.frame_loss_rate() == 0.0;
        self.rows.len() >= 2 && self.rows.iter().rev().take(2).all(lossless)
    }

    fn load(&self, row: u32) -> Load {
        Load(self.config.max.0 * f64::from(self.config.steps - row) / f64::from(self.config.steps))
    }
}

impl Search for LossSteps {
    fn trial(&self) -> Option<Trial> {
        let row = u32::try_from(self.rows.len()).ok().filter(|row| *row < self.config.steps)?;
        (!self.settled()).then(|| Trial::new(self.load(row), self.config.duration))
    }

    fn take(&mut self, result: &TrialResult) {
        let Some(trial) = self.trial() else { return };
        self.rows.push(LossStep {
            load: trial.load,
            offered_percent: 100.0 * trial.load.0 / self.config.max.0,
            loss_percent: 100.0 * result.frame_loss_rate(),
            result: *result,
        });
    }
}

const LEAST_STEPS: u32 = 10;
const MOST_STEPS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(capacity: u64) -> LossStepsOutcome {
        let config = LossStepsConfig { max: Load(1000.0), steps: 10, duration: Nanos::from_secs(1) };
        let mut search = LossSteps::new(config).unwrap();
        assert_eq!(search.outcome().irregular, [Irregular::Unfinished]);
        while let Some(trial) = search.trial() {
            search.take(&TrialResult {
                intended: trial.frames,
                sent: trial.frames,
                received: trial.frames.min(capacity),
                duplicates: 0,
                duration: trial.duration,
            });
        }
        search.outcome()
    }

    #[test]
    fn it_ends_after_two_without_loss() {
        let outcome = steps(750);
        let loss: Vec<String> = outcome.rows.iter().map(|row| format!("{:.1}", row.loss_percent)).collect();
        assert_eq!(loss, ["25.0", "16.7", "6.2", "0.0", "0.0"]);
        assert_eq!(outcome.rows[4].offered_percent, 60.0);
        assert_eq!(outcome.irregular, []);
        assert_eq!(steps(1000).rows.len(), 2);
    }

    #[test]
    fn it_ends_at_the_last_step() {
        let outcome = steps(0);
        assert_eq!(outcome.rows.len(), 10);
        assert_eq!(outcome.irregular, [Irregular::NoLowerBound]);
    }

    #[test]
    fn coarse_steps_are_refused() {
        let config = LossStepsConfig { max: Load(1000.0), steps: 9, duration: Nanos::from_secs(1) };
        assert_eq!(
            LossSteps::new(config).unwrap_err().to_string(),
            "search: number of steps is 9, it must be from 10 to 1000 (RFC 2544 section 26.3)"
        );
    }
}
