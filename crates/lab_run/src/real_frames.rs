//! Offloads off at both ends of a lab while frames of each size are sent, so that every device on the path gets each frame by
//! itself and not super-packets of 64 KiB.

use lab::build::Lab;
use lab::node::RunningNode;
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::nic::{Nic, Offload, set_offload};

/// Switches them back when it is dropped.
pub(super) struct RealFrames<'a> {
    switched: Vec<(&'a Namespace, String, Offload)>,
}

impl RealFrames<'_> {
    /// Switches off what joins and cuts packets. An end that is a virtual machine is left as it is.
    pub(super) fn between_ends(lab: &Lab) -> RealFrames<'_> {
        let ends = [&lab.topology().from, &lab.topology().to];
        let nodes = ends.into_iter().filter_map(|name| lab.node(name).ok());
        let mut switched = Vec::new();
        for namespace in nodes.filter_map(RunningNode::namespace) {
            for (interface, offload) in namespace.run(on).unwrap_or_default() {
                let off = namespace.run(|| set_offload(&interface, offload, false));
                if matches!(off, Ok(Ok(()))) {
                    switched.push((namespace, interface, offload));
                }
            }
        }
        RealFrames { switched }
    }

    /// Remark for the report.
    pub(super) fn note(&self) -> Option<String> {
        let mut names: Vec<&str> = self.switched.iter().map(|(.., offload)| offload.name()).collect();
        names.sort_unstable();
        names.dedup();
        let list = names.join(", ");
        (!names.is_empty()).then(|| {
            format!("while frames were swept, {list} were off at both ends: each packet crossed as a frame of its own")
        })
    }
}

impl Drop for RealFrames<'_> {
    fn drop(&mut self) {
        for (namespace, interface, offload) in &self.switched {
            // The lab goes away anyway: an error needs no report.
            let _ = namespace.run(|| set_offload(interface, *offload, true));
        }
    }
}

/// The offloads of the calling thread's network that are on, with their interfaces.
fn on() -> Vec<(String, Offload)> {
    let links = Network::open().and_then(|mut network| network.links()).unwrap_or_default();
    let nics = links.into_iter().filter_map(|link| Nic::named(&link.name).ok());
    nics.flat_map(|nic| {
        let name = nic.link.name.clone();
        JOINING
            .into_iter()
            .filter(move |offload| nic.has(*offload))
            .map(move |offload| (name.clone(), offload))
    })
    .filter(|(name, _)| name != "lo")
    .collect()
}

const JOINING: [Offload; 4] = [Offload::Tso, Offload::Gso, Offload::Gro, Offload::UdpSegmentation];
