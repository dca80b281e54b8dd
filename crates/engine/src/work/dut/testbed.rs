//! A topology as the device under test: built, with its two ends as ports, and on a CPU of its own where there is one.

use super::cpu::Places;
use crate::error::{Error, Failure, Kind, Result};
use frames::napi::NapiThreads;
use lab::build::Lab;
use lab::counters::Snapshot;
use lab::error::LabError;
use lab::feature;
use lab::node::RunningNode;
use lab::topology::{DeviceKind, End, Node, NodePlace, Topology};
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::nic::{Offload, set_offload};
use model::dut::TunnelEnds;
use std::net::IpAddr;

/// A topology that is up.
#[derive(Debug)]
pub(crate) struct Testbed {
    /// Put back before the interfaces go.
    threads: Vec<NapiThreads>,
    lab: Lab,
    /// Where it is measured from, and where to.
    pub(crate) ends: [End; 2],
    /// Interfaces in other nodes at the cables to the ends.
    facing: Vec<End>,
    device_cpu: Option<u32>,
    /// The device shares a CPU with the generator; absent where that is not known.
    pub(crate) shares_cpu: Option<bool>,
    /// Parts of the topology that this host cannot do, and changes for the test.
    pub(crate) notes: Vec<String>,
}

/// Why a topology cannot be tested on this host: no fault of the topology or of ours, so the result is void.
fn unavailable(why: String, advice: &str) -> Error {
    Failure { kind: Kind::Void, message: why, advice: Some(advice.to_owned()) }.into()
}

impl Testbed {
    /// Builds a topology, and gives the device a CPU of its own.
    ///
    /// # Errors
    /// [`Kind::Void`] where this host cannot build it, or an end of it is no namespace of this host.
    pub(crate) fn build(topology: &Topology, places: &Places) -> Result<Testbed> {
        check_ends(topology)?;
        let lacks = feature::Host::default().lacks(topology);
        if !lacks.is_empty() {
            let needs: Vec<&str> = lacks.iter().map(|lack| lack.needs.as_str()).collect();
            let why = format!("not on this host: needs {}", needs.join(", "));
            return Err(unavailable(why, "`pathmeter lab list` lists what can be built here"));
        }
        let lab = Lab::build(topology).map_err(not_built)?;
        let ends = [end(&lab, &topology.from, &topology.to)?, end(&lab, &topology.to, &topology.from)?];
        let facing: Vec<End> = ends.iter().filter_map(|end| facing(topology, end)).collect();
        let mut notes = lab.notes().to_vec();
        for place in &facing {
            accept_frames(&lab, place, &mut notes)?;
        }
        let (threads, shares_cpu) = give_cpu(&lab, &facing, places.device, &mut notes)?;
        Ok(Testbed { threads, lab, ends, facing, device_cpu: places.device, shares_cpu, notes })
    }

    /// The network that an end is in.
    ///
    /// # Errors
    /// When no further descriptor can be opened.
    pub(crate) fn namespace(&self, end: &End) -> Result<Namespace> {
        let namespace =
            self.lab.node(&end.node)?.namespace().expect("the ends were checked to be namespaces");
        Ok(namespace.run(Namespace::current)??)
    }

    /// Gives the device its CPU again: an interface that went down and up receives in new threads, which run anywhere.
    ///
    /// # Errors
    /// When a node has gone.
    pub(crate) fn settle(&mut self) -> Result<()> {
        self.threads.clear();
        (self.threads, self.shares_cpu) =
            give_cpu(&self.lab, &self.facing, self.device_cpu, &mut self.notes)?;
        Ok(())
    }

    /// The counters of all that is in it.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub(crate) fn counters(&self) -> Result<Snapshot> {
        Ok(self.lab.counters()?)
    }

    /// The device under test where it is a node of this host, and its interface that faces the first port, or else its first.
    pub(crate) fn device(&self) -> Option<(&RunningNode, &Node, &str)> {
        let topology = self.lab.topology();
        let name = topology.device_under_test.as_deref()?;
        let described = topology.nodes.iter().find(|node| node.name == name)?;
        let facing = self.facing.iter().find(|facing| facing.node == name);
        let first = || topology.sides_of(name).first().map(|side| side.end.device.as_str());
        let interface = facing.map(|facing| facing.device.as_str()).or_else(first)?;
        Some((self.lab.node(name).ok()?, described, interface))
    }
}

/// Both ends must be namespaces of this host: frames are made and counted in them.
fn check_ends(topology: &Topology) -> Result<()> {
    for name in [&topology.from, &topology.to] {
        let what = match topology.nodes.iter().find(|node| node.name == *name).map(|node| &node.place) {
            Some(NodePlace::Machine(_)) => "a virtual machine",
            Some(NodePlace::Remote { .. }) => "another host",
            Some(NodePlace::External { .. }) => "a box that is not made here",
            Some(NodePlace::Namespace) | None => continue,
        };
        let why =
            format!("{name} is {what}, and frames are sent and counted in namespaces of this host alone");
        let advice =
            "take a topology whose two ends are namespaces; the device between them may be a virtual machine";
        return Err(unavailable(why, advice));
    }
    Ok(())
}

fn not_built(error: LabError) -> Error {
    match &error {
        LabError::NotOnThisKernel { .. } | LabError::ProgramMissing { .. } | LabError::Machine(_) => {
            unavailable(error.to_string(), "`pathmeter lab list` lists what can be built here")
        }
        _ => error.into(),
    }
}

/// The tunnel of IPv4 in IPv6 that a node ends, where it does: as a port it speaks for that end.
pub fn tunnel(topology: &Topology, node: &str) -> Option<TunnelEnds> {
    let node = topology.nodes.iter().find(|known| known.name == node)?;
    node.devices.iter().find_map(|device| match device.kind {
        DeviceKind::Ipip6 { local, remote } => Some(TunnelEnds { local, remote }),
        _ => None,
    })
}

/// A node's interface toward another one, by its routes; where it ends a tunnel, toward the other end of that.
fn end(lab: &Lab, node: &str, far: &str) -> Result<End> {
    let nodes = &lab.topology().nodes;
    let far_addresses = nodes.iter().filter(|node| node.name == far).flat_map(|node| &node.addresses);
    let far_addresses: Vec<IpAddr> = match tunnel(lab.topology(), node) {
        Some(tunnel) => vec![tunnel.remote.into()],
        None => far_addresses.map(|own| own.address).collect(),
    };
    let namespace = lab.node(node)?.namespace().expect("the ends were checked to be namespaces");
    let toward = || -> linux::Result<Option<String>> {
        let mut network = Network::open()?;
        for address in &far_addresses {
            if let Ok(route) = network.route_to(*address) {
                return Ok(Some(network.link_by_index(route.link)?.name));
            }
        }
        Ok(None)
    };
    let device = namespace.run(toward)??.ok_or_else(|| {
        let why =
            format!("no route leads from {node} to {far}, so that no interface is known to be its port");
        unavailable(why, "give the node a route in the topology's file")
    })?;
    Ok(End { node: node.to_owned(), device })
}

/// The other end of the cable of a port, where that is neither the other port nor in a virtual machine.
fn facing(topology: &Topology, end: &End) -> Option<End> {
    let link =
        topology.links.iter().find(|link| link.sides.iter().any(|side| is_of(topology, end, &side.end)))?;
    let far = link.sides.iter().map(|side| &side.end).find(|far| far.node != end.node)?;
    let node = topology.nodes.iter().find(|node| node.name == far.node)?;
    let between = far.node != topology.from && far.node != topology.to && node.place == NodePlace::Namespace;
    between.then(|| far.clone())
}

/// Whether a cable's end carries what leaves by a device: it is that device, or the only cable of a node whose device is on
/// top of it.
fn is_of(topology: &Topology, end: &End, cable: &End) -> bool {
    let cables = topology.sides_of(&end.node);
    cable == end || (cable.node == end.node && cables.len() == 1)
}

/// A veth interface takes frames that are no socket buffers only with GRO on, and loses them in silence without.
fn accept_frames(lab: &Lab, place: &End, notes: &mut Vec<String>) -> Result<()> {
    let Some(namespace) = lab.node(&place.node)?.namespace() else { return Ok(()) };
    match namespace.run(|| set_offload(&place.device, Offload::Gro, true))? {
        Ok(()) => Ok(()),
        Err(error) if error.is_unsupported() => {
            notes.push(format!("{}: {error}: frames made in the kernel may be lost there", place.node));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Has the device receive what ports send in threads on a CPU of its own; else it is done in the softirq of who sends. Those
/// threads, and whether the device shares a CPU with the generator, where that is known.
fn give_cpu(
    lab: &Lab,
    facing: &[End],
    device: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<(Vec<NapiThreads>, Option<bool>)> {
    let has_machine = lab.topology().nodes.iter().any(|node| matches!(node.place, NodePlace::Machine(_)));
    let Some(cpu) = device else { return Ok((Vec::new(), Some(true))) };
    if facing.is_empty() {
        // A machine's CPUs are threads that the host moves where it likes; a cable has no work of its own.
        return Ok((Vec::new(), (!has_machine).then_some(true)));
    }
    let mut threads = Vec::new();
    for place in facing {
        let Some(namespace) = lab.node(&place.node)?.namespace() else { continue };
        match NapiThreads::start(namespace, &place.device, &[cpu as usize]) {
            Ok(started) => threads.push(started),
            Err(error) => {
                notes.push(format!("the device has no CPU of its own: node {}: {error}", place.node));
                return Ok((Vec::new(), Some(true)));
            }
        }
    }
    Ok((threads, Some(false)))
}
