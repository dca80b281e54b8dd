//! Routes that changed: from some time on, other routers answered at some hops than before.
//!
//! The flows take turns, so that each is probed too seldom to distinguish a change from routers that come and go by chance. All
//! flows and hops together suffice: before the time and after it each flow has one router at a hop. Every answer that repeats the
//! one before it would have a chance of one half, if packets were distributed one by one.

use super::{Sent, Tracer};
use crate::hops::RouteChange;
use crate::time::MonoTime;
use std::net::IpAddr;

/// One answer at a hop.
#[derive(Clone, Copy)]
struct Heard {
    flow: u32,
    from: IpAddr,
    at: MonoTime,
}

/// The flows and hops that changed, all at one time; empty: none did, or chance explains it.
pub(super) fn changes(trace: &Tracer, top: u8) -> Vec<RouteChange> {
    let hops: Vec<(u8, Vec<Heard>)> =
        (1..=top).map(|ttl| (ttl, heard(trace, ttl))).filter(|(_, heard)| has_switch(heard)).collect();
    let mut times: Vec<MonoTime> = hops.iter().flat_map(|(_, heard)| switches(heard)).collect();
    times.sort_unstable();
    times.dedup();
    let bits = |time: &MonoTime| hops.iter().filter_map(|(_, heard)| agreement(heard, *time)).sum::<u32>();
    // The first one wins among equally good times: later ones attribute late answers of the old path to it.
    let Some(best) = times.iter().rev().copied().max_by_key(|time| bits(time)) else { return Vec::new() };
    if bits(&best) < ENOUGH {
        return Vec::new();
    }
    let first = trace.first.unwrap_or(best);
    let changed = hops.iter().filter(|(_, heard)| agreement(heard, best).is_some());
    changed.flat_map(|(ttl, heard)| of_hop(*ttl, heard, best, first)).collect()
}

fn heard(trace: &Tracer, ttl: u8) -> Vec<Heard> {
    let answer = |probe: &Sent| {
        let (answer, at) = (probe.answer.as_ref()?, probe.at?);
        Some(Heard { flow: probe.flow, from: answer.from, at })
    };
    let mut heard: Vec<Heard> = trace
        .probes
        .iter()
        .filter(|probe| probe.ttl == ttl && trace.counts(probe))
        .filter_map(answer)
        .collect();
    heard.sort_by_key(|heard| heard.at);
    heard
}

fn of_flow(heard: &[Heard], flow: u32) -> impl Iterator<Item = &Heard> {
    heard.iter().filter(move |heard| heard.flow == flow)
}

fn flows(heard: &[Heard]) -> Vec<u32> {
    let mut flows: Vec<u32> = heard.iter().map(|heard| heard.flow).collect();
    flows.sort_unstable();
    flows.dedup();
    flows
}

/// A flow met two routers here.
fn has_switch(heard: &[Heard]) -> bool {
    flows(heard).into_iter().any(|flow| !is_steady(heard, flow))
}

/// A flow met one router alone.
fn is_steady(heard: &[Heard], flow: u32) -> bool {
    let mut routers = of_flow(heard, flow).map(|heard| heard.from);
    let first = routers.next();
    routers.all(|router| Some(router) == first)
}

/// When a flow first met another router than before.
fn switches(heard: &[Heard]) -> Vec<MonoTime> {
    let first_switch = |flow| {
        let own: Vec<&Heard> = of_flow(heard, flow).collect();
        own.windows(2).find(|pair| pair[0].from != pair[1].from).map(|pair| pair[1].at)
    };
    flows(heard).into_iter().filter_map(first_switch).collect()
}

/// Number of answers that agree with a change at this time, beyond those that choose the routers; absent: some contradict it, or
/// too few are on either side.
fn agreement(heard: &[Heard], time: MonoTime) -> Option<u32> {
    let split = heard.partition_point(|heard| heard.at < time);
    let (before, after) = heard.split_at(split);
    let sides = [before, after].map(|side| {
        let flows = flows(side);
        let is_one = side.iter().all(|heard| heard.from == side[0].from);
        let chosen = if is_one { 1 } else { flows.len() };
        flows.iter().all(|flow| is_steady(side, *flow)).then(|| side.len().saturating_sub(chosen))
    });
    let [before, after] = sides;
    let (before, after) = (before.filter(|bits| *bits > 0)?, after.filter(|bits| *bits > 0)?);
    u32::try_from(before + after).ok()
}

fn of_hop(ttl: u8, heard: &[Heard], time: MonoTime, first: MonoTime) -> Vec<RouteChange> {
    let change = |flow| {
        let from = of_flow(heard, flow).take_while(|heard| heard.at < time).last()?.from;
        let since = of_flow(heard, flow).find(|heard| heard.at >= time)?;
        let at = since.at.saturating_since(first);
        (from != since.from).then_some(RouteChange { ttl, flow, from, to: since.from, at })
    };
    flows(heard).into_iter().filter_map(change).collect()
}

/// Answers that have to agree: routers that come and go by chance look so once in dozens of traces.
const ENOUGH: u32 = 6;
