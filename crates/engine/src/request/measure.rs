//! The main job: the request, and its plan.

use super::Host;
use super::far::{FarEnd, check_link};
use crate::error::Result;
use crate::host::address::Family;
use crate::host::host_port::HostPort;
use crate::request::preflight;
use crate::run::{MeasurePlan, Plan};
use model::explain::DEFAULT_BUDGET;
use model::plan::LocalOptions;
use model::units::{BitRate, Nanos};
use wire::native;

/// A measurement of a path: reach, round trips, packet sizes, TCP and UDP in each direction.
#[derive(Clone, Debug)]
pub struct Measure {
    /// The far end.
    pub far: FarEnd,
    /// A check of eight seconds, not a measurement of thirty.
    pub quick: bool,
    /// Speed of the link, where the interface's own is not to be used.
    pub link: Option<BitRate>,
    /// How long the reasons of an unexpected result may be looked for, in each direction; zero: not at all.
    pub explain: Nanos,
    /// The place of a limit is looked for whatever the addresses and the rate are, and for longer.
    pub place: bool,
    /// Hosts between the ends that are observed, each with a `pathmeter serve`.
    pub observe: Vec<HostPort>,
}

impl Measure {
    /// A full measurement of the path to this host.
    #[must_use]
    pub fn to(far: FarEnd) -> Measure {
        Measure { far, quick: false, link: None, explain: DEFAULT_BUDGET, place: false, observe: Vec::new() }
    }
}

pub(super) fn resolve(asked: &Measure, host: &Host) -> Result<Plan> {
    asked.far.check()?;
    check_link(asked.link)?;
    let target = asked.far.target(native::PORT, host)?;
    let origin = &asked.far.origin;
    let interval = Nanos::from_secs(1);
    let observe = asked.far.others(&asked.observe, host)?;
    let (explain, place) = (asked.explain, asked.place);
    let local = LocalOptions { interval, explain, place, observe, ..origin.local(asked.link) };
    preflight::check_path(&target, &local)?;
    let one_family = origin.family != Family::Any;
    Ok(Plan::Measure(Box::new(MeasurePlan::new(target, local, asked.quick, one_family))))
}
