//! A device that is overloaded (RFC 2544 section 26.5) or reset (section 26.6, RFC 6201): how soon it forwards again.

use super::super::{
    Action, Observation, Overload, RecoveryReport, ResetReport, ResetTime, ServiceReport, Setup,
    StreamReport, recovery_time,
};
use super::delays::{over_runs, trial};
use super::job::DeviceTest;
use super::latency::lost;
use crate::search::{Load, Trial};
use crate::units::Nanos;

/// Overloads, each with its relief.
#[derive(Debug)]
pub(super) struct Recovery {
    loads: Overload,
    overload: Trial,
    relief: Trial,
    left: u32,
    times: Vec<Nanos>,
    unrecovered: u32,
}

impl Recovery {
    pub(super) fn new(setup: &Setup, throughput: Load, most: Load) -> Result<Recovery, String> {
        let overloaded = |loads: &Overload| !loads.no_overload;
        let loads = Overload::from_throughput(throughput, most).filter(overloaded).ok_or(
            "the throughput is the most load that can be offered, so that nothing can be overloaded",
        )?;
        let [overload, relief] = [loads.overload, loads.relief].map(|load| trial(load, setup.times.trial));
        let (overload, relief) = (overload?, relief?);
        Ok(Recovery { loads, overload, relief, left: setup.times.repeats, times: Vec::new(), unrecovered: 0 })
    }

    /// Frames were still lost in the last hundredth of the relief.
    fn is_lost_at_the_end(&self, last_lost: Option<u64>) -> bool {
        let end = self.overload.frames.saturating_add(self.relief.frames - self.relief.frames / 100);
        last_lost.is_some_and(|last| last.saturating_add(1) >= end)
    }
}

impl DeviceTest for Recovery {
    fn action(&self) -> Option<Action> {
        let action = Action::Overload { overload: self.overload, relief: self.relief };
        (self.left > 0).then_some(action)
    }

    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        self.left = self.left.saturating_sub(1);
        if observation.directions.iter().any(|direction| direction.last_lost.is_none() && lost(direction) > 0)
        {
            return Err("frames were lost, and it is not known which".to_owned());
        }
        let last_lost = observation.directions.iter().filter_map(|direction| direction.last_lost).max();
        self.times.push(recovery_time(&self.overload, &self.relief, last_lost));
        self.unrecovered += u32::from(self.is_lost_at_the_end(last_lost));
        Ok(())
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        row.recovery = over_runs(self.times.iter().copied()).map(|over_runs| RecoveryReport {
            loads: self.loads,
            times: self.times.clone(),
            over_runs: Some(over_runs),
            unrecovered: self.unrecovered,
        });
    }
}

/// Resets in the middle of a trial at the throughput.
#[derive(Debug)]
pub(super) struct Reset {
    trial: Trial,
    left: u32,
    runs: Vec<ResetTime>,
}

impl Reset {
    pub(super) fn new(setup: &Setup, throughput: Load) -> Result<Reset, String> {
        let trial = trial(throughput, setup.times.trial)?;
        Ok(Reset { trial, left: setup.times.repeats, runs: Vec::new() })
    }
}

impl DeviceTest for Reset {
    fn action(&self) -> Option<Action> {
        (self.left > 0).then_some(Action::Reset(self.trial))
    }

    /// The direction that was interrupted for longer counts; when one never forwards again, the result is that it did not for both.
    fn take(&mut self, observation: &Observation) -> Result<(), String> {
        self.left = self.left.saturating_sub(1);
        let silences =
            observation.directions.iter().map(|direction| direction.silence.filter(|_| direction.resumed));
        let longest = silences.collect::<Option<Vec<_>>>().and_then(|silences| silences.into_iter().max());
        let lost = observation.directions.iter().map(lost).max().unwrap_or(0);
        let run = ResetTime::from_silence(longest, lost, self.trial.load);
        let resumed = run.by_time.is_some();
        self.runs.push(run);
        if resumed { Ok(()) } else { Err("the device did not forward again after the reset".to_owned()) }
    }

    fn report(&self, row: &mut StreamReport, _: &mut Option<ServiceReport>) {
        row.reset = (!self.runs.is_empty()).then(|| ResetReport {
            how: String::new(),
            load: self.trial.load,
            runs: self.runs.clone(),
        });
    }
}
