//! A topology, built: namespaces without names, so that nothing is left however this process ends.

use crate::borrow::Borrowed;
use crate::configure::configure;
use crate::error::LabError;
use crate::keys::Keys;
use crate::machine::Plugs;
use crate::node::{Inside, RunningNode};
use crate::ready;
use crate::topology::{Link, Node, NodePlace, Side, Topology};
use linux::namespace::Namespace;
use linux::netlink::Network;

/// A network on this host that is there for as long as this value is.
#[derive(Debug)]
pub struct Lab {
    pub(crate) topology: Topology,
    pub(crate) nodes: Vec<RunningNode>,
    notes: Vec<String>,
    _borrowed: Vec<Borrowed>,
}

impl Lab {
    /// Builds a topology.
    ///
    /// # Errors
    /// Without the rights ([`crate::privilege::gain`]), when the kernel lacks what the topology needs
    /// ([`LabError::NotOnThisKernel`]), or a program is missing. Nothing is left behind then.
    pub fn build(topology: &Topology) -> Result<Self, LabError> {
        let keys = Keys::new()?;
        let places: Vec<(&Node, Namespace)> = topology
            .nodes
            .iter()
            .filter(|node| matches!(node.place, NodePlace::Namespace))
            .map(|node| Ok((node, Namespace::new().map_err(LabError::in_node(&node.name))?)))
            .collect::<Result<_, LabError>>()?;
        // Returned on every exit.
        let mut borrowed = Vec::new();
        for link in &topology.links {
            join(link, &places, &mut borrowed)?;
        }
        let plugs = Plugs::new(topology, &places)?;
        let mut notes = Vec::new();
        let mut settled = Vec::new();
        for (node, namespace) in &places {
            let mut configured = configure(node, &topology.sides_of(&node.name), namespace, &keys)?;
            notes.append(&mut configured.notes);
            settled.push(configured);
        }
        let machines = plugs.boot(topology, &places, &keys)?;
        let namespaces = places.into_iter().zip(settled);
        let mut inside: Vec<(String, Inside)> = namespaces
            .map(|((node, namespace), configured)| {
                (node.name.clone(), Inside::Namespace(namespace, configured))
            })
            .collect();
        for (name, vm, mut reported) in machines {
            notes.append(&mut reported);
            inside.push((name, Inside::Machine(vm)));
        }
        let nodes = topology.nodes.iter().filter_map(|node| {
            let place = inside.iter().position(|(name, _)| *name == node.name)?;
            Some(running(topology, node, inside.swap_remove(place).1))
        });
        let nodes = nodes.collect();
        let mut lab = Self { topology: topology.clone(), nodes, notes, _borrowed: borrowed };
        let late = ready::wait(&lab.nodes, &lab.topology.nodes)?;
        lab.notes.extend(late);
        Ok(lab)
    }

    /// The node of this name.
    ///
    /// # Errors
    /// When there is none, or it is not made here.
    pub fn node(&self, name: &str) -> Result<&RunningNode, LabError> {
        if let Some(node) = self.nodes.iter().find(|node| node.name == name) {
            return Ok(node);
        }
        match self.topology.node(name).map(|node| &node.place) {
            Some(NodePlace::External { .. }) => Err(not_here(name, "external", "set it up by hand")),
            Some(NodePlace::Remote { .. }) => {
                Err(not_here(name, "a remote host", "log in there, or talk to its `pathmeter serve`"))
            }
            _ => {
                let names: Vec<&str> = self.topology.nodes.iter().map(|node| node.name.as_str()).collect();
                Err(LabError::NoNode { name: name.to_owned(), there: names.join(", ") })
            }
        }
    }

    /// Every node that is up here, in the order of the file.
    #[must_use]
    pub fn nodes(&self) -> &[RunningNode] {
        &self.nodes
    }

    /// The topology from which it was built.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Settings of the file that this host does not support, and the replacement of each, in plain words.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Joins two namespaces, or takes the host's interfaces that lead to an external node.
fn join(link: &Link, places: &[(&Node, Namespace)], borrowed: &mut Vec<Borrowed>) -> Result<(), LabError> {
    let place = |side: &Side| places.iter().find(|(node, _)| node.name == side.end.node);
    let [one, other] = &link.sides;
    if let (Some((node, here)), Some((_, there))) = (place(one), place(other)) {
        let add = || Network::open()?.add_veth(&one.end.device, &other.end.device, there);
        here.run(add).and_then(|added| added).map_err(LabError::in_node(&node.name))?;
    }
    for side in &link.sides {
        if let (Some(real), Some((_, namespace))) = (&side.real, place(side)) {
            borrowed.push(Borrowed::take(real, &side.end.device, namespace)?);
        }
    }
    Ok(())
}

fn running(topology: &Topology, node: &Node, inside: Inside) -> RunningNode {
    let links = topology.sides_of(&node.name).into_iter().map(|side| side.end.device.clone());
    let devices = node.devices.iter().map(|device| device.name.clone());
    RunningNode {
        name: node.name.clone(),
        cpus: node.cpus.clone(),
        interfaces: links.chain(devices).collect(),
        inside,
    }
}

fn not_here(name: &str, what: &'static str, cannot: &str) -> LabError {
    LabError::NotHere { node: name.to_owned(), what, cannot: cannot.to_owned() }
}
