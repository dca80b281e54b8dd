//! The measuring node reaches the answering one: by links, and by routes in each family that is expected to work.

use super::Checker;
use super::addresses::{Placed, contains, on_link, placed};
use super::segments::Segments;
use crate::topology::{Filter, Node, NodePlace, Topology};
use std::net::IpAddr;

pub(super) fn check(topology: &Topology, segments: &Segments, checker: &mut Checker<'_>) {
    let ends = [&topology.from, &topology.to].map(|name| topology.node(name));
    let [Some(from), Some(to)] = ends else { return };
    if [from, to].iter().any(|node| matches!(node.place, NodePlace::Remote { .. })) {
        return;
    }
    if !linked(topology, &from.name, &to.name) {
        let text = format!("there is no path from `{}` to `{}`: add the missing link", from.name, to.name);
        return checker.wrong(&["links"], text);
    }
    let all = placed(topology, segments);
    for (family, name) in [(0, "IPv4"), (1, "IPv6")] {
        families(topology, family, name, [from, to], checker);
        if !topology.expect.reachable[family] {
            continue;
        }
        let directions = if translates(topology) { &[(from, to)][..] } else { &[(from, to), (to, from)] };
        for (from, to) in directions {
            let Some(goal) = address_of(to, family) else { continue };
            if let Err((at, why)) = follow(topology, &all, from, goal) {
                let text = format!("`{}` cannot reach {goal} of `{}` over {name}: {why}", from.name, to.name);
                let has_none = topology.node(at).is_some_and(|at| at.routes.is_empty());
                checker.wrong(&["nodes", at, if has_none { "" } else { "routes" }], text);
            }
        }
    }
}

/// A family that only one end has is a mistake, unless the file has a value for `reachable`.
fn families(
    topology: &Topology,
    family: usize,
    name: &str,
    [from, to]: [&Node; 2],
    checker: &mut Checker<'_>,
) {
    let has = [from, to].map(|node| address_of(node, family).is_some());
    let declared = topology.expect.reachable[family];
    if declared && has != [true, true] {
        let lacks = if has[0] { to } else { from };
        let text = format!("{name} cannot be reachable: `{}` has no address of it", lacks.name);
        checker.wrong(&["expect", "reachable"], text);
    } else if has[0] != has[1] && !checker.has(["expect", "reachable"]) {
        let (has, lacks) = if has[0] { (from, to) } else { (to, from) };
        let text = format!(
            "`{}` has an {name} address and `{}` has none: give it one, or say in [expect] what is reachable, such as reachable = [\"ipv4\"]",
            has.name, lacks.name
        );
        checker.wrong(&["nodes", &lacks.name], text);
    }
}

fn address_of(node: &Node, family: usize) -> Option<IpAddr> {
    node.addresses.iter().map(|own| own.address).find(|address| usize::from(address.is_ipv6()) == family)
}

/// Answers to translated packets are routed by the translator's state, not by routes.
fn translates(topology: &Topology) -> bool {
    let rules = topology.nodes.iter().flat_map(|node| &node.filters);
    rules.into_iter().any(|filter| matches!(filter, Filter::Rules(text) if text.contains("masquerade") || text.contains("snat")))
}

fn linked(topology: &Topology, from: &str, to: &str) -> bool {
    topology.paths_from(from).iter().any(|path| path.last() == Some(&to))
}

/// Goes from node to node as their routes lead. The error is the node where it ends and why.
fn follow<'a>(
    topology: &'a Topology,
    all: &[Placed<'a>],
    from: &'a Node,
    goal: IpAddr,
) -> Result<(), (&'a str, String)> {
    let mut at = from;
    for _ in 0..=topology.nodes.len() {
        if at.place.is_external() || at.addresses.iter().any(|own| own.address == goal) {
            return Ok(());
        }
        if at.name != from.name && !at.forwards {
            let why = format!("`{}` is on the path and does not forward: add forwards = true to it", at.name);
            return Err((&at.name, why));
        }
        at = next(all, at, goal)?;
    }
    Err((&from.name, "its packets go in a circle: check the routes of the nodes on the path".to_owned()))
}

/// The node that gets a packet for `goal` next.
fn next<'a>(all: &[Placed<'a>], at: &'a Node, goal: IpAddr) -> Result<&'a Node, (&'a str, String)> {
    let connected = on_link(at, goal, None).map(|own| (own.prefix, goal, Some(own.device.as_str())));
    let routed = at.routes.iter().filter_map(|route| {
        let prefix = match route.to {
            Some((network, prefix)) => contains(network, prefix, goal).then_some(prefix)?,
            None => (route.via?.is_ipv4() == goal.is_ipv4()).then_some(0)?,
        };
        Some((prefix, route.via.unwrap_or(goal), route.device.as_deref()))
    });
    // The connected network is preferred among equally long prefixes, as the kernel lists it first.
    let best = routed.chain(connected).max_by_key(|(prefix, ..)| *prefix);
    let Some((_, hop, device)) = best else {
        return Err((&at.name, format!("`{}` has no route to it: add one to its routes", at.name)));
    };
    let device = device.or_else(|| on_link(at, hop, None).map(|own| own.device.as_str())).unwrap_or_default();
    let here = all.iter().filter(|placed| placed.node.name == at.name && placed.own.device == device);
    let segments: Vec<usize> = here.map(|placed| placed.segment).collect();
    let on_segment =
        || all.iter().filter(|placed| placed.node.name != at.name && segments.contains(&placed.segment));
    let owner = on_segment().find(|placed| placed.own.address == hop);
    // A device that leads to one other node, such as a tunnel, needs no next hop.
    let owner = owner.or_else(|| on_segment().next().filter(|_| on_link(at, hop, None).is_none()));
    owner.map(|placed| placed.node).ok_or_else(|| {
        (at.name.as_str(), format!("no neighbour of `{}` on `{device}` has the address {hop}", at.name))
    })
}
