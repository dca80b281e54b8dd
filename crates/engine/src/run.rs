//! One test from its plan to its document.

use crate::connect::Security;
use crate::interrupt::Interrupt;
use crate::{client, latency, path};
use model::event::Event;
use model::latency::LatencyPlan;
use model::path::PathPlan;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Plan {
    /// How much a path carries.
    Throughput(Box<model::plan::Plan>),
    /// How long it takes there and back.
    Latency(Box<LatencyPlan>),
    /// Which packet sizes cross.
    Path(Box<PathPlan>),
}

/// Carries a plan out. What happens is told to `sink` as it happens, also before an error.
///
/// # Errors
/// When the far end cannot be reached, refuses, or vanishes; [`crate::error::Kind::of`] says which kind it is.
pub fn run(
    plan: &Plan,
    security: &Security,
    stop: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> anyhow::Result<()> {
    match plan {
        Plan::Throughput(plan) => client::run(plan, security, &wire::iperf3::Extras::default(), stop, sink),
        Plan::Latency(plan) => {
            let job = latency::Job { plan, security, key: None, playback: &[], raw: None, interrupt: stop };
            latency::run(&job, sink)
        }
        Plan::Path(plan) => path::run(&path::Job { plan, security, interrupt: stop }, &mut |_| {}, sink),
    }
}
