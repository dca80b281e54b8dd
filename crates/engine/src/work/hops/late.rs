//! Refusals that come late: a router that limits its ICMP errors spends them on the trace, and one that looks for a neighbour in vain
//! reports it after three seconds.

use super::{Channel, Heard, HopsJob, Probe, is_own};
use crate::error::Result;
use linux::clock::mono_now;
use linux::poll::Waker;
use model::hops::{AnswerKind, Counted, Hop, HopRouter, HopsEnd, HopsResult};
use model::units::Nanos;
use std::sync::Arc;

/// Where nothing behind the last hop answered, sends a few probes that no others precede, and listens for a router that refuses
/// them.
pub(super) fn listen(job: &HopsJob<'_>, channel: &mut dyn Channel, found: &mut HopsResult) -> Result<()> {
    if found.end != HopsEnd::Silent || found.hops.is_empty() || job.plan.watch {
        return Ok(());
    }
    let waker = Arc::new(Waker::new()?);
    job.interrupt.watch(&waker);
    let began = mono_now();
    let (mut next, mut number) = (began + PAUSE, (found.packets as u32).saturating_add(APART));
    while mono_now() < began + LONGEST && !job.interrupt.is_raised() {
        let mut heard = Vec::new();
        channel.take(&mut heard)?;
        heard.retain(|heard| !is_own(heard, channel, job.plan));
        if heard.iter().any(|heard| note(found, heard)) {
            return Ok(());
        }
        if mono_now() >= next {
            channel.send(Probe { number, ttl: job.plan.max_hops, flow: 0 })?;
            found.packets += 1;
            (next, number) = (next + PAUSE, number + 1);
        }
        let until = next.min(began + LONGEST);
        super::listen(channel, None, &waker, until)?;
    }
    Ok(())
}

/// Whether a known router refuses: the path ends behind it then.
fn note(found: &mut HopsResult, heard: &Heard) -> bool {
    let Heard::Answer(_, answer) = heard else { return false };
    let AnswerKind::Refused(kind, code) = answer.kind else { return false };
    let is_it = |router: &HopRouter| router.address.to_canonical() == answer.from;
    let known = |hop: &&Hop| hop.routers.iter().any(is_it);
    let Some(ttl) = found.hops.iter().find(known).map(|hop| hop.ttl) else { return false };
    found.hops.retain(|hop| hop.ttl <= ttl);
    let refuser = HopRouter { answered: 1, refused: Some([kind, code]), ..HopRouter::at(answer.from) };
    let counted = Counted { sent: 1, answered: 1 };
    found.hops.push(Hop { ttl: ttl + 1, counted, routers: vec![refuser], ..Hop::default() });
    found.end = HopsEnd::Refused;
    true
}

/// Routers limit their errors to one per second and destination.
const PAUSE: Nanos = Nanos::from_millis(1_100);
/// Three attempts at finding a neighbour take three seconds.
const LONGEST: Nanos = Nanos::from_millis(3_400);
/// Numbers of these probes are none of the trace's, some of which may have been refused by this host.
const APART: u32 = 1_000;
