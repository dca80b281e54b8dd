//! Which devices reach one another without a router, and whether frames could circle among them.

use super::Checker;
use crate::topology::{Device, DeviceKind, End, Topology};
use std::collections::BTreeMap;

/// For every device the number of the network it is on: two on one network have the same.
pub(super) type Segments = BTreeMap<End, usize>;

/// Joins what cables, bridges and tunnels join. Notes links that close a loop of bridges.
pub(super) fn find(topology: &Topology, checker: &mut Checker<'_>) -> Segments {
    let mut segments = apart(topology);
    for node in &topology.nodes {
        for (own, device) in node.made() {
            match &device.kind {
                DeviceKind::Bridge { ports } => {
                    ports.iter().for_each(|port| join(&mut segments, &own, &node.end(port)));
                }
                DeviceKind::Macvtap { on } => join(&mut segments, &own, &node.end(on)),
                DeviceKind::Vlan { .. }
                | DeviceKind::Vxlan { .. }
                | DeviceKind::Ipip6 { .. }
                | DeviceKind::Wireguard { .. } => {}
            }
        }
    }
    for link in &topology.links {
        join(&mut segments, &link.sides[0].end, &link.sides[1].end);
    }
    for (one, other) in tunnels(topology) {
        join(&mut segments, &one, &other);
    }
    vlans(topology, &mut segments);
    loops(topology, checker);
    segments
}

/// Every device, on a network of its own.
fn apart(topology: &Topology) -> Segments {
    let ends = topology.sides().map(|side| side.end.clone());
    let made = topology.made().map(|(end, _)| end);
    let loopbacks = topology.nodes.iter().map(|node| node.end("lo"));
    ends.chain(made).chain(loopbacks).zip(0..).collect()
}

fn join(segments: &mut Segments, one: &End, other: &End) {
    if let (Some(&keep), Some(&gone)) = (segments.get(one), segments.get(other)) {
        segments.values_mut().filter(|segment| **segment == gone).for_each(|segment| *segment = keep);
    }
}

/// Devices of tunnels that are each other's far end.
fn tunnels(topology: &Topology) -> Vec<(End, End)> {
    let all: Vec<(End, &DeviceKind)> = topology.made().map(|(end, device)| (end, &device.kind)).collect();
    let mut pairs = Vec::new();
    for (place, (one, kind)) in all.iter().enumerate() {
        for (other, far) in &all[place + 1..] {
            let are_peers = match (kind, far) {
                (
                    DeviceKind::Vxlan { id, local, remote, .. },
                    DeviceKind::Vxlan { id: far_id, local: far_local, remote: far_remote, .. },
                ) => (id, local, remote) == (far_id, far_remote, far_local),
                (
                    DeviceKind::Ipip6 { local, remote },
                    DeviceKind::Ipip6 { local: far_local, remote: far_remote },
                ) => (local, remote) == (far_remote, far_local),
                (DeviceKind::Wireguard { peer, .. }, DeviceKind::Wireguard { .. }) => peer == other,
                _ => false,
            };
            if are_peers {
                pairs.push((one.clone(), other.clone()));
            }
        }
    }
    pairs
}

/// VLAN devices of one id on one network are on one network of their own. That may put further ones on one network.
fn vlans(topology: &Topology, segments: &mut Segments) {
    let vlan = |(end, device): (End, &Device)| match &device.kind {
        DeviceKind::Vlan { on, id } => {
            let below = End { node: end.node.clone(), device: on.clone() };
            Some((end, below, *id))
        }
        _ => None,
    };
    let all: Vec<(End, End, u16)> = topology.made().filter_map(vlan).collect();
    for _ in &all {
        for (place, (one, below, id)) in all.iter().enumerate() {
            for (other, far_below, far_id) in &all[place + 1..] {
                if id == far_id && segments.get(below) == segments.get(far_below) {
                    join(segments, one, other);
                }
            }
        }
    }
}

/// A link between two bridges that are joined already closes a loop: there is no spanning tree in a lab.
fn loops(topology: &Topology, checker: &mut Checker<'_>) {
    let mut joined = apart(topology);
    for (number, link) in topology.links.iter().enumerate() {
        let bridges = link.sides.each_ref().map(|side| bridge_of(topology, &side.end));
        if let [Some(one), Some(other)] = bridges {
            closes(&mut joined, &one, &other, &["links", &number.to_string(), "ends"], "link", checker);
        }
    }
    for (one, other) in tunnels(topology) {
        if let (Some(left), Some(right)) = (bridge_of(topology, &one), bridge_of(topology, &other)) {
            let path = ["nodes", &other.node, "devices", &other.device];
            closes(&mut joined, &left, &right, &path, "tunnel", checker);
        }
    }
}

fn closes(
    joined: &mut Segments,
    one: &End,
    other: &End,
    path: &[&str],
    what: &str,
    checker: &mut Checker<'_>,
) {
    if joined.get(one) == joined.get(other) {
        let text = format!(
            "this {what} closes a loop: bridges `{one}` and `{other}` are joined already, and frames would circle for ever; \
             take one {what} out, or one of its ends out of its bridge"
        );
        checker.wrong(path, text);
    }
    join(joined, one, other);
}

fn bridge_of(topology: &Topology, port: &End) -> Option<End> {
    let mut made = topology.node(&port.node)?.made();
    let has =
        |kind: &DeviceKind| matches!(kind, DeviceKind::Bridge { ports } if ports.contains(&port.device));
    made.find(|(_, device)| has(&device.kind)).map(|(end, _)| end)
}
