//! Counters of packets passed and dropped, interface by interface, and of the CPUs.

use crate::build::Lab;
use crate::error::LabError;
use crate::interfaces::interfaces;
use crate::node::{Inside, RunningNode};
use linux::counters::{self, Softnet};
use linux::cpu::{CpuSnapshot, CpuTimes};
use linux::nft::DroppedFragments;

pub use crate::interfaces::InterfaceCounters;

/// The counters of a lab at one moment; see [`Snapshot::since`].
#[derive(Clone, Debug)]
pub struct Snapshot {
    nodes: Vec<NodeCounters>,
    softnet: Vec<Softnet>,
    cpu: CpuSnapshot,
}

/// The difference of the counters of a lab between two moments.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Every node that is up here, in the order of the file.
    pub nodes: Vec<NodeCounters>,
    /// Counters of each CPU's packet backlog, over the whole host.
    pub softnet: Vec<Softnet>,
    /// Where the time of each CPU went, over the whole host; softirq is where packets are forwarded.
    pub cpus: Vec<CpuTimes>,
}

/// The counters of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// The node.
    pub node: String,
    /// Its links' ends and devices, in the order of the file.
    pub interfaces: Vec<InterfaceCounters>,
    /// Fragments that its filter of fragments dropped; `None`: it has none.
    pub fragments: Option<DroppedFragments>,
}

impl Lab {
    /// Reads every counter.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn counters(&self) -> Result<Snapshot, LabError> {
        let nodes = self.nodes.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Snapshot { nodes, softnet: counters::softnet()?, cpu: CpuSnapshot::take()? })
    }
}

impl Snapshot {
    /// The difference of each counter since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Traffic {
        let nodes = self.nodes.iter().map(|now| {
            let before = earlier.nodes.iter().find(|before| before.node == now.node);
            before.map_or_else(|| now.clone(), |before| now.since(before))
        });
        Traffic {
            nodes: nodes.collect(),
            softnet: counters::softnet_since(&self.softnet, &earlier.softnet),
            cpus: self.cpu.since(&earlier.cpu),
        }
    }
}

impl NodeCounters {
    fn since(&self, earlier: &Self) -> Self {
        let interfaces = self.interfaces.iter().map(|now| {
            let before = earlier.interfaces.iter().find(|before| before.name == now.name);
            let before = before.cloned().unwrap_or_default();
            InterfaceCounters {
                name: now.name.clone(),
                link: now.link.since(&before.link),
                queue_drops: now.queue_drops.saturating_sub(before.queue_drops),
                queue_bytes: now.queue_bytes.saturating_sub(before.queue_bytes),
            }
        });
        let before = earlier.fragments.unwrap_or_default();
        let fragments = self.fragments.map(|now| DroppedFragments {
            ipv4: now.ipv4.saturating_sub(before.ipv4),
            ipv6: now.ipv6.saturating_sub(before.ipv6),
        });
        Self { node: self.node.clone(), interfaces: interfaces.collect(), fragments }
    }
}

fn read(node: &RunningNode) -> Result<NodeCounters, LabError> {
    let in_node = LabError::in_node(&node.name);
    let (interfaces, fragments) = match &node.inside {
        Inside::Machine(vm) => vm.counters(&node.interfaces)?,
        Inside::Namespace(namespace, configured) => {
            let interfaces = namespace.run(|| interfaces(&node.interfaces)).and_then(|read| read);
            (interfaces.map_err(&in_node)?, configured.dropped_fragments().map_err(&in_node)?)
        }
    };
    Ok(NodeCounters { node: node.name.clone(), interfaces, fragments })
}
