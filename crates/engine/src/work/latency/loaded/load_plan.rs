//! The plan of a load, and what a phase of it gave.

use super::current_phase::CurrentPhase;
use super::flowing::Flowing;
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::latency::local_options;
use model::latency::{EgressPath, LatencyPlan, Load};
use model::plan::{Directions, End, LocalOptions, Plan, ProtocolName, TestSpec, Transport};
use model::stats::responsiveness::Responsiveness;
use model::time::MonoTime;
use model::units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};

/// The inputs of the load.
#[derive(Debug)]
pub(super) struct LoadPlan<'a> {
    pub(super) plan: &'a LatencyPlan,
    pub(super) egress: &'a EgressPath,
    pub(super) load: &'a Load,
    pub(super) security: &'a Security,
    /// The user's.
    pub(super) interrupt: &'a Interrupt,
    /// The run is over, whatever is still to come.
    pub(super) stop: &'a AtomicBool,
    pub(super) current_phase: &'a CurrentPhase,
}

/// A phase that was played.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) load: Directions,
    /// Its number among all phases, the idle one being 0.
    pub(super) index: usize,
    /// Its load stood from, until; absent: it never did.
    pub(super) counted: Option<(MonoTime, MonoTime)>,
    pub(super) sessions: Vec<Flowing>,
    pub(super) responsiveness: Option<Responsiveness>,
}

impl LoadPlan<'_> {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.interrupt.is_raised()
    }

    /// Time between two reports of a session: half of the shortest moment, as a rule.
    pub(super) fn step(&self) -> Nanos {
        Nanos((self.load.time.0 / REPORTS).clamp(SHORTEST_STEP.0, LONGEST_STEP.0))
    }

    /// A session of the load.
    pub(super) fn session(&self, load: Directions, streams: u32, time: Nanos) -> Plan {
        let test = TestSpec {
            directions: load,
            streams,
            end: End::Time(time),
            congestion: self.load.congestion.clone(),
            ..TestSpec::new(Transport::Tcp)
        };
        let local = local_options(self.egress, self.plan.connect_timeout);
        let local = LocalOptions { interval: self.step(), ..local };
        Plan { target: self.egress.target.clone(), protocol: ProtocolName::Native, test, local }
    }
}

const SHORTEST_STEP: Nanos = Nanos::from_millis(125);
const LONGEST_STEP: Nanos = Nanos::from_secs(1);
/// Reports of a session, so that memory does not grow with the time.
const REPORTS: u64 = 4000;
