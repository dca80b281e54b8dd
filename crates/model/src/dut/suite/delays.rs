//! Delays over repeated runs, and RFC 8219's delay variation.

use super::super::{
    Action, DelayVariationDirection, DelayVariationReport, DirectionObservation, Observation, ServiceReport,
    Setup, StreamReport,
};
use super::job::DeviceTest;
use crate::search::{Load, Trial};
use crate::stats::rfc8219::OverRuns;
use crate::units::Nanos;

/// Runs at the throughput (RFC 8219 section 7.3).
#[derive(Debug)]
pub(super) struct DelayVariation {
    trial: Trial,
    left: u32,
    runs: Vec<Vec<DirectionObservation>>,
}

impl DelayVariation {
    pub(super) fn new(setup: &Setup, throughput: Load) -> Result<DelayVariation, String> {
        let trial = trial(throughput, setup.times.trial)?;
        Ok(DelayVariation { trial, left: setup.times.variation_repeats, runs: Vec::new() })
    }
}

impl DeviceTest for DelayVariation {
    fn action(&self) -> Option<Action> {
        (self.left > 0).then_some(Action::Trial(self.trial))
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        if observation.directions.iter().all(|direction| direction.delays.is_none()) {
            return Err(NO_DELAYS.to_owned());
        }
        self.left = self.left.saturating_sub(1);
        self.runs.push(observation.directions.clone());
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        let directions = by_direction(self.runs.iter().map(Vec::as_slice));
        let directions: Vec<DelayVariationDirection> =
            directions.iter().filter_map(|runs| direction_variation(runs)).collect();
        row.delay_variation =
            (!directions.is_empty()).then_some(DelayVariationReport { load: self.trial.load, directions });
    }
}

fn direction_variation(runs: &[&DirectionObservation]) -> Option<DelayVariationDirection> {
    Some(DelayVariationDirection {
        direction: runs.first()?.direction,
        packet: over_runs(runs.iter().filter_map(|run| variation(run)))?,
        inter_packet: runs.iter().rev().find_map(|run| run.variation),
    })
}

/// Packet delay variation of one run: the 99.9th percentile of its delays less the least.
pub(super) fn variation(direction: &DirectionObservation) -> Option<Nanos> {
    direction.delays.filter(|delays| delays.count > 0).map(|delays| delays.p999 - delays.min)
}

/// The directions, each with its runs in order.
pub(super) fn by_direction<'a>(
    runs: impl Iterator<Item = &'a [DirectionObservation]>,
) -> Vec<Vec<&'a DirectionObservation>> {
    let mut directions: Vec<Vec<&DirectionObservation>> = Vec::new();
    for one in runs.flatten() {
        match directions.iter_mut().find(|direction| direction[0].direction == one.direction) {
            Some(direction) => direction.push(one),
            None => directions.push(vec![one]),
        }
    }
    directions
}

/// A time of each run in nanoseconds, over all.
pub(super) fn over_runs(times: impl Iterator<Item = Nanos>) -> Option<OverRuns> {
    OverRuns::from_values(&times.map(|time| time.0 as f64).collect::<Vec<_>>())
}

/// A trial that has a frame at least.
pub(super) fn trial(load: Load, duration: Nanos) -> Result<Trial, String> {
    let trial = Trial::new(load, duration);
    if trial.frames > 0 { Ok(trial) } else { Err(format!("at {load} no frame is sent in {duration}")) }
}

pub(super) const NO_DELAYS: &str = "no delay was measured: the ports have two clocks, or the frames no room for the time of \
                                    sending (84 bytes with IPv6, with a tag 4 more)";
