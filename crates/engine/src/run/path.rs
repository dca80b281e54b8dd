//! A run about packet sizes.

use super::begun::{Begun, Watched};
use super::{Measured, Options};
use crate::error::{Error, Result};
use crate::session::connect::without_route;
use crate::session::protocol::UNACKNOWLEDGED;
use crate::work::path::{self, PathJob};
use model::event::Event;
use model::path::PathPlan;
use model::plan::Target;
use model::reach::Reach;
use wire::ProtocolError;

pub(super) fn run(plan: &PathPlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let mut begun = Begun::new(options, sink);
    let watched = Watched::start(plan.target.address.ip(), &options.capture)?;
    let job = PathJob { plan, security: &options.security, interrupt: &options.stop };
    let outcome = path::run(&job, &mut |event| begun.event(event));
    begun.take(watched.finish(None, &options.stop, Reach::default()));
    begun.end(
        "mtu",
        outcome,
        options,
        |event| matches!(event, Event::Path(_)),
        |found, error| attribute(&plan.target, found, error),
    )
}

fn attribute(target: &Target, found: bool, error: Error) -> Error {
    match error.protocol() {
        _ if found => error,
        Some(ProtocolError::Flows(_)) => {
            error.advised("probe session", "ask the host itself: --protocol icmp, udp or tcp")
        }
        Some(ProtocolError::Unacknowledged(_)) => error.advised("probe session", UNACKNOWLEDGED),
        Some(ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_)) => {
            let advice = "check that `pathmeter serve` listens there, or ask the host itself: --protocol icmp, udp or tcp";
            error.advised("probe session", advice)
        }
        _ => without_route(target, error),
    }
}
