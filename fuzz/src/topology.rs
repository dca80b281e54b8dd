//! A topology as a file, as plainly as it can be written.

use lab::topology::{
    Device, DeviceKind, Expect, Filter, Link, Node, NodePlace, Queue, Route, Shape, Side, Topology,
};
use std::fmt::Write as _;

/// The file; [`Topology::parse`] makes the same topology of it.
pub fn toml(topology: &Topology) -> String {
    let mut out = String::new();
    line(&mut out, "title", &text(&topology.title));
    line(&mut out, "about", &text(&topology.about));
    line(&mut out, "from", &text(&topology.from));
    line(&mut out, "to", &text(&topology.to));
    if let Some(name) = &topology.device_under_test {
        line(&mut out, "device-under-test", &text(name));
    }
    if topology.links.is_empty() {
        line(&mut out, "links", "[]");
    }
    if topology.nodes.is_empty() {
        out.push_str("[nodes]\n");
    }
    topology.nodes.iter().for_each(|node| print_node(&mut out, node));
    topology.links.iter().for_each(|link| print_link(&mut out, link));
    for tool in &topology.tools {
        out.push_str("[[tools]]\n");
        line(&mut out, "name", &text(&tool.name));
        if let Some(serve) = &tool.serve {
            line(&mut out, "serve", &texts(serve));
        }
        line(&mut out, "run", &texts(&tool.run));
    }
    print_expect(&mut out, &topology.expect);
    out
}

fn print_node(out: &mut String, node: &Node) {
    writeln!(out, "[nodes.{}]", text(&node.name)).expect("memory");
    match &node.place {
        NodePlace::Namespace => {}
        NodePlace::Machine(machine) => {
            let vm = format!("{{ cpus = {}, memory = \"{}B\" }}", machine.cpus, machine.memory.0);
            line(out, "vm", &vm);
        }
        NodePlace::External { instructions } => line(out, "external", &text(instructions)),
        NodePlace::Remote { address } => line(out, "remote", &text(&address.to_string())),
    }
    line(out, "forwards", &node.forwards.to_string());
    line(out, "cpus", &format!("{:?}", node.cpus));
    let settings = node.settings.iter().map(|(name, value)| format!("{} = {}", text(name), text(value)));
    line(out, "settings", &format!("{{ {} }}", settings.collect::<Vec<_>>().join(", ")));
    node.devices.iter().for_each(|device| print_device(out, device));
    let mut done: Vec<&str> = Vec::new();
    for own in &node.addresses {
        if !done.contains(&own.device.as_str()) {
            done.push(&own.device);
            let same = node.addresses.iter().filter(|other| other.device == own.device);
            let same = same.map(|one| format!("{}/{}", one.address, one.prefix)).collect::<Vec<_>>();
            line(out, &format!("addresses.{}", text(&own.device)), &texts(&same));
        }
    }
    line(out, "routes", &texts(&node.routes.iter().map(print_route).collect::<Vec<_>>()));
    let neighbour = |one: &lab::topology::Neighbour| {
        format!("{} lladdr {} dev {}", one.address, hardware(&one.mac), one.device)
    };
    line(out, "neighbours", &texts(&node.neighbours.iter().map(neighbour).collect::<Vec<_>>()));
    line(out, "drop-fragments", &node.filters.contains(&Filter::Fragments).to_string());
    let rules = node.filters.iter().filter_map(|filter| match filter {
        Filter::Fragments => None,
        Filter::Rules(rules) => Some(rules.clone()),
    });
    line(out, "rules", &texts(&rules.collect::<Vec<_>>()));
}

fn print_device(out: &mut String, device: &Device) {
    let kind = match &device.kind {
        DeviceKind::Bridge { ports } => format!("bridge = {}", texts(ports)),
        DeviceKind::Vlan { on, id } => format!("vlan = {{ on = {}, id = {id} }}", text(on)),
        DeviceKind::Vxlan { id, local, remote, port } => {
            format!("vxlan = {{ id = {id}, local = \"{local}\", remote = \"{remote}\", port = {port} }}")
        }
        DeviceKind::Ipip6 { local, remote } => {
            format!("ipip6 = {{ local = \"{local}\", remote = \"{remote}\" }}")
        }
        DeviceKind::Wireguard { port, peer, endpoint } => {
            let peer = text(&format!("{}:{}", peer.node, peer.device));
            format!("wireguard = {{ port = {port}, peer = {peer}, remote = \"{}\" }}", endpoint.ip())
        }
        DeviceKind::Macvtap { on } => format!("macvtap = {{ on = {} }}", text(on)),
    };
    let mtu = device.mtu.map(|mtu| format!(", mtu = {mtu}")).unwrap_or_default();
    line(out, &format!("devices.{}", text(&device.name)), &format!("{{ {kind}{mtu} }}"));
}

fn print_route(route: &Route) -> String {
    let mut text = route.to.map_or("default".into(), |(network, prefix)| format!("{network}/{prefix}"));
    let parts = [
        ("via", route.via.map(|via| via.to_string())),
        ("dev", route.device.clone()),
        ("mtu", route.mtu.map(|mtu| mtu.to_string())),
    ];
    for (word, value) in parts {
        if let Some(value) = value {
            write!(text, " {word} {value}").expect("memory");
        }
    }
    text
}

fn print_link(out: &mut String, link: &Link) {
    let [one, other] = &link.sides;
    let both = |value: &dyn Fn(&Side) -> Option<String>| {
        value(one).zip(value(other)).map(|(one, other)| format!("[{one}, {other}]"))
    };
    let shape = |value: fn(&Shape) -> Option<String>| both(&|side: &Side| value(&side.shape));
    let values = [
        ("ends", both(&|side| Some(text(&format!("{}:{}", side.end.node, side.end.device))))),
        ("mtu", both(&|side| Some(side.mtu.to_string()))),
        ("mac", both(&|side| Some(text(&hardware(&side.mac?))))),
        ("offload", both(&|side| Some(side.offload?.to_string()))),
        ("real", both(&|side| Some(text(side.real.as_ref()?)))),
        ("rate", shape(|shape| Some(format!("\"{}\"", shape.rate?.0)))),
        ("delay", shape(|shape| Some(format!("\"{}ns\"", shape.delay?.0)))),
        ("jitter", shape(|shape| Some(format!("\"{}ns\"", shape.jitter?.0)))),
        ("loss", shape(|shape| Some(percent(shape.loss)))),
        ("duplicate", shape(|shape| Some(percent(shape.duplicate)))),
        ("reorder", shape(|shape| Some(percent(shape.reorder)))),
        ("queue", shape(|shape| Some(room(shape.queue?)))),
    ];
    out.push_str("[[links]]\n");
    values.iter().for_each(|(key, value)| value.iter().for_each(|value| line(out, key, value)));
}

fn room(queue: Queue) -> String {
    match queue {
        Queue::Time(time) => format!("\"{}ns\"", time.0),
        Queue::Bytes(bytes) => format!("\"{}B\"", bytes.0),
        Queue::Packets(packets) => format!("\"{packets} packets\""),
    }
}

fn print_expect(out: &mut String, expect: &Expect) {
    out.push_str("[expect]\n");
    let mtus = ["ipv4", "ipv6"].into_iter().zip(expect.path_mtu);
    let mtus: Vec<_> = mtus.filter_map(|(family, mtu)| Some(format!("{family} = {:?}", mtu?))).collect();
    if !mtus.is_empty() {
        line(out, "path-mtu", &format!("{{ {} }}", mtus.join(", ")));
    }
    if let Some([one, other]) = expect.rate {
        line(out, "rate", &format!("[\"{}\", \"{}\"]", one.0, other.0));
    }
    if let Some(delay) = expect.delay {
        line(out, "delay", &format!("\"{}ns\"", delay.0));
    }
    if let Some([one, other]) = expect.loss {
        line(out, "loss", &format!("[{}, {}]", percent(one), percent(other)));
    }
    let families = ["ipv4", "ipv6"].into_iter().zip(expect.reachable).filter(|(_, reachable)| *reachable);
    line(out, "reachable", &texts(&families.map(|(family, _)| family.to_owned()).collect::<Vec<_>>()));
    line(out, "findings", &texts(&expect.findings));
    line(out, "absent", &texts(&expect.absent));
}

fn line(out: &mut String, key: &str, value: &str) {
    writeln!(out, "{key} = {value}").expect("memory");
}

/// A basic string, in which everything that is not plain is escaped.
fn text(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " .,:;/-_+*%()[]{}<>=!?#&|'~^$@`".contains(c);
    let escape = |c: char| if plain(c) { c.to_string() } else { format!("\\U{:08X}", u32::from(c)) };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

fn texts(list: &[String]) -> String {
    format!("[{}]", list.iter().map(|one| text(one)).collect::<Vec<_>>().join(", "))
}

fn hardware(mac: &[u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// A percentage that is read as the very share.
fn percent(share: f64) -> String {
    let near = share * 100.0;
    let around =
        [near, near.next_up(), near.next_down(), near.next_up().next_up(), near.next_down().next_down()];
    let found = around.into_iter().find(|percent| percent / 100.0 == share).unwrap_or(near);
    format!("\"{found}%\"")
}
