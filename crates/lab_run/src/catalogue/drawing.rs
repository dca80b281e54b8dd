//! A topology as boxes of nodes with the links between them, from the node that measures to the one that answers.

use lab::topology::{Device, DeviceKind, Filter, Link, Node, NodePlace, Queue, Route, Shape, Topology};
use model::units::plain_percent;

/// The drawing, lines ended.
pub(super) fn draw(topology: &Topology) -> String {
    let nodes = nodes_along_path(topology);
    let boxes: Vec<Vec<(String, String)>> = nodes.iter().map(|node| rows(topology, node)).collect();
    let widest = boxes
        .iter()
        .flatten()
        .map(|(name, text)| name.chars().count().max(NAME) + 2 + text.chars().count())
        .max();
    let width = widest.unwrap_or_default();
    let mut drawn = String::new();
    let mut joined: Vec<&Link> = Vec::new();
    for (place, rows) in boxes.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| between(topology, nodes[before], nodes[place]));
        let after = nodes.get(place + 1).and_then(|after| between(topology, nodes[place], after));
        let edge = |corner: char, end: char, joint: char, link: Option<&Link>| {
            let rule = match link {
                Some(_) => format!("──{joint}{}", "─".repeat(width - 1)),
                None => "─".repeat(width + 2),
            };
            format!("  {corner}{rule}{end}\n")
        };
        drawn.push_str(&edge('┌', '┐', '┴', before));
        for (name, text) in rows {
            let line = format!("{name:<NAME$}  {text}");
            drawn.push_str(&format!("  │ {line:<width$} │\n"));
        }
        drawn.push_str(&edge('└', '┘', '┬', after));
        if let Some(link) = after {
            joined.push(link);
            let turned = link.sides[0].end.node != nodes[place].name;
            cable(link, turned).iter().for_each(|line| drawn.push_str(&format!("     │  {line}\n")));
        }
    }
    for link in topology.links.iter().filter(|link| joined.iter().all(|joined| !std::ptr::eq(*joined, *link)))
    {
        let [one, other] = &link.sides;
        let cable = cable(link, false).join("; ");
        drawn.push_str(&format!("  also {} – {}: {cable}\n", one.end, other.end));
    }
    drawn
}

/// The nodes on the shortest path first, the others behind them.
fn nodes_along_path(topology: &Topology) -> Vec<&Node> {
    let mut paths = topology.paths_from(&topology.from).into_iter();
    let path = paths.find(|path| path.last() == Some(&topology.to.as_str())).unwrap_or_default();
    let beside = topology.nodes.iter().filter(|node| !path.contains(&node.name.as_str()));
    path.iter().filter_map(|name| topology.node(name)).chain(beside).collect()
}

fn between<'a>(topology: &'a Topology, one: &Node, other: &Node) -> Option<&'a Link> {
    topology.links.iter().find(|link| {
        let ends = link.sides.each_ref().map(|side| side.end.node.as_str());
        ends == [one.name.as_str(), &other.name] || ends == [other.name.as_str(), &one.name]
    })
}

/// Contents of the box of a node: a name and a text in each row.
fn rows(topology: &Topology, node: &Node) -> Vec<(String, String)> {
    let mut rows = vec![(node.name.clone(), roles(topology, node))];
    let ends: Vec<&str> = topology.sides_of(&node.name).iter().map(|side| side.end.device.as_str()).collect();
    for end in &ends {
        let made = node.devices.iter().find(|device| device.name == *end);
        rows.push(((*end).to_owned(), device(node, end, made)));
    }
    for made in node.devices.iter().filter(|device| !ends.contains(&device.name.as_str())) {
        rows.push((made.name.clone(), device(node, &made.name, Some(made))));
    }
    rows.extend(node.routes.iter().map(|route| ("route".to_owned(), self::route(route))));
    for neighbour in &node.neighbours {
        let mac = neighbour.mac.map(|byte| format!("{byte:02x}")).join(":");
        rows.push((
            "neighbour".to_owned(),
            format!("{} is {mac} on {}", neighbour.address, neighbour.device),
        ));
    }
    rows.extend(
        node.settings.iter().map(|(name, value)| ("setting".to_owned(), format!("{name} = {value}"))),
    );
    for filter in &node.filters {
        match filter {
            Filter::Fragments => rows.push(("filter".to_owned(), "drops IP fragments".to_owned())),
            Filter::Rules(rules) => {
                rows.extend(rules_of(rules).map(|rule| ("filter".to_owned(), rule.to_owned())))
            }
        }
    }
    rows
}

/// The rules of a ruleset, without the tables and chains around them.
fn rules_of(rules: &str) -> impl Iterator<Item = &str> {
    let around = ["table ", "chain ", "type ", "set ", "typeof ", "flags ", "timeout ", "}", "#"];
    rules
        .lines()
        .map(str::trim)
        .filter(move |line| !line.is_empty() && !around.iter().any(|word| line.starts_with(word)))
}

fn roles(topology: &Topology, node: &Node) -> String {
    let mut roles = Vec::new();
    match &node.place {
        NodePlace::Namespace => {}
        NodePlace::Machine(machine) => {
            roles.push(format!("virtual machine, {} CPU, {:#}", machine.cpus, machine.memory))
        }
        NodePlace::External { .. } => roles.push("a real box".to_owned()),
        NodePlace::Remote { address } => roles.push(format!("remote host at {address}")),
    }
    roles.extend((node.name == topology.from).then(|| "measures".to_owned()));
    roles.extend((node.name == topology.to).then(|| "answers".to_owned()));
    roles.extend((topology.device_under_test.as_ref() == Some(&node.name)).then(|| "under test".to_owned()));
    roles.extend(node.forwards.then(|| "forwards".to_owned()));
    if !node.cpus.is_empty() {
        let cpus: Vec<String> = node.cpus.iter().map(u32::to_string).collect();
        roles.push(format!("on CPU {}", cpus.join(", ")));
    }
    roles.join(", ")
}

fn device(node: &Node, name: &str, made: Option<&Device>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(Device { kind, mtu, .. }) = made {
        parts.push(match kind {
            DeviceKind::Bridge { ports } => format!("bridge of {}", ports.join(" and ")),
            DeviceKind::Vlan { on, id } => format!("VLAN {id} on {on}"),
            DeviceKind::Vxlan { id, remote, .. } => format!("VXLAN {id} to {remote}"),
            DeviceKind::Ipip6 { remote, .. } => format!("IPv4 in IPv6 to {remote}"),
            DeviceKind::Wireguard { peer, endpoint, .. } => {
                format!("WireGuard to {} at {endpoint}", peer.node)
            }
            DeviceKind::Macvtap { on } => format!("macvtap on {on}"),
        });
        parts.extend(mtu.map(|mtu| format!("MTU {mtu}")));
    }
    let own = node.addresses.iter().filter(|own| own.device == name);
    let own: Vec<String> = own.map(|own| format!("{}/{}", own.address, own.prefix)).collect();
    parts.extend((!own.is_empty()).then(|| own.join("  ")));
    parts.join(", ")
}

fn route(route: &Route) -> String {
    let to = route.to.map_or_else(|| "default".to_owned(), |(network, prefix)| format!("{network}/{prefix}"));
    let via = route.via.map(|via| format!(" via {via}")).unwrap_or_default();
    let device = route.device.as_ref().map(|device| format!(" dev {device}")).unwrap_or_default();
    let mtu = route.mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
    format!("{to}{via}{device}{mtu}")
}

/// A link in one line, and a line for each direction that treats packets.
fn cable(link: &Link, turned: bool) -> Vec<String> {
    let [mut upper, mut lower] = link.sides.each_ref();
    if turned {
        (upper, lower) = (lower, upper);
    }
    let mtu = if upper.mtu == lower.mtu {
        format!("MTU {}", upper.mtu)
    } else {
        format!("MTU {} above, {} below", upper.mtu, lower.mtu)
    };
    let offload = [upper, lower].map(|side| side.offload);
    let offload = if offload == [Some(false); 2] { ", no offloads" } else { "" };
    let real = upper.real.as_ref().or(lower.real.as_ref());
    let real = real.map(|real| format!(", by {real} of this host")).unwrap_or_default();
    let mut lines = vec![format!("{} – {}  {mtu}{offload}{real}", upper.end.device, lower.end.device)];
    match [&upper.shape, &lower.shape].map(shape) {
        [down, up] if down == up => lines.extend((!down.is_empty()).then(|| format!("↓↑ {down}"))),
        [down, up] => {
            for (arrow, text) in [('↓', down), ('↑', up)] {
                lines.push(format!("{arrow} {}", if text.is_empty() { "as it comes" } else { &text }));
            }
        }
    }
    lines
}

fn shape(shape: &Shape) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(shape.rate.map(|rate| rate.to_string()));
    parts.extend(shape.delay.map(|delay| format!("delay {delay}")));
    parts.extend(shape.jitter.map(|jitter| format!("± {jitter}")));
    for (share, name) in [(shape.loss, "lost"), (shape.duplicate, "doubled"), (shape.reorder, "out of order")]
    {
        parts.extend((share > 0.0).then(|| format!("{} {name}", plain_percent(share))));
    }
    parts.extend(shape.queue.map(|queue| match queue {
        Queue::Time(time) => format!("queue of {time}"),
        Queue::Bytes(bytes) => format!("queue of {bytes:#}"),
        Queue::Packets(packets) => format!("queue of {packets} packets"),
    }));
    parts.join(", ")
}

/// The column of names.
const NAME: usize = 9;
