//! Whether something on the path answers SYNs for the far end: datagrams whose TTL ends where the SYNs were answered go on past
//! it. Every flow has to agree, since single flows may take a longer leg.

use super::{CLOSED_PORT, Channel, Datagrams, Heard, HopsJob, Probe};
use crate::error::Result;
use linux::clock::mono_now;
use model::hops::{AnswerKind, Beyond, HopProtocol, HopsEnd, HopsResult};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Asks with datagrams; adds the packets it sent. Absent: nothing of the kind, or not known.
pub(super) fn look(job: &HopsJob<'_>, found: &mut HopsResult) -> Option<Beyond> {
    let furthest = found.flows.iter().filter_map(|flow| flow.reached_at).max()?;
    let wanted = found.protocol == HopProtocol::Tcp
        && found.end == HopsEnd::Reached
        && found.flows.len() >= ENOUGH
        && furthest < job.plan.max_hops;
    // A host that ignores datagrams is no reason to end a trace with an error.
    if wanted { ask(job, furthest, &mut found.packets).ok().flatten() } else { None }
}

fn ask(job: &HopsJob<'_>, ttl: u8, packets: &mut u64) -> Result<Option<Beyond>> {
    let plan = job.plan;
    let mut target = plan.target.address;
    target.set_port(CLOSED_PORT);
    let mut datagrams = Datagrams::toward(target, &plan.local, FLOWS, plan.timeout)?;
    let mut number = 0;
    let mut round = |ttl| one_round(job, &mut datagrams, ttl, &mut number, packets);
    let answers = round(ttl)?;
    let router = |(from, kind): &(IpAddr, AnswerKind)| {
        (*kind == AnswerKind::Expired && *from != target.ip().to_canonical()).then_some(*from)
    };
    let routers: Option<Vec<IpAddr>> = answers.values().map(router).collect();
    let Some(routers) = routers.filter(|routers| routers.len() >= ENOUGH) else { return Ok(None) };
    let mut reached_at = None;
    for further in ttl + 1..=plan.max_hops.min(ttl.saturating_add(FURTHER)) {
        if job.interrupt.is_raised() {
            break;
        }
        if round(further)?.values().any(|(_, kind)| *kind == AnswerKind::Arrived) {
            reached_at = Some(further);
            break;
        }
    }
    Ok(Some(Beyond {
        protocol: HopProtocol::Udp,
        ttl,
        router: routers[0],
        answered: answers.len() as u32,
        reached_at,
    }))
}

/// A datagram of each flow to one hop, and the last answer to each.
fn one_round(
    job: &HopsJob<'_>,
    datagrams: &mut Datagrams,
    ttl: u8,
    number: &mut u32,
    packets: &mut u64,
) -> Result<BTreeMap<u32, (IpAddr, AnswerKind)>> {
    let first = *number;
    for flow in 0..FLOWS {
        datagrams.send_sized(Probe { number: *number, ttl, flow }, job.plan.size)?;
        *number += 1;
        *packets += 1;
    }
    let deadline = mono_now() + job.plan.timeout.min(WAIT);
    let mut answers = BTreeMap::new();
    while answers.len() < FLOWS as usize && mono_now() < deadline && !job.interrupt.is_raised() {
        let mut heard = Vec::new();
        datagrams.take(&mut heard)?;
        answers.extend(heard.into_iter().filter_map(|heard| match heard {
            Heard::Answer(number, answer) if number >= first => Some((number, (answer.from, answer.kind))),
            _ => None,
        }));
        if answers.len() < FLOWS as usize {
            datagrams.wait(deadline)?;
        }
    }
    Ok(answers)
}

/// Flows of datagrams; a router answers six at once.
const FLOWS: u32 = 4;
/// Flows that have to agree, of SYNs and of datagrams.
const ENOUGH: usize = 3;
/// Hops that are looked at behind that one.
const FURTHER: u8 = 12;
const WAIT: Nanos = Nanos::from_millis(300);
