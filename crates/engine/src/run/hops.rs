//! A run about hops.

use super::begun::{Begun, Watched};
use super::{Measured, Options};
use crate::error::Result;
use crate::session::connect::without_route;
use crate::work::hops::{self, HopsJob};
use model::event::Event;
use model::hops::{AsTable, HopsPlan};
use model::reach::Reach;

/// The plan of a run about hops, and what it reads.
#[derive(Clone, Debug)]
pub struct HopsWork {
    /// The plan of the trace.
    pub plan: HopsPlan,
    /// The AS of each prefix; empty: not requested.
    pub origins: AsTable,
}

pub(super) fn run(work: &HopsWork, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let mut begun = Begun::new(options, sink);
    let watched = Watched::start(work.plan.target.address.ip(), &options.capture)?;
    let job = HopsJob {
        plan: &work.plan,
        origins: &work.origins,
        security: &options.security,
        interrupt: &options.stop,
    };
    let outcome = hops::run(&job, &mut |event| begun.event(event));
    begun.take(watched.finish(None, &options.stop, Reach::default()));
    begun.end(
        "hops",
        outcome,
        options,
        |event| matches!(event, Event::Hops(_)),
        |_, error| without_route(&work.plan.target, error),
    )
}
