//! Latency at shares of the throughput (RFC 2544 section 26.2), with RFC 8219's figures over the runs.

use super::super::{
    Action, DirectionObservation, LatencyDirection, LatencyReport, Observation, ServiceReport, Setup,
    StreamReport,
};
use super::delays::{NO_DELAYS, by_direction, over_runs};
use super::job::DeviceTest;
use crate::search::{Load, Trial};
use crate::units::Nanos;

/// The runs at every load.
#[derive(Debug)]
pub(super) struct Latency {
    /// Runs still to be made, the last one first.
    left: Vec<(u32, Trial)>,
    /// Results of the others.
    runs: Vec<(u32, Trial, Vec<DirectionObservation>)>,
    /// The time of a frame on the link, where it has a speed of its own.
    frame_time: Option<Nanos>,
}

impl Latency {
    pub(super) fn new(setup: &Setup, row: &StreamReport, throughput: Load) -> Result<Latency, String> {
        let mut left = Vec::new();
        for percent in setup.latency_percents.iter().rev() {
            let load = Load(throughput.0 * f64::from(*percent) / 100.0);
            let trial = Trial::new(load, setup.times.latency);
            if trial.frames == 0 {
                return Err(format!(
                    "at {percent} % of the throughput no frame is sent in {}",
                    setup.times.latency
                ));
            }
            left.extend(std::iter::repeat_n((*percent, trial), setup.times.latency_repeats as usize));
        }
        let frames = &row.stream.frames;
        let link = setup.link.filter(|_| !setup.link_is_nominal && !frames.is_mix());
        let frame_time = link.and_then(|link| link.time_for(*frames.sizes.first()?));
        Ok(Latency { left, runs: Vec::new(), frame_time })
    }

    fn at(&self, percent: u32, load: Load) -> LatencyReport {
        let runs = self.runs.iter().filter(|run| run.0 == percent);
        let directions = by_direction(runs.map(|run| run.2.as_slice()));
        LatencyReport {
            percent,
            load,
            directions: directions.iter().filter_map(|runs| self.direction_latency(runs)).collect(),
        }
    }

    /// One direction over its runs; `None` when no delay was measured.
    fn direction_latency(&self, runs: &[&DirectionObservation]) -> Option<LatencyDirection> {
        let delays: Vec<_> =
            runs.iter().filter_map(|run| run.delays).filter(|delays| delays.count > 0).collect();
        let typical = over_runs(delays.iter().map(|delays| delays.p50));
        let less = |frames: u64| {
            let median = Nanos(typical?.median.round() as u64);
            median.0.checked_sub(self.frame_time?.saturating_mul(frames).0).map(Nanos)
        };
        Some(LatencyDirection {
            direction: runs.first()?.direction,
            delays: *delays.last()?,
            typical,
            worst_case: over_runs(delays.iter().map(|delays| delays.p999)),
            store_and_forward: less(2),
            bit_forwarding: less(1),
            lost: runs.iter().fold(0, |sum, run| sum.saturating_add(lost(run))),
        })
    }
}

/// Frames lost of those sent.
pub(super) fn lost(direction: &DirectionObservation) -> u64 {
    direction.result.sent.saturating_sub(direction.result.distinct())
}

impl DeviceTest for Latency {
    fn action(&self) -> Option<Action> {
        self.left.last().map(|(_, trial)| Action::Trial(*trial))
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        if observation.directions.iter().all(|direction| direction.delays.is_none()) {
            return Err(NO_DELAYS.to_owned());
        }
        let run = self.left.pop();
        self.runs.extend(run.map(|(percent, trial)| (percent, trial, observation.directions.clone())));
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        let mut loads: Vec<(u32, Load)> = self.runs.iter().map(|run| (run.0, run.1.load)).collect();
        loads.dedup();
        row.latency = loads.into_iter().map(|(percent, load)| self.at(percent, load)).collect();
    }
}
