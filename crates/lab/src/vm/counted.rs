//! Counters of a machine, as sent to the host.

use crate::interfaces::InterfaceCounters;
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
        let numbers = |counters: &InterfaceCounters| fields(&mut counters.clone()).map(|field| *field);
        let interfaces =
            interfaces.iter().map(|counters| (counters.name.clone(), numbers(counters))).collect();
        Self { interfaces, fragments: fragments.map(|dropped| [dropped.ipv4, dropped.ipv6]) }
    }

    pub(super) fn read(self) -> (Vec<InterfaceCounters>, Option<DroppedFragments>) {
        let counters = |(name, numbers): (String, [u64; 11])| {
            let mut counters = InterfaceCounters { name, ..InterfaceCounters::default() };
            fields(&mut counters).into_iter().zip(numbers).for_each(|(field, number)| *field = number);
            counters
        };
        let interfaces = self.interfaces.into_iter().map(counters).collect();
        (interfaces, self.fragments.map(|[ipv4, ipv6]| DroppedFragments { ipv4, ipv6 }))
    }
}

/// The counters that are sent, in their order.
fn fields(
    InterfaceCounters { link, queue_drops, queue_bytes, .. }: &mut InterfaceCounters,
) -> [&mut u64; 11] {
    [
        &mut link.rx_packets,
        &mut link.tx_packets,
        &mut link.rx_bytes,
        &mut link.tx_bytes,
        &mut link.rx_errors,
        &mut link.tx_errors,
        &mut link.rx_dropped,
        &mut link.tx_dropped,
        &mut link.rx_missed,
        queue_drops,
        queue_bytes,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_arrive_as_they_were() {
        let mut original = InterfaceCounters { name: "eth0".into(), ..InterfaceCounters::default() };
        fields(&mut original).into_iter().zip(1..).for_each(|(field, number)| *field = number);
        assert_eq!((original.link.rx_packets, original.link.rx_missed, original.queue_bytes), (1, 9, 11));
        let fragments = Some(DroppedFragments { ipv4: 4, ipv6: 6 });
        let sent = serde_json::to_vec(&Counted::new(std::slice::from_ref(&original), fragments)).unwrap();
        let came: Counted = serde_json::from_slice(&sent).unwrap();
        assert_eq!(came.read(), (vec![original], fragments));
    }
}
