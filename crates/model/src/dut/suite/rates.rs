//! The searches for the rates: all goals at once or one after the other, repeated where that is requested.

use super::super::{
    Action, LoadLimit, NamedGoal, Observation, RateReport, SearchMethod, ServiceReport, Setup, StreamReport,
};
use super::flood;
use super::halves::Halves;
use super::job::DeviceTest;
use crate::dut;
use crate::search::{Irregular, Load, Mlr, Search, SearchError, Trial};
use crate::units::Nanos;
use std::fmt::Debug;

/// The searches of a stream.
#[derive(Debug)]
pub(super) struct Rates {
    setup: Setup,
    most: Load,
    /// The rate that the device forwarded of the flood.
    forwarded: Load,
    engine: Box<dyn RateSearch>,
    /// Time that remains for the present search.
    left: Nanos,
    /// Results of every finished search for each goal.
    found: Vec<Vec<Bounds>>,
    trials: u32,
}

/// A search for the rates of all goals.
trait RateSearch: Search + Debug + Send {
    /// The result for each goal, in their order.
    fn bounds(&self) -> Vec<Bounds>;
}

/// The result of one search for one goal.
#[derive(Clone, Debug)]
struct Bounds {
    lower: Option<Load>,
    upper: Option<Load>,
    conditional: Option<Load>,
    irregular: Vec<Irregular>,
}

impl Rates {
    pub(super) fn new(setup: &Setup, row: &StreamReport, most: Load) -> Result<Rates, String> {
        let forwarded = flood::forwarded(&row.flood);
        let engine = engine(setup, most, forwarded)?;
        let left = setup.times.search;
        Ok(Rates { setup: setup.clone(), most, forwarded, engine, left, found: Vec::new(), trials: 0 })
    }

    /// Duration of a trial with its pauses.
    fn time(&self, trial: &Trial) -> Nanos {
        trial.duration + self.setup.times.pause
    }

    /// The next trial of the present search; `None` when it is over or has no time for it.
    fn planned(&self) -> Option<Trial> {
        self.engine.trial().filter(|trial| self.time(trial) <= self.left)
    }

    fn rate(
        &self,
        at: usize,
        goal: &NamedGoal,
        searches: &[Vec<Bounds>],
        limit: Option<LoadLimit>,
    ) -> RateReport {
        let mut of_goal: Vec<&Bounds> = searches.iter().map(|search| &search[at]).collect();
        let lower = |bounds: &Bounds| bounds.lower.map_or(0.0, |load| load.0);
        let lowers: Vec<f64> = of_goal.iter().map(|bounds| lower(bounds)).collect();
        let mut irregular: Vec<Irregular> =
            of_goal.iter().flat_map(|bounds| bounds.irregular.iter().copied()).collect();
        if limit == Some(LoadLimit::Generator) && irregular.contains(&Irregular::NoUpperBound) {
            irregular.push(Irregular::GeneratorLimited);
        }
        irregular.sort_unstable();
        irregular.dedup();
        // The search in the middle stands for all; of two middle ones the lower.
        of_goal.sort_by(|one, other| lower(one).total_cmp(&lower(other)));
        let middle = of_goal[(of_goal.len() - 1) / 2];
        RateReport {
            goal: goal.name.clone(),
            lower: middle.lower,
            upper: middle.upper,
            conditional_throughput: middle.conditional,
            repeats: dut::Rates::from_frames_per_second(&lowers).filter(|_| lowers.len() > 1),
            irregular,
            trials: self.trials,
        }
    }
}

impl DeviceTest for Rates {
    fn action(&self) -> Option<Action> {
        self.planned().map(Action::Trial)
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        let Some(trial) = self.planned() else { return Ok(()) };
        self.left = self.left - self.time(&trial);
        self.trials = self.trials.saturating_add(1);
        self.engine.take(&observation.result);
        if self.planned().is_none() {
            self.found.push(self.engine.bounds());
            if self.found.len() < self.setup.times.search_repeats as usize {
                self.engine = engine(&self.setup, self.most, self.forwarded)?;
                self.left = self.setup.times.search;
            }
        }
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        let unfinished = vec![self.engine.bounds()];
        // A search that was aborted has a weaker result than one that was not.
        let searches = if self.found.is_empty() { &unfinished } else { &self.found };
        let goals = self.setup.goals.iter().enumerate();
        row.rates = goals.map(|(at, goal)| self.rate(at, goal, searches, row.limit)).collect();
        row.reference = row.rates.iter().find(|rate| rate.lower.is_some()).map(|rate| rate.goal.clone());
    }
}

/// Starts a search.
///
/// # Errors
/// Why none can be made.
fn engine(setup: &Setup, most: Load, forwarded: Load) -> Result<Box<dyn RateSearch>, String> {
    let limits = setup.limits(most, forwarded);
    if limits.min >= most {
        return Err(format!("no more than {most} can be offered, and a search begins at {}", limits.min));
    }
    let refused = |error: SearchError| error.to_string();
    Ok(match setup.search {
        SearchMethod::Mlr => Box::new(Mlr::new(&setup.mlr(limits)).map_err(refused)?),
        SearchMethod::Binary => Box::new(Halves::new(setup, limits, forwarded).map_err(refused)?),
    })
}

impl RateSearch for Mlr {
    fn bounds(&self) -> Vec<Bounds> {
        let goals = self.outcome().into_iter().map(|goal| Bounds {
            lower: goal.lower.map(|lower| lower.load),
            upper: goal.upper,
            conditional: goal.lower.map(|lower| lower.conditional_throughput),
            irregular: goal.irregular,
        });
        goals.collect()
    }
}

impl RateSearch for Halves {
    fn bounds(&self) -> Vec<Bounds> {
        let goals = self.outcome().map(|(goal, conditional)| Bounds {
            lower: goal.throughput,
            upper: goal.upper,
            conditional: conditional.filter(|_| goal.throughput.is_some()),
            irregular: goal.irregular,
        });
        goals.collect()
    }
}
