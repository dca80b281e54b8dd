//! Multiple loss ratio search (MLRsearch, RFC 9971): several goals at once, from short trials to long ones.
//!
//! The choice of loads follows the strategy of the package that the RFC's authors publish (PyPI `MLRsearch` 1.2.1), so that a
//! device gets the same trials from both; `tests/search/published.rs` checks this.

mod goal;
mod outcome;
mod records;
mod scale;
mod selector;

pub use goal::Goal;
pub use outcome::{GoalOutcome, LowerBound};

use super::{Limits, Load, Search, SearchError, Trial, TrialResult, not_empty};
use goal::Target;
use records::Records;
use scale::Scale;
use selector::{Nomination, Selector};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The configuration of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MlrConfig {
    /// The least and the most load.
    pub limits: Limits,
    /// The goals, searched for together.
    pub goals: Vec<Goal>,
    /// A first trial at the most load whose result does not count, in nanoseconds.
    #[serde(rename = "warm_up_ns")]
    pub warm_up: Option<Nanos>,
    /// The search ends when its trials have taken this long together, in nanoseconds; the last one may exceed it.
    #[serde(rename = "budget_ns")]
    pub budget: Nanos,
}

impl MlrConfig {
    fn check(&self) -> Result<(), SearchError> {
        self.limits.check()?;
        let twice = |index: usize, goal: &Goal| self.goals[..index].contains(goal);
        if self.goals.is_empty() || self.goals.iter().enumerate().any(|(index, goal)| twice(index, goal)) {
            return Err(SearchError::Goals);
        }
        for goal in &self.goals {
            goal.check()?;
            not_empty(self.limits.min, goal.initial_duration)?;
        }
        if self.budget == Nanos::ZERO || self.warm_up == Some(Nanos::ZERO) {
            return Err(SearchError::Durations("budget and warm-up must be longer than nothing"));
        }
        Ok(())
    }
}

/// The search itself.
#[derive(Clone, Debug)]
pub struct Mlr {
    scale: Scale,
    goals: Vec<Goal>,
    targets: Vec<Vec<Target>>,
    records: Records,
    selectors: Vec<Selector>,
    /// The least step of an external search, the same for all goals, so that two do not rise in turns.
    common_width: i64,
    phase: Phase,
    spent: Nanos,
    budget: Nanos,
}

/// The purpose of the current trial.
#[derive(Clone, Debug)]
enum Phase {
    WarmUp(Nanos),
    /// At the most load.
    First,
    /// At the load that the first trial forwarded.
    Second(i64),
    /// Near it: the second load, and the third.
    Third(i64, i64),
    /// For the goal with this index.
    Chosen(usize, Nomination),
    Over,
}

/// The first trials, chosen for all goals together.
struct Opening {
    loss_ratio: f64,
    duration: Nanos,
    width: i64,
}

impl Mlr {
    /// A search that has run no trial yet.
    ///
    /// # Errors
    /// When limits, goals or durations are not valid.
    pub fn new(config: &MlrConfig) -> Result<Mlr, SearchError> {
        config.check()?;
        let widths: Vec<f64> = config.goals.iter().map(|goal| goal.width).collect();
        let scale = Scale::new(&config.limits, &widths)?;
        let targets = config.goals.iter().map(|goal| goal.targets(&scale)).collect();
        Ok(Mlr {
            scale,
            goals: config.goals.clone(),
            targets,
            records: Records::default(),
            selectors: Vec::new(),
            common_width: 0,
            phase: config.warm_up.map_or(Phase::First, Phase::WarmUp),
            spent: Nanos::ZERO,
            budget: config.budget,
        })
    }

    /// The outcome so far, for each goal in turn; also while the search runs.
    #[must_use]
    pub fn outcome(&self) -> Vec<GoalOutcome> {
        let goals = self.goals.iter().zip(&self.targets);
        goals
            .map(|(goal, targets)| {
                outcome::goal_outcome(goal, &targets[targets.len() - 1], &self.records, &self.scale)
            })
            .collect()
    }

    fn opening(&self) -> Opening {
        let first = || self.targets.iter().map(|targets| &targets[0]);
        Opening {
            loss_ratio: first().map(|target| target.loss_ratio).fold(1.0, f64::min),
            duration: first().map(|target| target.trial_duration).max().unwrap_or_default(),
            width: first().map(|target| target.width).max().unwrap_or_default(),
        }
    }

    /// The step whose load such a device would forward completely, if all load beyond it were lost.
    fn forwarded(&self, step: i64, loss_ratio: f64) -> i64 {
        let rate = self.scale.load(step) * (1.0 - loss_ratio);
        self.scale.step(rate * (1.0 / (1.0 - self.opening().loss_ratio)))
    }

    fn after_first(&self, loss_ratio: f64) -> Result<i64, (i64, i64)> {
        let (most, width) = (self.scale.steps(), self.opening().width);
        let forwarded = self.forwarded(most, loss_ratio);
        if forwarded >= most {
            return Err((most, most));
        }
        self.scale.keep_away(forwarded, width, None, Some(most)).ok_or((most, most))
    }

    fn after_second(&self, second: i64, loss_ratio: f64) -> Option<i64> {
        let opening = self.opening();
        if loss_ratio > opening.loss_ratio {
            let forwarded = self.forwarded(second, loss_ratio);
            self.scale.keep_away(forwarded, opening.width, None, Some(second))
        } else {
            let above = self.scale.up(second, opening.width);
            self.scale.keep_away(above, opening.width, Some(second), Some(self.scale.steps()))
        }
    }

    /// The loop begins between the loads of the last two trials.
    fn begin(&mut self, one: i64, other: i64) -> Phase {
        let (lower, upper) = (one.min(other), one.max(other));
        self.common_width = upper - lower;
        let selector = |targets: &Vec<Target>| Selector::new(targets.clone(), lower, upper, &self.scale);
        self.selectors = self.targets.iter().map(selector).collect();
        self.choose()
    }

    /// Chooses from the goals' nominations: the lowest load, then the longest trial, then the larger width, then the earlier
    /// goal.
    fn choose(&mut self) -> Phase {
        let mut best: Option<(usize, Nomination)> = None;
        for (index, selector) in self.selectors.iter_mut().enumerate() {
            match selector.nominate(&self.records, &self.scale, self.common_width) {
                Ok(Some(nomination)) => {
                    if best.as_ref().is_none_or(|(_, best)| nomination.goes_before(best)) {
                        best = Some((index, nomination));
                    }
                }
                Ok(None) => {}
                // The least load fails this goal, which is to end the whole search.
                Err(selector::LeastLoadFails) => return Phase::Over,
            }
        }
        match best {
            None => Phase::Over,
            Some(_) if self.spent >= self.budget => Phase::Over,
            Some((index, nomination)) => Phase::Chosen(index, nomination),
        }
    }

    fn planned(&self) -> Option<(i64, Nanos)> {
        let duration = self.opening().duration;
        match &self.phase {
            Phase::WarmUp(duration) => Some((self.scale.steps(), *duration)),
            Phase::First => Some((self.scale.steps(), duration)),
            Phase::Second(step) | Phase::Third(_, step) => Some((*step, duration)),
            Phase::Chosen(_, nomination) => Some((nomination.step, nomination.duration)),
            Phase::Over => None,
        }
    }

    fn advance(&mut self, loss_ratio: f64) -> Phase {
        match self.phase.clone() {
            Phase::WarmUp(_) => Phase::First,
            Phase::First => match self.after_first(loss_ratio) {
                Ok(second) => Phase::Second(second),
                Err((one, other)) => self.begin(one, other),
            },
            Phase::Second(second) => match self.after_second(second, loss_ratio) {
                Some(third) => Phase::Third(second, third),
                None => self.begin(second, second),
            },
            Phase::Third(second, third) => self.begin(second, third),
            Phase::Chosen(index, nomination) => {
                self.common_width = nomination.width;
                if let Some(width) = self.selectors[index].won(&nomination, &self.records, &self.scale) {
                    self.common_width = width;
                }
                self.choose()
            }
            Phase::Over => Phase::Over,
        }
    }
}

impl Search for Mlr {
    fn trial(&self) -> Option<Trial> {
        self.planned().map(|(step, duration)| Trial::new(Load(self.scale.load(step)), duration))
    }

    fn take(&mut self, result: &TrialResult) {
        let Some((step, duration)) = self.planned() else { return };
        // A result with a duration of zero would make the search endless.
        self.spent += result.duration.max(duration);
        if !matches!(self.phase, Phase::WarmUp(_)) {
            self.records.add(step, duration, result);
        }
        self.phase = self.advance(result.loss_ratio());
    }
}
