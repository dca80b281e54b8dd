//! Which datagram sizes cross the path, asked after a UDP test that needs explaining.

use super::Options;
use super::begun::Begun;
use crate::error::{Result, sentence};
use crate::work::path;
use crate::work::probe::Prober;
use model::event::{Event, Outcome, Warning};
use model::plan::{Direction, Plan, ProtocolName, Transport};
use model::summary::Summary;

/// After a UDP test of which nearly nothing arrived, or whose datagrams went in fragments: probes the path, so that
/// the findings can name the reason and the payload that works. iPerf3's servers answer no probes.
pub(super) fn explain(plan: &Plan, options: &Options, begun: &mut Begun<'_>) {
    let directions = unexplained(plan, &Summary::from_events(begun.events()));
    if directions.is_empty() || options.stop.is_raised() || plan.protocol != ProtocolName::Native {
        return;
    }
    begun.event(&Event::progress("Probing which datagram sizes cross the path, to explain this result …"));
    let probe = || -> Result<Event> {
        let mut prober = Prober::open(&plan.target, &plan.local, &options.security, &options.stop)?;
        let found = path::measure_directions(&mut prober, &directions)?;
        prober.close();
        Ok(Event::Path(Box::new(found)))
    };
    match probe() {
        Ok(found) => begun.event(&found),
        Err(_) if options.stop.is_raised() => {}
        Err(e) => {
            let why = sentence(&e);
            let text =
                format!("The path could not be probed after the test, so its loss is not explained: {why}.");
            begun.event(&Event::Warning(Warning::new("probe-failed", text)));
        }
    }
}

/// The directions whose figures need probes to be understood.
fn unexplained(plan: &Plan, summary: &Summary) -> Vec<Direction> {
    let ended = matches!(summary.outcome, Some(Outcome::Completed | Outcome::Interrupted));
    if plan.test.transport != Transport::Udp || !ended {
        return Vec::new();
    }
    let needs = |direction: &Direction| {
        summary.direction(*direction).is_some_and(|one_way| {
            let nothing = one_way.received.datagrams.saturating_mul(NEARLY_NOTHING) <= one_way.sent.datagrams;
            let fragments = one_way.wire.frames_per_packet.is_some_and(|frames| frames > 1);
            !one_way.receiver_unknown && one_way.sent.datagrams > 0 && (nothing || fragments)
        })
    };
    plan.test.directions.each().filter(needs).collect()
}

/// One datagram in so many is nearly nothing.
const NEARLY_NOTHING: u64 = 20;
