//! Binary searches for several goals, one after the other.

use super::super::Setup;
use crate::search::{Binary, BinaryOutcome, Limits, Load, Search, SearchError, Trial, TrialResult};

/// One search for each goal.
#[derive(Debug)]
pub(super) struct Halves {
    searches: Vec<Binary>,
    /// Rates forwarded at each search's throughput.
    forwarded: Vec<Option<Load>>,
}

impl Halves {
    pub(super) fn new(setup: &Setup, limits: Limits, forwarded: Load) -> Result<Halves, SearchError> {
        let goals = 0..setup.goals.len();
        let searches: Vec<Binary> =
            goals.map(|goal| Binary::new(setup.binary(goal, limits, forwarded))).collect::<Result<_, _>>()?;
        Ok(Halves { forwarded: vec![None; searches.len()], searches })
    }

    /// The result for each goal, and the rate forwarded at its throughput.
    pub(super) fn outcome(&self) -> impl Iterator<Item = (BinaryOutcome, Option<Load>)> {
        self.searches.iter().map(Binary::outcome).zip(self.forwarded.iter().copied())
    }
}

impl Search for Halves {
    fn trial(&self) -> Option<Trial> {
        self.searches.iter().find_map(Search::trial)
    }

    fn take(&mut self, result: &TrialResult) {
        let next = self.searches.iter().enumerate().find_map(|(at, search)| Some((at, search.trial()?)));
        let Some((at, trial)) = next else { return };
        self.searches[at].take(result);
        if self.searches[at].outcome().throughput == Some(trial.load) {
            self.forwarded[at] = Some(Load(trial.load.0 * (1.0 - result.loss_ratio())));
        }
    }
}
