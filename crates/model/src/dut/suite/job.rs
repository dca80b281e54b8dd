//! One test of one stream: what it does next, and what it has found.

use super::super::{Action, Observation, ServiceReport, Setup, StreamReport, Test};
use super::bursts::Bursts;
use super::delays::DelayVariation;
use super::disturbed::{Recovery, Reset};
use super::latency::Latency;
use super::loss::{FrameLoss, MostLoad};
use super::rates::Rates;
use super::service::Service;
use crate::search::Load;
use std::fmt::Debug;

/// A running test.
pub(super) trait DeviceTest: Debug + Send {
    /// The next action; `None` when the test is over. The same until its observation is taken.
    fn action(&self) -> Option<Action>;

    /// Takes what came of it.
    ///
    /// # Errors
    /// Why the rest of this test cannot be done.
    fn take(&mut self, observation: &Observation) -> Result<(), String>;

    /// Writes what has been found so far; also in the middle.
    fn report(&self, row: &mut StreamReport, service: &mut Option<ServiceReport>);
}

/// Starts a test; its first action is at hand.
///
/// # Errors
/// Why it cannot be done with this stream.
pub(super) fn start(test: Test, setup: &Setup, row: &StreamReport) -> Result<Box<dyn DeviceTest>, String> {
    let most = row.most.ok_or("nothing is known of the most load")?;
    let throughput = || throughput(row);
    Ok(match test {
        Test::Throughput => Box::new(Rates::new(setup, row, most)?),
        Test::Latency => Box::new(Latency::new(setup, row, throughput()?)?),
        Test::FrameLoss => Box::new(FrameLoss::new(setup, most)?),
        Test::BackToBack => Box::new(Bursts::new(setup, row, throughput()?, most)?),
        Test::Recovery => Box::new(Recovery::new(setup, throughput()?, most)?),
        Test::Reset => Box::new(Reset::new(setup, throughput()?)?),
        Test::Mrr => Box::new(MostLoad::new(setup, most)?),
        Test::DelayVariation => Box::new(DelayVariation::new(setup, throughput()?)?),
        Test::Service => Box::new(Service::new(setup, row, most)?),
    })
}

/// The rate that stands for the throughput: the lower bound of the first goal that has one.
fn throughput(row: &StreamReport) -> Result<Load, String> {
    let named = |name: &String| row.rates.iter().find(|rate| rate.goal == *name);
    let lower = row.reference.as_ref().and_then(named).and_then(|rate| rate.lower);
    lower.ok_or_else(|| "no throughput was found, and its loads are shares of it".to_owned())
}
