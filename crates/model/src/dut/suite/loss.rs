//! Frame loss rate (RFC 2544 section 26.3), and the rate at the most load.

use super::super::{Action, MrrReport, Observation, Rates, ServiceReport, Setup, StreamReport};
use super::delays::trial;
use super::job::DeviceTest;
use crate::search::{Load, LossSteps, Search, Trial};
use crate::units::Nanos;

/// The steps down from the most load.
#[derive(Debug)]
pub(super) struct FrameLoss {
    steps: LossSteps,
}

impl FrameLoss {
    pub(super) fn new(setup: &Setup, most: Load) -> Result<FrameLoss, String> {
        let steps = LossSteps::new(setup.loss_steps(most)).map_err(|error| error.to_string())?;
        Ok(FrameLoss { steps })
    }
}

impl DeviceTest for FrameLoss {
    fn action(&self) -> Option<Action> {
        self.steps.trial().map(Action::Trial)
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        self.steps.take(&observation.result);
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        row.loss = Some(self.steps.outcome()).filter(|outcome| !outcome.rows.is_empty());
    }
}

/// Trials at the most load (RFC 2889 section 5.1, CSIT's MRR).
#[derive(Debug)]
pub(super) struct MostLoad {
    trial: Trial,
    left: u32,
    rates: Vec<f64>,
    loss: f64,
}

impl MostLoad {
    pub(super) fn new(setup: &Setup, most: Load) -> Result<MostLoad, String> {
        let trial = trial(most, setup.times.mrr)?;
        Ok(MostLoad { trial, left: setup.times.mrr_repeats, rates: Vec::new(), loss: 0.0 })
    }
}

impl DeviceTest for MostLoad {
    fn action(&self) -> Option<Action> {
        (self.left > 0).then_some(Action::Trial(self.trial))
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        self.left = self.left.saturating_sub(1);
        // A generator that took longer than the trial has not offered the load, and frames that came later count for later.
        let longest =
            observation.directions.iter().map(|direction| direction.time).max().unwrap_or(Nanos::ZERO);
        let time = self.trial.duration.max(longest);
        self.rates.push(observation.result.distinct() as f64 / time.as_secs_f64());
        self.loss += observation.result.frame_loss_rate();
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        row.mrr = Rates::from_frames_per_second(&self.rates).map(|forwarded| MrrReport {
            offered: self.trial.load,
            forwarded,
            loss_ratio: self.loss / self.rates.len() as f64,
        });
    }
}
