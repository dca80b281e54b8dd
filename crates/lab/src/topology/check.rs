//! Consistency checks of a topology file.

mod addresses;
mod expect;
mod names;
mod paths;
mod segments;
mod shapes;

pub(crate) use addresses::contains;

use super::{Device, DeviceKind, End, Node, Topology};
use model::toml_file::{Faults, suggest};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Everything that does not fit. Ports of WireGuard's far ends, known only now, are filled in.
pub(super) fn check(topology: &mut Topology, document: &Spanned<DeTable<'_>>) -> Faults {
    let mut checker = Checker { document: document.get_ref(), faults: Faults::default() };
    names::check(topology, &mut checker);
    shapes::check(topology, &mut checker);
    expect::check(topology, &mut checker);
    // Addresses and paths of things that do not exist would be reported twice.
    if checker.faults.is_empty() {
        fill_ports(topology);
        let segments = segments::find(topology, &mut checker);
        addresses::check(topology, &segments, &mut checker);
        if checker.faults.is_empty() {
            paths::check(topology, &segments, &mut checker);
        }
    }
    checker.faults
}

/// Notes faults by the path of keys and numbers that leads to a value.
struct Checker<'a> {
    document: &'a DeTable<'a>,
    faults: Faults,
}

impl Checker<'_> {
    /// Notes a fault of the value at a path, or of the last one on the path that is there.
    fn wrong(&mut self, path: &[&str], text: impl Into<String>) {
        let span = locate(self.document, path);
        self.faults.add(&span, text);
    }

    /// Whether the file has a value at a path.
    fn has(&self, [table, key]: [&str; 2]) -> bool {
        let table = self.document.iter().find(|(name, _)| name.get_ref() == table);
        let table = table.and_then(|(_, value)| value.get_ref().as_table());
        table.is_some_and(|table| table.iter().any(|(name, _)| name.get_ref() == key))
    }
}

fn locate(document: &DeTable<'_>, path: &[&str]) -> Range<usize> {
    let Some((first, rest)) = path.split_first() else { return 0..0 };
    let Some((mut place, mut value)) = entry(document, first) else { return 0..0 };
    for step in rest {
        let next = match value.get_ref() {
            DeValue::Table(table) => entry(table, step),
            DeValue::Array(array) => {
                let value = step.parse::<usize>().ok().and_then(|index| array.get(index));
                value.map(|value| (value.span(), value))
            }
            _ => None,
        };
        let Some(next) = next else { break };
        (place, value) = next;
    }
    place
}

/// The value of a key. A table is reported at its key: its own span may begin anywhere.
fn entry<'t, 'd>(table: &'t DeTable<'d>, step: &str) -> Option<(Range<usize>, &'t Spanned<DeValue<'d>>)> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == step)?;
    Some((if value.get_ref().is_table() { key.span() } else { value.span() }, value))
}

fn fill_ports(topology: &mut Topology) {
    let port = |(end, device): (End, &Device)| match device.kind {
        DeviceKind::Wireguard { port, .. } => Some((end, port)),
        _ => None,
    };
    let ports: Vec<(End, u16)> = topology.made().filter_map(port).collect();
    for device in topology.nodes.iter_mut().flat_map(|node| &mut node.devices) {
        if let DeviceKind::Wireguard { peer, endpoint, .. } = &mut device.kind
            && let Some((_, port)) = ports.iter().find(|(end, _)| end == peer)
        {
            endpoint.set_port(*port);
        }
    }
}

/// Every device of a node: the ends of its links, then those made in it.
fn devices_of<'a>(topology: &'a Topology, node: &'a Node) -> Vec<&'a str> {
    let ends = topology.sides_of(&node.name).into_iter().map(|side| side.end.device.as_str());
    let own = node.devices.iter().map(|device| device.name.as_str());
    ends.filter(|end| own.clone().all(|own| own != *end)).chain(own.clone()).collect()
}

/// `no node is called …`, with the one that was meant.
fn no_node(topology: &Topology, name: &str) -> String {
    let names = topology.nodes.iter().map(|node| node.name.as_str());
    format!("no node is called `{name}`{}", suggest(name, names))
}

/// `… has no device …`, with the one that was meant.
fn no_device(topology: &Topology, node: &Node, name: &str) -> String {
    let names = devices_of(topology, node);
    format!("`{}` has no device `{name}`{}", node.name, suggest(name, names))
}
