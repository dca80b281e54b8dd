//! `paths-differ`: flows between the same two hosts take paths of different size.

use super::super::{Finding, Severity};
use super::Side;
use model::path::{Bound, Flow};

/// Flows that were looked at cross with different sizes.
pub(in super::super) fn differ(side: Side<'_>) -> Option<Finding> {
    let legs = legs(&side);
    (legs.len() > 1).then(|| finding(side, &legs))
}

/// A path MTU and the flows that have it.
struct Leg {
    mtu: u32,
    flows: Vec<Flow>,
}

/// The sizes found, largest first; those that are not known to the byte are left out.
fn legs(side: &Side<'_>) -> Vec<Leg> {
    let Some(own) = side.one_way.path_mtu.filter(|_| side.one_way.bound == Bound::Exact) else {
        return Vec::new();
    };
    let first = side.one_way.flow.map(|flow| (flow, own));
    let exact = side.one_way.other_flows.iter().filter(|other| other.bound == Bound::Exact);
    let others = exact.map(|other| (other.flow, other.path_mtu));
    let mut legs: Vec<Leg> = Vec::new();
    for (flow, mtu) in first.into_iter().chain(others).chain(of_tcp(side, own)) {
        match legs.iter_mut().find(|leg| leg.mtu == mtu) {
            Some(leg) => leg.flows.push(flow),
            None => legs.push(Leg { mtu, flows: vec![flow] }),
        }
    }
    legs.sort_by_key(|leg| std::cmp::Reverse(leg.mtu));
    legs
}

/// TCP received a smaller path MTU in this test, which its sender's kernel had not believed before and did not learn from a
/// message about the probes, which cross.
fn of_tcp(side: &Side<'_>, own: u32) -> Option<(Flow, u32)> {
    let tcp = side.one_way.tcp.as_ref()?;
    let believed = side.one_way.cached_mtu.is_some_and(|cached| cached < own);
    let learnt = |mtu: u32| side.one_way.too_big.iter().any(|reported| reported.mtu == mtu);
    let reported = |mtu: &u32| *mtu < own && !believed && !learnt(*mtu) && tcp.mtu_probing != Some(2);
    Some((tcp.flow?, tcp.path_mtu.filter(reported)?))
}

fn finding(side: Side<'_>, legs: &[Leg]) -> Finding {
    let all: usize = legs.iter().map(|leg| leg.flows.len()).sum();
    let each: Vec<String> =
        legs.iter().map(|leg| format!("{} bytes in {} of {all}", leg.mtu, leg.flows.len())).collect();
    let direction = side.direction;
    let title = format!(
        "Flows between the two hosts take paths of different size {direction}: {}, distinguished by their ports",
        each.join(", ")
    );
    let least = legs.last().map_or(0, |leg| leg.mtu);
    let flows: Vec<String> = legs
        .iter()
        .flat_map(|leg| leg.flows.iter().map(move |flow| format!("{flow}: {}", leg.mtu)))
        .collect();
    Finding::new("paths-differ", Severity::Warning, direction, title)
        .with("least_path_mtu_bytes", least)
        .with("largest_path_mtu_bytes", legs.first().map_or(0, |leg| leg.mtu))
        .with("measured_flows", flows)
        .advise(format!(
            "Keep to packets of {least} bytes, UDP payloads of {} (`-l {0}`), which cross in every flow that was looked at; \
             give every one of the equal-cost paths (ECMP, bonds, two uplinks) the same MTU. Other flows may take further \
             paths.",
            least.saturating_sub(side.one_way.headers())
        ))
}
