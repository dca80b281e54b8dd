//! Which probes have arrived: distinct ones, by order and size, in bounded memory.

use super::{MAX_COUNT, MAX_SIZES, ProbeDatagram, SizeCount};
use std::collections::BTreeMap;

/// Counts the probes that arrive. Each end that receives probes keeps one.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By order and size: a bit for each index.
    seen: BTreeMap<(u32, u32), u128>,
}

impl Ledger {
    /// Takes a datagram; true when it is a probe (counted once, however often it comes).
    pub fn count(&mut self, datagram: &[u8]) -> bool {
        let Some(ProbeDatagram::Probe { id, index, size }) = ProbeDatagram::decode(datagram) else {
            return false;
        };
        if index >= MAX_COUNT {
            return false;
        }
        while self.seen.len() >= MAX_ROWS && !self.seen.contains_key(&(id, size)) {
            self.seen.pop_first();
        }
        *self.seen.entry((id, size)).or_default() |= 1 << index;
        true
    }

    /// What has arrived of one order, smallest size first.
    pub fn received(&self, id: u32) -> Vec<SizeCount> {
        let rows = self.seen.range((id, 0)..=(id, u32::MAX));
        rows.map(|(&(_, size), bits)| SizeCount { size, count: bits.count_ones() }).collect()
    }
}

/// Four full orders.
const MAX_ROWS: usize = 4 * MAX_SIZES;

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(id: u32, index: u32, size: u32) -> Vec<u8> {
        ProbeDatagram::Probe { id, index, size }.encode(0)
    }

    #[test]
    fn each_probe_counts_once() {
        let mut ledger = Ledger::default();
        for datagram in
            [probe(1, 0, 100), probe(1, 0, 100), probe(1, 99, 100), probe(1, 0, 50), probe(2, 0, 50)]
        {
            assert!(ledger.count(&datagram));
        }
        let rows = ledger.received(1);
        assert_eq!(rows, [SizeCount { size: 50, count: 1 }, SizeCount { size: 100, count: 2 }]);
        assert_eq!(ledger.received(3), []);
    }

    #[test]
    fn what_was_never_ordered_cannot_fill_the_memory() {
        let mut ledger = Ledger::default();
        assert!(!ledger.count(&probe(0, MAX_COUNT, 100)));
        (0..10_000).for_each(|id| assert!(ledger.count(&probe(id, 0, 24))));
        assert_eq!(ledger.seen.len(), MAX_ROWS);
        assert_eq!(ledger.received(9_999).len(), 1);
    }
}
