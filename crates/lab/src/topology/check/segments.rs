//! Which devices reach one another without a router, and whether frames could circle among them.

use super::Checker;
use crate::topology::{Device, DeviceKind, End, Node, Topology};
use std::collections::BTreeMap;

/// For every device the number of the network it is on: two on one network have the same.
pub(super) type Segments = BTreeMap<End, usize>;

/// Joins what cables, bridges and tunnels join. Notes links that close a loop of bridges.
pub(super) fn find(topology: &Topology, checker: &mut Checker<'_>) -> Segments {
    let mut segments = Segments::new();
    for (number, end) in every_device(topology).into_iter().enumerate() {
        segments.insert(end, number);
    }
    for node in &topology.nodes {
        for device in &node.devices {
            let own = end(node, device);
            match &device.kind {
                DeviceKind::Bridge { ports } => {
                    for port in ports {
                        join(&mut segments, &own, &End { node: node.name.clone(), device: port.clone() });
                    }
                }
                DeviceKind::Macvtap { on } => {
                    join(&mut segments, &own, &End { node: node.name.clone(), device: on.clone() })
                }
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

fn every_device(topology: &Topology) -> Vec<End> {
    let ends = topology.links.iter().flat_map(|link| &link.sides).map(|side| side.end.clone());
    let made = topology.nodes.iter().flat_map(|node| node.devices.iter().map(|device| end(node, device)));
    let loopbacks =
        topology.nodes.iter().map(|node| End { node: node.name.clone(), device: "lo".to_owned() });
    ends.chain(made).chain(loopbacks).collect()
}

fn end(node: &Node, device: &Device) -> End {
    End { node: node.name.clone(), device: device.name.clone() }
}

fn join(segments: &mut Segments, one: &End, other: &End) {
    if let (Some(&keep), Some(&gone)) = (segments.get(one), segments.get(other)) {
        segments.values_mut().filter(|segment| **segment == gone).for_each(|segment| *segment = keep);
    }
}

/// Devices of tunnels that are each other's far end.
fn tunnels(topology: &Topology) -> Vec<(End, End)> {
    let all: Vec<(End, &DeviceKind)> = topology
        .nodes
        .iter()
        .flat_map(|node| node.devices.iter().map(|device| (end(node, device), &device.kind)))
        .collect();
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
    let all: Vec<(End, End, u16)> = topology
        .nodes
        .iter()
        .flat_map(|node| {
            node.devices.iter().filter_map(|device| match &device.kind {
                DeviceKind::Vlan { on, id } => {
                    Some((end(node, device), End { node: node.name.clone(), device: on.clone() }, *id))
                }
                _ => None,
            })
        })
        .collect();
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
    let mut joined: BTreeMap<End, usize> = BTreeMap::new();
    for (number, end) in every_device(topology).into_iter().enumerate() {
        joined.insert(end, number);
    }
    for (number, link) in topology.links.iter().enumerate() {
        let bridges = link.sides.each_ref().map(|side| bridge_of(topology, &side.end));
        if let [Some(one), Some(other)] = bridges {
            closes(&mut joined, &one, &other, &["links", &number.to_string(), "ends"], "link", checker);
        }
    }
    for (one, other) in tunnels(topology) {
        if let (Some(left), Some(right)) = (bridge_of(topology, &one), bridge_of(topology, &other)) {
            closes(
                &mut joined,
                &left,
                &right,
                &["nodes", &other.node, "devices", &other.device],
                "tunnel",
                checker,
            );
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
            "this {what} closes a loop: bridges `{}:{}` and `{}:{}` are joined already, and frames would circle for ever; \
             take one {what} out, or one of its ends out of its bridge",
            one.node, one.device, other.node, other.device
        );
        checker.wrong(path, text);
    }
    join(joined, one, other);
}

fn bridge_of(topology: &Topology, port: &End) -> Option<End> {
    let node = super::node_named(topology, &port.node)?;
    let bridge = node.devices.iter().find(
        |device| matches!(&device.kind, DeviceKind::Bridge { ports } if ports.contains(&port.device)),
    )?;
    Some(end(node, bridge))
}
