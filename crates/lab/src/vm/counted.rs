//! Counters of a machine, as sent to the host.

use crate::interfaces::InterfaceCounters;
use linux::netlink::LinkStatistics;
use linux::nft::DroppedFragments;
use serde::{Deserialize, Serialize};

/// Counters of a machine's interfaces and of its filter of fragments.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counted {
    interfaces: Vec<(String, [u64; 11])>,
    fragments: Option<[u64; 2]>,
}

impl Counted {
    pub(super) fn new(interfaces: &[InterfaceCounters], fragments: Option<DroppedFragments>) -> Self {
        let interfaces =
            interfaces.iter().map(|counters| (counters.name.clone(), numbers(counters))).collect();
        Self { interfaces, fragments: fragments.map(|dropped| [dropped.ipv4, dropped.ipv6]) }
    }

    pub(super) fn read(self) -> (Vec<InterfaceCounters>, Option<DroppedFragments>) {
        let interfaces = self.interfaces.into_iter().map(|(name, numbers)| counters(name, numbers)).collect();
        (interfaces, self.fragments.map(|[ipv4, ipv6]| DroppedFragments { ipv4, ipv6 }))
    }
}

fn numbers(counters: &InterfaceCounters) -> [u64; 11] {
    let link = &counters.link;
    [
        link.rx_packets,
        link.tx_packets,
        link.rx_bytes,
        link.tx_bytes,
        link.rx_errors,
        link.tx_errors,
        link.rx_dropped,
        link.tx_dropped,
        link.rx_missed,
        counters.queue_drops,
        counters.queue_bytes,
    ]
}

fn counters(name: String, numbers: [u64; 11]) -> InterfaceCounters {
    let [
        rx_packets,
        tx_packets,
        rx_bytes,
        tx_bytes,
        rx_errors,
        tx_errors,
        rx_dropped,
        tx_dropped,
        rx_missed,
        queue_drops,
        queue_bytes,
    ] = numbers;
    let link = LinkStatistics {
        rx_packets,
        tx_packets,
        rx_bytes,
        tx_bytes,
        rx_errors,
        tx_errors,
        rx_dropped,
        tx_dropped,
        rx_missed,
        ..LinkStatistics::default()
    };
    InterfaceCounters { name, link, queue_drops, queue_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_arrive_as_they_were() {
        let original = counters("eth0".into(), std::array::from_fn(|place| place as u64 + 1));
        assert_eq!((original.link.rx_packets, original.link.rx_missed, original.queue_bytes), (1, 9, 11));
        let fragments = Some(DroppedFragments { ipv4: 4, ipv6: 6 });
        let sent = serde_json::to_vec(&Counted::new(std::slice::from_ref(&original), fragments)).unwrap();
        let came: Counted = serde_json::from_slice(&sent).unwrap();
        assert_eq!(came.read(), (vec![original], fragments));
    }
}
