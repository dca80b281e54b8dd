//! A plan carried out: events as they come, and the run that they add up to.

mod begun;
#[cfg(feature = "device")]
mod device;
mod explain;
pub mod frames;
mod hops;
mod latency;
mod limit;
pub mod measure;
mod observe;
pub mod pairs;
mod path;
mod throughput;
mod together;
mod transfer;
mod without_copy;

#[cfg(feature = "device")]
pub use device::{DevicePlan, Journal};
pub use hops::HopsWork;
pub use latency::LatencyWork;
pub use measure::MeasurePlan;
pub use pairs::{MAX_PAIRS, PairCount, PairsPlan};
pub use transfer::TransferWork;

use observe::Observing;

use crate::error::{Error, Result};
use crate::host::capture::CaptureOptions;
use crate::host::entropy;
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::client;
use linux::clock::wall_now;
use linux::nic::Nic;
use model::event::{Event, Probe};
use model::frames::FrameAsked;
use model::history::Kept;
use model::path::PathPlan;
use model::plan::{LocalOptions, Target, Transport};
use model::run::Run;
use model::units::{BitRate, Bytes};
use serde::{Serialize, Serializer};
#[cfg(feature = "device")]
use std::sync::{Arc, Mutex};
use wire::iperf3::Extras;

/// A sweep over frame sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct FramesPlan {
    /// The far end.
    pub target: Target,
    /// This end's choices.
    pub local: LocalOptions,
    /// The rows, in the order in which they run.
    pub rows: Vec<FramesStep>,
    /// Sessions at once in each row; one without.
    pub pairs: Option<PairCount>,
    /// Offloads that join packets at the interface are off meanwhile.
    pub no_offload: bool,
}

/// One row of the sweep. Serialized, it is what `--dry-run` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FramesStep {
    /// Its frame and what it carries.
    #[serde(skip)]
    pub asked: FrameAsked,
    /// Bytes of the frame.
    pub frame: Bytes,
    /// The transport in the frames.
    pub protocol: Transport,
    /// The plan of its test.
    pub plan: Option<model::plan::Plan>,
    /// Why nothing will.
    pub skipped: Option<String>,
}

/// The plan of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Plan {
    /// How much a path carries.
    Throughput(Box<model::plan::Plan>),
    /// How much it carries in several sessions at once.
    Pairs(PairsPlan),
    /// The main job: round trips, packet sizes, TCP and UDP in each direction.
    Measure(Box<MeasurePlan>),
    /// How much it carries in frames of each size.
    Frames(Box<FramesPlan>),
    /// How long it takes there and back.
    Latency(Box<LatencyWork>),
    /// Which packet sizes cross.
    Path(Box<PathPlan>),
    /// Which routers packets cross.
    Hops(Box<HopsWork>),
    /// How long files take.
    Transfer(Box<TransferWork>),
    /// Tests of a device between two ports.
    #[cfg(feature = "device")]
    Device(Box<DevicePlan>),
}

/// The form of a plan that is printed before anything is done.
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Plan::Throughput(plan) => plan.serialize(serializer),
            Plan::Pairs(pairs) => pairs.plans.serialize(serializer),
            Plan::Measure(plan) => plan.tests.serialize(serializer),
            Plan::Frames(plan) => plan.rows.serialize(serializer),
            Plan::Latency(work) => work.serialize(serializer),
            Plan::Path(plan) => plan.serialize(serializer),
            Plan::Hops(work) => work.plan.serialize(serializer),
            Plan::Transfer(work) => work.plan.serialize(serializer),
            #[cfg(feature = "device")]
            Plan::Device(plan) => plan.serialize(serializer),
        }
    }
}

/// Options of a run beside its plan.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How the ends know each other.
    pub security: Security,
    /// Asks it to stop.
    pub stop: Interrupt,
    /// The capture of its packets.
    pub capture: CaptureOptions,
    /// Where each order of a benchmark of devices is written down, and what is known from there.
    #[cfg(feature = "device")]
    pub journal: Option<Arc<Mutex<Journal>>>,
    /// The run keeps no intervals: a caller that shows them as they come saves the memory, for a day of many streams gigabytes.
    pub drop_intervals: bool,
}

/// A plan that was carried out, whole or in part.
#[derive(Debug)]
pub struct Ended {
    /// The document of the run.
    pub document: Kept,
    /// Why it ended early, if an error did it. Absent when it was stopped on request.
    pub error: Option<Error>,
}

impl Ended {
    /// The run, where it is one of a path.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        self.document.run()
    }
}

/// A run of a path, and the error that ended it early.
#[derive(Debug)]
struct Measured {
    run: Run,
    error: Option<Error>,
}

/// Carries a plan out. Events go to `sink` as they happen, also before an error.
///
/// # Errors
/// Nothing was measured: the far end cannot be reached, refuses, or vanishes; [`crate::error::Error::kind`] has the kind.
pub fn run(plan: &Plan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Ended> {
    let Measured { run, error } = match plan {
        Plan::Throughput(plan) => throughput::run(plan, options, sink),
        Plan::Pairs(plan) => pairs::run(plan, options, sink),
        Plan::Measure(plan) => measure::run(plan, options, sink),
        Plan::Frames(plan) => frames::run(plan, options, sink),
        Plan::Latency(work) => latency::run(work, options, sink),
        Plan::Path(plan) => path::run(plan, options, sink),
        Plan::Hops(work) => hops::run(work, options, sink),
        Plan::Transfer(work) => transfer::run(work, options, sink),
        #[cfg(feature = "device")]
        Plan::Device(plan) => return device::run(plan, options, sink),
    }?;
    Ok(Ended { document: Kept::Run(Box::new(run)), error })
}

/// A name for a run: a UUID of version 7 (RFC 9562), so that names sort by the time of their making.
///
/// # Errors
/// The kernel gives no entropy.
pub fn run_id() -> Result<String> {
    let milliseconds = wall_now().0 / 1_000_000;
    Ok(uuid::Builder::from_unix_timestamp_millis(milliseconds, &entropy()?).into_uuid().to_string())
}

/// The speed of the link, as an event: given by the user, or the speed that the interface toward the target reports.
fn link(target: &Target, local: &LocalOptions) -> Option<Event> {
    if let Some(rate) = local.link {
        return Some(Event::Probe(Probe::Link { rate, source: "--link".into() }));
    }
    let nic = Nic::toward(target.address.ip().to_canonical()).ok()?;
    let rate = nic.speed?;
    Some(Event::Probe(Probe::Link { rate, source: nic.link.name }))
}

/// The speed that [`link`] found.
fn link_rate(link: Option<&Event>) -> Option<BitRate> {
    let Event::Probe(Probe::Link { rate, .. }) = link? else { return None };
    Some(*rate)
}

/// From this event of a test on something is measured.
fn is_start(event: &Event) -> bool {
    matches!(event, Event::Started(_))
}

/// One test of several: its events are sent, and added to the earlier ones.
fn test(
    plan: &model::plan::Plan,
    options: &Options,
    sink: &mut dyn FnMut(&Event),
    events: &mut Vec<Event>,
) -> Result<()> {
    let mut sink = |event: &Event| {
        sink(event);
        events.push(event.clone());
    };
    let observing = Observing::start(plan, options);
    let outcome = client::run(plan, &options.security, &Extras::default(), &options.stop, &mut sink);
    observing.finish().iter().for_each(sink);
    outcome
}
