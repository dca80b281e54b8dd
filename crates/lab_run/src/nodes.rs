//! The kernels of the nodes between the ends: what each counts while a test runs can explain its limit.

use engine::host::facts::FactsBefore;
use lab::build::Lab;
use lab::topology::Node;
use linux::namespace::Namespace;
use linux::nic::Nic;
use model::limit::{FactName, HostFact, ObservedHost};
use model::plan::Target;
use model::run::Run;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Readings of the nodes before a part of a test.
pub(super) struct NodesBefore<'a> {
    /// Addresses of the ends.
    ends: [Option<IpAddr>; 2],
    nodes: Vec<(&'a Node, &'a Namespace, FactsBefore)>,
}

impl<'a> NodesBefore<'a> {
    /// Begins to read every node that is a namespace of this host, but the ends: they report their own facts.
    /// `to`: the far end.
    pub(super) fn start(lab: &'a Lab, to: IpAddr) -> Self {
        let topology = lab.topology();
        let own = topology.node(&topology.from).into_iter().flat_map(|from| &from.addresses);
        let near = own.map(|of| of.address).find(|address| address.is_ipv4() == to.is_ipv4());
        let is_between = |node: &&Node| node.name != topology.from && node.name != topology.to;
        let nodes = topology.nodes.iter().filter(is_between).filter_map(|node| {
            let namespace = lab.node(&node.name).ok()?.namespace()?;
            let before = namespace.run(FactsBefore::of_every_interface).ok()?;
            Some((node, namespace, before))
        });
        Self { ends: [near, Some(to)], nodes: nodes.collect() }
    }

    /// The nodes with the facts that moved since.
    pub(super) fn since(self) -> Vec<ObservedHost> {
        let ends = self.ends;
        let nodes = self.nodes.into_iter().filter_map(|(node, namespace, mut before)| {
            let (facts, interfaces) = namespace.run(|| (before.since(), toward(ends))).ok()?;
            Some(ObservedHost { interfaces, ..observed(node, facts) })
        });
        nodes.collect()
    }
}

/// The interfaces toward both ends; empty: one has no route, as on a bridge.
fn toward(ends: [Option<IpAddr>; 2]) -> Vec<String> {
    let names = ends.map(|end| Some(Nic::toward(end?).ok()?.link.name));
    names.into_iter().collect::<Option<_>>().unwrap_or_default()
}

fn observed(node: &Node, facts: Vec<HostFact>) -> ObservedHost {
    let address = node.addresses.first().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |of| of.address);
    let target = Target { host: node.name.clone(), address: SocketAddr::new(address, 0) };
    ObservedHost {
        name: node.name.clone(),
        // The CPUs, and the packets that they have no time for, are those of the whole host.
        is_this_host: true,
        facts: facts.into_iter().filter(|fact| OF_A_NAMESPACE.contains(&fact.name)).collect(),
        note: None,
        ..ObservedHost::without(target, String::new())
    }
}

/// The run with the nodes in its evidence, judged again.
pub(super) fn explained(mut run: Run, nodes: &[ObservedHost]) -> Run {
    if nodes.is_empty() {
        return run;
    }
    run.summary.observed.extend(nodes.iter().cloned());
    insight::judge(run)
}

/// Facts that the kernel counts for each namespace.
const OF_A_NAMESPACE: [FactName; 7] = [
    FactName::QueueHeld,
    FactName::QueueRate,
    FactName::QueueDrops,
    FactName::FirewallDrops,
    FactName::ConntrackDrops,
    FactName::RingDrops,
    FactName::CarrierLosses,
];
