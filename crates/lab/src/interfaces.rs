//! Counters of packets passed and dropped by an interface.

use linux::netlink::{LinkStatistics, Network};

/// The counters of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Its name.
    pub name: String,
    /// Packets, bytes, errors and drops, as the driver and the kernel count them. With offloads one packet may stand for
    /// several frames.
    pub link: LinkStatistics,
    /// Packets that the queueing discipline of the link dropped: because its queue was full, or by the configured loss.
    pub queue_drops: u64,
    /// Bytes that left through it: frames without FCS, those within a packet of an offload counted each.
    pub queue_bytes: u64,
}

/// The counters of interfaces of these names, in the network of the calling thread.
pub(crate) fn interfaces(names: &[String]) -> linux::Result<Vec<InterfaceCounters>> {
    let mut network = Network::open()?;
    let links = network.links()?;
    let known = links.into_iter().filter(|link| names.contains(&link.name));
    known
        .map(|link| {
            // A discipline counts what those below it drop.
            let qdiscs = network.qdiscs(&link.name)?;
            let drops = qdiscs.iter().map(|qdisc| qdisc.drops).max();
            let bytes = qdiscs.iter().map(|qdisc| qdisc.bytes).max();
            Ok(InterfaceCounters {
                name: link.name,
                link: link.statistics,
                queue_drops: drops.unwrap_or(0),
                queue_bytes: bytes.unwrap_or(0),
            })
        })
        .collect()
}
