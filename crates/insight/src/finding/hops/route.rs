//! `paths-differ`, `route-changed` and `routing-loop`: which routers packets cross.

use super::super::text::count;
use super::super::{Finding, Severity};
use super::{Look, found};
use model::hops::{Hop, HopFlow, HopsResult, LEVEL, better};
use model::run::Run;
use model::units::Nanos;
use std::collections::BTreeSet;

/// Flows cross different routers.
pub(in super::super) fn paths_differ(run: &Run) -> Option<Finding> {
    let found = found(run)?;
    let shared: Vec<&Hop> = found.hops.iter().filter(|hop| is_shared(found, hop)).collect();
    let first = shared.first()?;
    let most = shared.iter().map(|hop| hop.routers.len()).max().unwrap_or_default();
    let lengths: BTreeSet<u8> = found.flows.iter().filter_map(|flow| flow.reached_at).collect();
    let unequal = if lengths.len() > 1 { ", of unequal length" } else { "" };
    let lossy = lossy(found);
    let worse =
        lossy.map(|flow| format!("; flow {} loses more than the others", flow + 1)).unwrap_or_default();
    let title = format!(
        "Flows to the far end take different paths{unequal}: up to {} at the same distance, from hop {} on{worse}",
        count(most as u64, "router"),
        first.ttl
    );
    let severity = if lossy.is_some() { Severity::Warning } else { Severity::Info };
    let hops: Vec<u8> = shared.iter().map(|hop| hop.ttl).collect();
    let finding = Finding::new("paths-differ", severity, None, title)
        .with("shared_hops", hops)
        .with("most_routers_count", most)
        .with("flows_count", found.flows.len())
        .with_known("lossy_flow", lossy.map(|flow| flow + 1));
    let advice = match lossy {
        Some(flow) => format!(
            "Follow the routers of flow {} in the table of flows: one of its links loses packets, and connections are lucky or \
             not by their ports.",
            flow + 1
        ),
        None => "Equal-cost paths (ECMP) and bonds do so by design. A connection stays on one of them; compare connections only \
                 with the same ports."
            .into(),
    };
    Some(finding.advise(advice))
}

/// Nothing of some flows reaches the far end while others do.
pub(in super::super) fn dead_flows(run: &Run) -> Option<Finding> {
    let found = found(run)?;
    let dead = found.dead_flows();
    let first = *dead.first()?;
    let has_flow = |hop: &&Hop| hop.routers.iter().any(|router| router.flows.contains(&(first as u32)));
    let last = found.hops.iter().rev().find(has_flow).and_then(|hop| {
        let router = hop.routers.iter().find(|router| router.flows.contains(&(first as u32)))?;
        Some((hop.ttl, router.address))
    });
    let place = match last {
        Some((ttl, address)) => format!("behind hop {ttl} ({address})"),
        None => "before the first hop".into(),
    };
    let is_answered =
        |flow: &&HopFlow| flow.reached_at.is_some() || flow.again.is_some_and(|again| again.answered > 0);
    let numbers: Vec<String> = dead.iter().map(|flow| (flow + 1).to_string()).collect();
    let (which, its) = match numbers.as_slice() {
        [one] => (format!("flow {one}"), "its"),
        _ => (format!("flows {}", numbers.join(", ")), "their"),
    };
    let title = format!(
        "The far end answers {} of {} and never {which}: {its} packets, or the answers to them, are dropped {place}, on one of several \
         equal paths",
        found.flows.iter().filter(is_answered).count(),
        count(found.flows.len() as u64, "flow"),
    );
    let probes = dead.iter().filter_map(|flow| found.flows[*flow].again).map(|again| again.sent).sum::<u32>();
    let finding = Finding::new("dead-flows", Severity::Warning, None, title)
        .with("dead_flows_count", dead.len())
        .with("flows_count", found.flows.len())
        .with("further_probes_count", probes)
        .with("dead_flows", dead.iter().map(|flow| flow + 1).collect::<Vec<_>>())
        .with_known("distance_hops", last.map(|(ttl, _)| ttl))
        .with_known("router_address", last.map(|(_, address)| address.to_string()));
    Some(finding.advise(
        "Connections are lucky or not by their ports. Look at the counters of each link behind the last hop that the flows share: the \
         members of a bond or of a group of next hops are tried one by one.",
    ))
}

/// Several routers answer, each in other flows, and not because the path changed.
fn is_shared(found: &HopsResult, hop: &Hop) -> bool {
    hop.routers.len() > 1 && !has_changed(found, hop) && !alternates(hop)
}

fn has_changed(found: &HopsResult, hop: &Hop) -> bool {
    found.changes.iter().any(|change| change.ttl == hop.ttl)
}

/// One flow was answered from several addresses.
fn alternates(hop: &Hop) -> bool {
    let flows = || hop.routers.iter().flat_map(|router| &router.flows);
    flows().collect::<BTreeSet<_>>().len() < flows().count()
}

/// One flow met several addresses at a hop, which the flows do not explain.
pub(in super::super) fn addresses_alternate(look: Look<'_>) -> Option<Finding> {
    let found = look.found;
    let is_one = |hop: &&Hop| alternates(hop) && !has_changed(found, hop);
    let hops: Vec<&Hop> = found.hops.iter().filter(is_one).collect();
    let first = hops.first()?;
    let addresses: Vec<String> = first.routers.iter().map(|router| router.address.to_string()).collect();
    let more = match hops.len() {
        1 => String::new(),
        several => format!(", and so do {} further on", count(several as u64 - 1, "hop")),
    };
    let title = format!("Hop {} answers the same flow from {}{more}", first.ttl, addresses.join(" and "));
    let ttls: Vec<u8> = hops.iter().map(|hop| hop.ttl).collect();
    Some(
        look.finding("addresses-alternate", Severity::Info, title)
            .with("alternating_hops", ttls)
            .with("answers_address", addresses)
            .advise(
                "One router or NAT that answers from several addresses looks so, and so do paths that are shared out by packet, or \
                 a path that changed: --flows 1 -c 100 shows whether the addresses take turns or one follows the other.",
            ),
    )
}

/// A flow that loses more than all others together, by its number from 0 on.
fn lossy(found: &HopsResult) -> Option<usize> {
    let of_flow = |number: usize| {
        let ttl = found.flows.get(number)?.reached_at?;
        found.hops.iter().find(|hop| hop.ttl == ttl)?.flows.get(number).copied()
    };
    // Where answers are limited, it is chance which of them are missing.
    if found.evidence().is_none_or(|(_, limited)| limited || found.loss.is_none()) {
        return None;
    }
    let level = LEVEL / found.flows.len().max(1) as f64;
    let worst = |number: &usize| {
        let others = (0..found.flows.len()).filter(|other| other != number).filter_map(of_flow);
        let others = others.reduce(model::hops::Counted::plus);
        others.zip(of_flow(*number)).is_some_and(|(others, own)| better(others, own, level))
    };
    (0..found.flows.len()).find(worst)
}

/// A flow took another router while it was watched.
pub(in super::super) fn changed(look: Look<'_>) -> Option<Finding> {
    let found = look.found;
    let first = found.changes.iter().min_by_key(|change| (change.ttl, change.at))?;
    let hops: BTreeSet<u8> = found.changes.iter().map(|change| change.ttl).collect();
    let more = match hops.len() {
        1 => String::new(),
        several => format!(", and {} behind it", count(several as u64 - 1, "hop")),
    };
    // Not the same to the nanosecond in each flow.
    let at = found.changes.iter().map(|change| change.at).min().unwrap_or(first.at);
    let at = Nanos::from_millis(at.0 / 1_000_000);
    let title = format!(
        "The path changed {at} into the trace: hop {} is {} and was {}{more}",
        first.ttl, first.to, first.from
    );
    Some(
        look.finding("route-changed", Severity::Warning, title)
            .with("at_ns", first.at.0)
            .with("changed_hops", hops.into_iter().collect::<Vec<u8>>())
            .with("router_before_address", first.from.to_string())
            .with("router_since_address", first.to.to_string())
            .advise(
                "Compare the time with the routing protocol's log of the hop before. A path that changes often makes round trips \
                 unsteady and packets late: repeat it with -c 200.",
            ),
    )
}

/// Packets go in a circle.
pub(in super::super) fn circle(look: Look<'_>) -> Option<Finding> {
    if look.found.circle.is_empty() {
        return None;
    }
    let far_end = look.far_end();
    let routers: Vec<String> = look.found.circle.iter().map(ToString::to_string).collect();
    let title = format!("Packets go in a circle between {} and never reach {far_end}", routers.join(" and "));
    Some(
        look.finding("routing-loop", Severity::Problem, title)
            .with("routers_address", routers.clone())
            .advise(format!(
                "Look up the route to {far_end} on {}: one of them sends to the other what it should send on. Often a default \
                 route meets a prefix that is announced and not routed.",
                routers.join(" and ")
            )),
    )
}
