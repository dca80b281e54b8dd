//! Nodes that are virtual machines: their NICs at taps in the neighbours' namespaces, their boot, their configuration.

use crate::error::LabError;
use crate::keys::Keys;
use crate::programs::tools;
use crate::topology::{DeviceKind, End, Machine, Node, NodePlace, Side, Topology};
use crate::vm::guest::Role;
use crate::vm::{Nic, Vm, VmSpec};
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::tap::Tap;
use std::thread;

/// The host's ends of a machine's links, before the machine is there.
pub(crate) struct Plugs {
    /// Each with the machine's end that it is for.
    taps: Vec<(End, Tap)>,
}

impl Plugs {
    /// Makes the taps, which to the neighbours are the ends of their links; macvtaps are made later, as devices.
    ///
    /// # Errors
    /// Without the rights, or when two machines are joined to each other.
    pub(crate) fn new(topology: &Topology, places: &[(&Node, Namespace)]) -> Result<Self, LabError> {
        let mut taps = Vec::new();
        for (machine, far) in machine_links(topology) {
            let (node, namespace) = neighbour(machine, far, places)?;
            if !is_macvtap(node, &far.end.device) {
                let tap = namespace.run(|| Tap::open(&far.end.device, true)).and_then(|tap| tap);
                taps.push((machine.end.clone(), tap.map_err(LabError::in_node(&node.name))?));
            }
        }
        Ok(Self { taps })
    }

    /// Boots every machine of the topology, all at once, and makes each the node it is to be. Namespaces must be
    /// configured already.
    ///
    /// # Errors
    /// When a machine cannot be had, or its kernel refuses; machines that are up end then.
    pub(crate) fn boot(
        mut self,
        topology: &Topology,
        places: &[(&Node, Namespace)],
        keys: &Keys,
    ) -> Result<Vec<(String, Vm, Vec<String>)>, LabError> {
        let mut plans = Vec::new();
        for node in &topology.nodes {
            if let NodePlace::Machine(machine) = &node.place {
                plans.push(self.plan(topology, node, machine, places, keys)?);
            }
        }
        thread::scope(|scope| {
            let boots: Vec<_> =
                plans.into_iter().map(|(spec, role)| scope.spawn(|| boot(spec, role))).collect();
            let booted = boots
                .into_iter()
                .map(|boot| boot.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            // All are waited for before the first error is reported.
            booted.collect::<Vec<_>>().into_iter().collect()
        })
    }

    fn plan(
        &mut self,
        topology: &Topology,
        node: &Node,
        machine: &Machine,
        places: &[(&Node, Namespace)],
        keys: &Keys,
    ) -> Result<(VmSpec, Role), LabError> {
        let (mut nics, mut sides) = (Vec::new(), Vec::new());
        for (side, far) in machine_links(topology).filter(|(side, _)| side.end.node == node.name) {
            let nic = match self.taps.iter().position(|(end, _)| *end == side.end) {
                Some(place) => {
                    let number = u8::try_from(nics.len()).unwrap_or(u8::MAX);
                    let mac = side.mac.unwrap_or([0x52, 0x54, 0, 0, machine_number(topology, node), number]);
                    Nic { tap: self.taps.swap_remove(place).1, mac, offload: side.offload != Some(false) }
                }
                None => macvtap_nic(side, far, places)?,
            };
            sides.push((side.clone(), nic.mac));
            nics.push(nic);
        }
        let executable = std::env::current_exe();
        let executable = executable.map_err(LabError::start(&node.name, "this program"))?;
        let spec = VmSpec {
            name: node.name.clone(),
            machine: machine.clone(),
            host_cpus: node.cpus.clone(),
            nics,
            executable,
            tools: tools(topology, node),
            files: Vec::new(),
        };
        Ok((spec, Role { node: node.clone(), sides, secret: keys.0 }))
    }
}

fn boot(spec: VmSpec, role: Role) -> Result<(String, Vm, Vec<String>), LabError> {
    let vm = Vm::boot(spec)?;
    let mut notes = vm.notes().to_vec();
    notes.extend(vm.configure(&role)?);
    Ok((role.node.name, vm, notes))
}

/// Links that end at a machine: the machine's end first.
fn machine_links(topology: &Topology) -> impl Iterator<Item = (&Side, &Side)> {
    let is_machine = |side: &Side| topology.node(&side.end.node).is_some_and(|node| node.place.is_machine());
    let both = topology.links.iter().flat_map(|link| {
        let [one, other] = &link.sides;
        [(one, other), (other, one)]
    });
    both.filter(move |(near, _)| is_machine(near))
}

fn neighbour<'a>(
    machine: &Side,
    far: &Side,
    places: &'a [(&Node, Namespace)],
) -> Result<(&'a Node, &'a Namespace), LabError> {
    let place = places.iter().find(|(node, _)| node.name == far.end.node);
    place.map(|(node, namespace)| (*node, namespace)).ok_or_else(|| LabError::NotHere {
        node: machine.end.node.clone(),
        what: "a virtual machine",
        cannot: format!(
            "its link must end at a namespace of this host: put a bridge between it and {}",
            far.end.node
        ),
    })
}

fn is_macvtap(node: &Node, device: &str) -> bool {
    let made = node.devices.iter().find(|made| made.name == device);
    made.is_some_and(|made| matches!(made.kind, DeviceKind::Macvtap { .. }))
}

/// The NIC has the macvtap's own hardware address: frames for any other are not let through.
fn macvtap_nic(side: &Side, far: &Side, places: &[(&Node, Namespace)]) -> Result<Nic, LabError> {
    let (node, namespace) = neighbour(side, far, places)?;
    let device = &far.end.device;
    let plug = namespace.run(|| {
        let mut network = Network::open()?;
        if let Some(mac) = side.mac {
            network.set_mac(device, mac)?;
        }
        // The kernel knows not what groups the machine is in, and IPv6 asks for neighbours by multicast.
        network.set_all_multicast(device)?;
        let mac = network.link(device)?.mac.unwrap_or_default();
        Tap::of_macvtap(device, true).map(|tap| (tap, mac))
    });
    let (tap, mac) = plug.and_then(|plug| plug).map_err(LabError::in_node(&node.name))?;
    Ok(Nic { tap, mac, offload: side.offload != Some(false) })
}

fn machine_number(topology: &Topology, node: &Node) -> u8 {
    let place = topology.nodes.iter().position(|other| other.name == node.name);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}
