//! Every name is one that the kernel takes, stands for one thing, and everything named exists.

use super::{Checker, devices_of, no_device, no_node};
use crate::topology::{Device, DeviceKind, End, Link, Node, NodePlace, Topology};

pub(super) fn check(topology: &Topology, checker: &mut Checker<'_>) {
    roles(topology, checker);
    links(topology, checker);
    for node in &topology.nodes {
        spelling(checker, &["nodes", &node.name], "node", &node.name);
        place(topology, node, checker);
        devices(topology, node, checker);
        users(topology, node, checker);
    }
}

fn roles(topology: &Topology, checker: &mut Checker<'_>) {
    for (role, name, does) in [("from", &topology.from, "measures"), ("to", &topology.to, "answers")] {
        if topology.node(name).is_none() {
            let text = no_node(topology, name);
            checker.wrong(&[role], format!("`{role}`, the node that {does}: {text}"));
        }
    }
    if let Some(name) = &topology.device_under_test
        && topology.node(name).is_none()
    {
        checker.wrong(&["device-under-test"], no_node(topology, name));
    }
    if topology.from == topology.to {
        checker.wrong(&["to"], format!("`from` and `to` are both `{}`: a path has two ends", topology.to));
    }
}

/// dev_valid_name in the kernel's net/core/dev.c, and what we need to write an end as `node:device`.
fn spelling(checker: &mut Checker<'_>, path: &[&str], what: &str, name: &str) {
    let bad = |letter: char| letter == '/' || letter == ':' || letter.is_whitespace() || letter.is_control();
    if name.is_empty() || name.len() > LONGEST {
        let length = name.len();
        let text = format!("`{name}` has {length} bytes: the name of a {what} has from 1 to {LONGEST}");
        checker.wrong(path, text);
    } else if name.contains(bad) || ["lo", "all", "default", ".", ".."].contains(&name) {
        let text = format!("`{name}` cannot be the name of a {what}: take letters, digits, `-`, `_` and `.`");
        checker.wrong(path, text);
    }
}

fn links(topology: &Topology, checker: &mut Checker<'_>) {
    let mut observed: Vec<&End> = Vec::new();
    for (number, link) in topology.links.iter().enumerate() {
        let number = number.to_string();
        for (place, side) in link.sides.iter().enumerate() {
            let path = ["links", &number, "ends", &place.to_string()];
            spelling(checker, &path, "device", &side.end.device);
            let Some(node) = topology.node(&side.end.node) else {
                checker.wrong(&path, no_node(topology, &side.end.node));
                continue;
            };
            if observed.contains(&&side.end) {
                let text = format!("`{}` is the end of another link: name a new interface", side.end);
                checker.wrong(&path, text);
            }
            observed.push(&side.end);
            let made = node.devices.iter().find(|device| device.name == side.end.device);
            let peer = &link.sides[1 - place].end.node;
            made.into_iter().for_each(|made| made_and_linked(topology, made, peer, &path, checker));
        }
        let [one, other] = &link.sides;
        if one.end.node == other.end.node {
            let text = format!("both ends are in `{}`: a link joins two nodes", one.end.node);
            checker.wrong(&["links", &number, "ends"], text);
        }
        real(topology, &number, link, checker);
    }
}

/// A macvtap is plugged into a machine; nothing else can be made in a node and be the end of a link too.
fn made_and_linked(topology: &Topology, made: &Device, peer: &str, path: &[&str], checker: &mut Checker<'_>) {
    let name = &made.name;
    if !matches!(made.kind, DeviceKind::Macvtap { .. }) {
        let text =
            format!("`{name}` is among the node's devices already: give the end of the link another name");
        checker.wrong(path, text);
    } else if !topology.node(peer).is_some_and(|node| node.place.is_machine()) {
        let text = format!(
            "`{name}` is a macvtap, which only a machine can use, and `{peer}` is none: add vm = true to it"
        );
        checker.wrong(path, text);
    }
}

/// A real interface leads to a real box: one end is external, and the other has the interface.
fn real(topology: &Topology, number: &str, link: &Link, checker: &mut Checker<'_>) {
    let nodes = link.sides.each_ref().map(|side| topology.node(&side.end.node));
    let external = nodes.map(|node| node.is_some_and(|node| node.place.is_external()));
    let path = ["links", number, "real"];
    match (external, link.sides.iter().find_map(|side| side.real.as_ref())) {
        ([false, false], Some(_)) => checker
            .wrong(&path, "`real` is the interface that leads to an external node, and neither end is one"),
        ([true, false] | [false, true], None) => {
            checker.wrong(&["links", number], "this link leads to an external node: say by which interface of this host, such as real = \"enp1s0\"");
        }
        ([true, true], Some(_)) => {
            checker.wrong(&path, "both ends are external: nothing of this link is on this host")
        }
        (_, Some(name)) => spelling(checker, &path, "device", name),
        (_, None) => {}
    }
}

fn place(topology: &Topology, node: &Node, checker: &mut Checker<'_>) {
    let linked = topology.sides().any(|side| side.end.node == node.name);
    let (path, name) = (["nodes", &node.name], &node.name);
    match (matches!(node.place, NodePlace::Remote { .. }), linked) {
        (true, true) => checker.wrong(
            &path,
            format!("`{name}` is a remote host: its links are not made here, so take it out of them"),
        ),
        (false, false) => checker
            .wrong(&path, format!("no link leads to `{name}`: add one to [[links]], or take the node out")),
        _ => {}
    }
    let is_bare = node.devices.is_empty()
        && node.filters.is_empty()
        && node.settings.is_empty()
        && node.neighbours.is_empty();
    if node.place.is_external() && !is_bare {
        checker.wrong(&path, format!("`{name}` is external and not made here: devices, rules, settings and neighbours belong into its instructions"));
    }
    // A machine's NIC is on a tap, and what is at its other end must be a namespace or machine of this host.
    for (number, link) in topology.links.iter().enumerate() {
        let nodes = link.sides.each_ref().map(|side| side.end.node.as_str());
        let Some(at) = nodes.iter().position(|name| *name == node.name) else { continue };
        let peer = nodes[1 - at];
        if node.place.is_machine() && topology.node(peer).is_some_and(|peer| peer.place.is_external()) {
            let text = format!(
                "`{name}` is a machine, and `{peer}` external: put a bridge with both into a node between them"
            );
            checker.wrong(&["links", &number.to_string(), "ends"], text);
        }
    }
}

fn devices(topology: &Topology, node: &Node, checker: &mut Checker<'_>) {
    let known = devices_of(topology, node);
    let mut ported: Vec<&str> = Vec::new();
    for (index, device) in node.devices.iter().enumerate() {
        let path = ["nodes", &node.name, "devices", &device.name];
        spelling(checker, &path, "device", &device.name);
        let within = |kind: &'static str, key: &'static str| [path[0], path[1], path[2], path[3], kind, key];
        let above = |on: &str| {
            node.devices.iter().position(|other| other.name == on).is_some_and(|place| place >= index)
        };
        match &device.kind {
            DeviceKind::Bridge { ports } => {
                for (place, port) in ports.iter().enumerate() {
                    let place = place.to_string();
                    let path = [path[0], path[1], path[2], path[3], "bridge", &place];
                    if !known.contains(&port.as_str()) {
                        checker.wrong(&path, no_device(topology, node, port));
                    } else if above(port) {
                        let text =
                            format!("`{port}` is made after its bridge `{}`: put it before", device.name);
                        checker.wrong(&path, text);
                    }
                    if ported.contains(&port.as_str()) {
                        let text =
                            format!("`{port}` is a port of a bridge already: a device is in one bridge");
                        checker.wrong(&path, text);
                    }
                    ported.push(port);
                }
            }
            DeviceKind::Vlan { on, .. } | DeviceKind::Macvtap { on } => {
                let kind = if matches!(device.kind, DeviceKind::Vlan { .. }) { "vlan" } else { "macvtap" };
                if !known.contains(&on.as_str()) {
                    checker.wrong(&within(kind, "on"), no_device(topology, node, on));
                } else if above(on) {
                    let text =
                        format!("`{}` is made before `{on}`, on which it is: put it after", device.name);
                    checker.wrong(&within(kind, "on"), text);
                }
            }
            DeviceKind::Wireguard { peer, .. } => wireguard(topology, node, device, peer, checker),
            DeviceKind::Vxlan { local, remote, .. } if local.is_ipv4() != remote.is_ipv4() => {
                let text = format!("{local} and {remote} are of two families: outer packets have one");
                checker.wrong(&within("vxlan", "remote"), text);
            }
            DeviceKind::Vxlan { .. } | DeviceKind::Ipip6 { .. } => {}
        }
    }
}

fn wireguard(topology: &Topology, node: &Node, device: &Device, peer: &End, checker: &mut Checker<'_>) {
    let path = ["nodes", &node.name, "devices", &device.name, "wireguard", "peer"];
    let Some(other) = topology.node(&peer.node) else {
        return checker.wrong(&path, no_node(topology, &peer.node));
    };
    let Some(far) = other.devices.iter().find(|other| other.name == peer.device) else {
        return checker.wrong(&path, no_device(topology, other, &peer.device));
    };
    match &far.kind {
        DeviceKind::Wireguard { peer: back, .. } if *back == node.end(&device.name) => {}
        DeviceKind::Wireguard { peer: back, .. } => {
            let text = format!("the peer of `{peer}` is `{back}`: each of two must name the other");
            checker.wrong(&path, text);
        }
        _ => checker.wrong(&path, format!("`{peer}` is not a WireGuard device")),
    }
}

/// Addresses, routes and neighbours are of devices that exist.
fn users(topology: &Topology, node: &Node, checker: &mut Checker<'_>) {
    let known = devices_of(topology, node);
    let missing = |name: &str| name != "lo" && !known.contains(&name);
    let mut user = |table: &str, key: &str, device: &str| {
        if missing(device) {
            checker.wrong(&["nodes", &node.name, table, key], no_device(topology, node, device));
        }
    };
    for address in &node.addresses {
        user("addresses", &address.device, &address.device);
    }
    for (index, route) in node.routes.iter().enumerate() {
        route.device.iter().for_each(|device| user("routes", &index.to_string(), device));
    }
    for (index, neighbour) in node.neighbours.iter().enumerate() {
        user("neighbours", &index.to_string(), &neighbour.device);
    }
}

/// IFNAMSIZ without the zero at its end.
const LONGEST: usize = 15;
