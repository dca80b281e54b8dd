//! The answers of a trace, added up by hop, router and flow.

use super::shift::changes;
use super::{AnswerKind, FlowTrace, Sent, Tracer};
use crate::distinct;
use crate::hops::{Counted, Hop, HopFlow, HopRouter, HopsEnd, HopsResult, hops_back, judge};
use crate::stats::exact::Exact;
use crate::units::Nanos;
use std::net::IpAddr;

/// The results that follow from the probes and answers of a trace alone.
pub(super) fn hops_result(trace: &Tracer) -> HopsResult {
    let top = trace.flows.iter().map(|flow| trace.top(flow)).max().unwrap_or(0);
    let mut hops: Vec<Hop> = (1..=top).map(|ttl| hop(trace, ttl)).collect();
    while hops.last().is_some_and(|hop| hop.counted.answered == 0) {
        hops.pop();
    }
    let reached = |flow_trace: &FlowTrace| {
        trace.end_of(flow_trace).filter(|end| end.1 == HopsEnd::Reached).map(|end| end.0)
    };
    let flow = |(number, flow_trace): (u32, &FlowTrace)| HopFlow {
        flow: None,
        reached_at: reached(flow_trace),
        far_end: trace.far_counted(number),
        again: None,
    };
    let flows = (0..).zip(&trace.flows).map(flow).collect();
    HopsResult {
        protocol: trace.schedule.protocol,
        end: end(trace),
        changes: changes(trace, top),
        circle: circle(trace),
        packets: trace.probes.iter().filter(|probe| probe.at.is_some()).count() as u64,
        hops,
        flows,
        ..HopsResult::default()
    }
    .judged()
}

impl HopsResult {
    /// The same with what follows from its counts.
    #[must_use]
    pub fn judged(mut self) -> HopsResult {
        let (missing, loss) = judge(&self);
        for (hop, why) in self.hops.iter_mut().zip(missing) {
            hop.missing = why;
        }
        self.loss = loss;
        self
    }
}

/// The end of the path: the best end among the flows.
fn end(trace: &Tracer) -> HopsEnd {
    let ends = || trace.flows.iter().filter_map(|flow_trace| flow_trace.end.map(|end| end.1));
    let by_rank = [HopsEnd::Reached, HopsEnd::Refused, HopsEnd::Circle];
    let best = by_rank.into_iter().find(|wanted| ends().any(|end| end == *wanted));
    let cut = || {
        trace
            .flows
            .iter()
            .any(|flow_trace| flow_trace.heard > 0 && flow_trace.heard >= trace.schedule.max_hops)
    };
    best.unwrap_or_else(|| if cut() { HopsEnd::Cut } else { HopsEnd::Silent })
}

fn hop(trace: &Tracer, ttl: u8) -> Hop {
    let probes: Vec<&Sent> =
        trace.probes.iter().filter(|probe| probe.ttl == ttl && trace.counts(probe)).collect();
    let counted = |of: &[&Sent]| Counted {
        sent: u32::try_from(of.len()).unwrap_or(u32::MAX),
        answered: u32::try_from(of.iter().filter(|probe| probe.answer.is_some()).count()).unwrap_or(u32::MAX),
    };
    let of_flow = |flow: u32| probes.iter().copied().filter(|probe| probe.flow == flow).collect::<Vec<_>>();
    let routers = routers(&probes);
    let (rtt, jitter) = times(&probes);
    Hop {
        ttl,
        far_end: probes.iter().any(|probe| kind(probe) == Some(AnswerKind::Arrived)),
        counted: counted(&probes),
        duplicates: probes.iter().map(|probe| probe.duplicates).fold(0, u32::saturating_add),
        rtt: rtt.sorted(0).map(|sorted| sorted.distribution()),
        jitter,
        flows: (0..trace.schedule.flows.max(1)).map(|flow| counted(&of_flow(flow))).collect(),
        routers,
        ..Hop::default()
    }
}

fn kind(probe: &Sent) -> Option<AnswerKind> {
    probe.answer.as_ref().map(|answer| answer.kind)
}

/// A probe's round trip and who answered.
fn round_trip(probe: &Sent) -> Option<(IpAddr, Nanos)> {
    let answer = probe.answer.as_ref()?;
    Some((answer.from, answer.at.saturating_since(probe.at?)))
}

fn times(probes: &[&Sent]) -> (Exact, Option<Nanos>) {
    let mut all = Exact::default();
    let mut before: Vec<(IpAddr, Nanos)> = Vec::new();
    let (mut sum, mut count) = (0_u64, 0_u64);
    for (from, time) in probes.iter().filter_map(|probe| round_trip(probe)) {
        all.record(time.0);
        match before.iter_mut().find(|known| known.0 == from) {
            Some(known) => {
                (sum, count) = (sum.saturating_add(time.0.abs_diff(known.1.0)), count + 1);
                known.1 = time;
            }
            None => before.push((from, time)),
        }
    }
    (all, sum.checked_div(count).map(Nanos))
}

fn routers(probes: &[&Sent]) -> Vec<HopRouter> {
    let mut found: Vec<(HopRouter, Exact)> = Vec::new();
    for probe in probes {
        let (Some(answer), Some((from, time))) = (&probe.answer, round_trip(probe)) else { continue };
        let at = found.iter().position(|(router, _)| router.address == from).unwrap_or_else(|| {
            found.push((HopRouter::at(from), Exact::default()));
            found.len() - 1
        });
        let (router, times) = &mut found[at];
        times.record(time.0);
        router.answered += 1;
        if !router.flows.contains(&probe.flow) {
            router.flows.push(probe.flow);
        }
        router.reply_ttl = answer.ttl.or(router.reply_ttl);
        router.hops_back = router.reply_ttl.and_then(hops_back);
        router.labels.clone_from(&answer.labels);
        match answer.kind {
            AnswerKind::TooBig(mtu) => router.next_mtu = Some(mtu),
            AnswerKind::Refused(kind, code) => router.refused = Some([kind, code]),
            AnswerKind::Expired | AnswerKind::Arrived => {}
        }
    }
    let mut routers: Vec<HopRouter> = found
        .into_iter()
        .map(|(mut router, times)| {
            router.rtt_p50 = times.sorted(0).map(|sorted| sorted.distribution().p50);
            router.flows.sort_unstable();
            router
        })
        .collect();
    routers.sort_by_key(|router| std::cmp::Reverse(router.answered));
    routers
}

/// The routers that come again in a flow that does not reach the far end.
fn circle(trace: &Tracer) -> Vec<IpAddr> {
    let circling = |flow_trace: &&FlowTrace| flow_trace.end.is_some_and(|end| end.1 == HopsEnd::Circle);
    distinct(trace.flows.iter().filter(circling).flat_map(|flow_trace| {
        let routers = flow_trace.routers.iter().map(|(_, router)| *router);
        routers.filter(|router| flow_trace.turns(*router, u8::MAX) > 1)
    }))
}
