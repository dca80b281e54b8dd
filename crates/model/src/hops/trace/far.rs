//! Where the far end is: how far, from when on, and which answers are its own.

use super::{Answer, AnswerKind, FlowTrace, HopsEnd, Sent, Tracer};
use crate::hops::Counted;
use crate::time::MonoTime;
use std::net::IpAddr;

/// The distance of the far end for probes sent from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Distance {
    /// The first probe that it holds for.
    since: MonoTime,
    /// Hops; absent: further than before, and not heard of yet.
    ttl: Option<u8>,
}

impl FlowTrace {
    /// Follows the distance: it has grown where a router answers at the hop where the far end was, and shrunk where the far end
    /// answers at a hop where a router was.
    pub(super) fn measure(&mut self, ttl: u8, kind: AnswerKind, sent: MonoTime) {
        let last = self.distances.last().copied();
        if last.is_some_and(|last| sent < last.since) {
            return;
        }
        match (kind, last) {
            (AnswerKind::Arrived, None) => {
                self.distances.push(Distance { since: MonoTime(0), ttl: Some(ttl) });
            }
            (AnswerKind::Arrived, Some(last)) if last.ttl.is_none_or(|known| ttl < known) => {
                let had_router = last.ttl.is_some() && self.routers.iter().any(|(at, _)| *at == ttl);
                match self.distances.last_mut().filter(|_| !had_router) {
                    Some(last) => last.ttl = Some(ttl),
                    None => self.distances.push(Distance { since: sent, ttl: Some(ttl) }),
                }
            }
            // A path that is shared out by packet would be followed for ever.
            (AnswerKind::Expired, Some(last))
                if last.ttl.is_some_and(|known| ttl >= known) && self.distances.len() < MOST_DISTANCES =>
            {
                self.distances.push(Distance { since: sent, ttl: None });
                (self.end, self.is_known) = (None, false);
                (self.asked, self.latest) = (ttl, None);
            }
            _ => {}
        }
    }

    /// Forgets distances that hold for no probe that is kept.
    pub(super) fn forget(&mut self, first: MonoTime) {
        while self.distances.get(1).is_some_and(|next| next.since <= first) {
            self.distances.remove(0);
        }
    }
}

impl Tracer {
    /// The distance of the far end for a probe of this flow.
    pub(super) fn distance_at(&self, flow: &FlowTrace, at: MonoTime) -> Option<u8> {
        match flow.distances.as_slice() {
            [] => None,
            [_] => self.end_of(flow).filter(|end| end.1 == HopsEnd::Reached).map(|end| end.0),
            several => several.iter().rfind(|distance| distance.since <= at)?.ttl,
        }
    }

    /// Probes of a flow that went as far as the far end was, where its distance changed. One that a router ended instead shows
    /// another distance, and no loss.
    pub(super) fn far_counted(&self, flow: u32) -> Option<Counted> {
        let flow_trace = self.flows.get(flow as usize).filter(|flow| flow.distances.len() > 1)?;
        let is_far = |probe: &&Sent| {
            let distance = probe.at.and_then(|at| self.distance_at(flow_trace, at));
            let kind = probe.answer.as_ref().map(|answer| answer.kind);
            probe.flow == flow
                && distance == Some(probe.ttl)
                && kind.is_none_or(|kind| kind == AnswerKind::Arrived)
        };
        let count = |counted: Counted, probe: &Sent| Counted {
            sent: counted.sent + 1,
            answered: counted.answered + u32::from(probe.answer.is_some()),
        };
        Some(self.probes.iter().filter(is_far).fold(Counted::default(), count))
    }

    /// Whether an answer from another address is the far end's: a port is reported unreachable by its own host (RFC
    /// 1122 section 3.2.2.1), and a firewall that reports it in its stead was met as a router one hop before.
    pub(super) fn is_far_end(&self, number: u32, answer: &Answer) -> bool {
        if !matches!(answer.kind, AnswerKind::Refused(3, 3) | AnswerKind::Refused(1, 4)) {
            return false;
        }
        let Some(probe) = self.probes.get(number.wrapping_sub(self.forgotten) as usize) else { return false };
        let Some(flow) = self.flows.get(probe.flow as usize) else { return false };
        let is_router = self.flows.iter().flat_map(|flow| &flow.routers).any(|known| known.1 == answer.from);
        let has_other_before = flow.routers.iter().any(|(ttl, _)| ttl.checked_add(1) == Some(probe.ttl));
        !is_router && (probe.ttl == 1 || has_other_before)
    }

    /// The hop behind the router that refuses the probes of a flow: one that limits its answers refuses later ones only.
    pub(super) fn refused_at(&self, flow: &FlowTrace) -> Option<u8> {
        let refuser: IpAddr = flow.refuser?;
        let met = self.flows.iter().flat_map(|flow| &flow.routers).filter(|known| known.1 == refuser);
        met.map(|(ttl, _)| ttl.saturating_add(1)).min()
    }
}

/// Distances of one flow that are kept apart.
const MOST_DISTANCES: usize = 8;
