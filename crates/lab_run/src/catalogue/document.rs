//! A topology for programs.

use super::list::Lacking;
use lab::feature::Lack;
use lab::topology::{Node, NodePlace, Side, Topology};
use model::units::{BitRate, Nanos};
use serde::Serialize;
use serde_json::{Value, json};

/// A topology in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopologyDocument<'a> {
    name: &'a str,
    title: &'a str,
    about: &'a str,
    from: &'a str,
    to: &'a str,
    device_under_test: Option<&'a str>,
    nodes: Vec<Value>,
    links: Vec<[End<'a>; 2]>,
    expect: Value,
    /// Features that this host lacks for it; empty: none.
    lacks: Vec<Lacking>,
}

/// One end of a link, and what happens to packets that leave by it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct End<'a> {
    node: &'a str,
    device: &'a str,
    mtu: u32,
    rate_bps: Option<BitRate>,
    delay_ns: Option<Nanos>,
    jitter_ns: Option<Nanos>,
    loss: f64,
    duplicate: f64,
    reorder: f64,
}

pub(super) fn topology_document<'a>(topology: &'a Topology, lacks: &[Lack]) -> TopologyDocument<'a> {
    let expect = &topology.expect;
    TopologyDocument {
        name: &topology.name,
        title: &topology.title,
        about: &topology.about,
        from: &topology.from,
        to: &topology.to,
        device_under_test: topology.device_under_test.as_deref(),
        nodes: topology.nodes.iter().map(node).collect(),
        links: topology.links.iter().map(|link| link.sides.each_ref().map(end)).collect(),
        expect: json!({
            "path_mtu": { "ipv4": expect.path_mtu[0], "ipv6": expect.path_mtu[1] },
            "rate_bps": expect.rate,
            "delay_ns": expect.delay,
            "loss": expect.loss,
            "reachable": { "ipv4": expect.reachable[0], "ipv6": expect.reachable[1] },
            "findings": expect.findings,
            "absent": expect.absent,
        }),
        lacks: lacks.iter().map(Lacking::from_lack).collect(),
    }
}

fn node(node: &Node) -> Value {
    let place = match &node.place {
        NodePlace::Namespace => "namespace",
        NodePlace::Machine(_) => "vm",
        NodePlace::External { .. } => "external",
        NodePlace::Remote { .. } => "remote",
    };
    let addresses = node.addresses.iter();
    let addresses =
        addresses.map(|own| json!({ "device": own.device, "address": own.address, "prefix": own.prefix }));
    json!({
        "name": node.name,
        "place": place,
        "forwards": node.forwards,
        "devices": node.devices.iter().map(|device| &device.name).collect::<Vec<_>>(),
        "addresses": addresses.collect::<Vec<_>>(),
    })
}

fn end(side: &Side) -> End<'_> {
    End {
        node: &side.end.node,
        device: &side.end.device,
        mtu: side.mtu,
        rate_bps: side.shape.rate,
        delay_ns: side.shape.delay,
        jitter_ns: side.shape.jitter,
        loss: side.shape.loss,
        duplicate: side.shape.duplicate,
        reorder: side.shape.reorder,
    }
}
