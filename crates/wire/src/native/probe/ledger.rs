//! Which probes have arrived: distinct ones, by request and size, in bounded memory.

use super::{MAX_COUNT, MAX_SIZES, ProbeDatagram, SizeCount};
use std::collections::BTreeMap;

/// Counts the probes that arrive. Each end that receives probes keeps one.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The probes by request and size.
    observed: BTreeMap<(u32, u32), SizeRow>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SizeRow {
    /// A bit for each index.
    indexes: u128,
    /// Largest fragment of any of them.
    fragment: Option<u32>,
}

impl Ledger {
    /// Takes a datagram, and the largest fragment if it arrived fragmented; true when the datagram is a probe (counted once,
    /// however often it arrives).
    pub fn count(&mut self, datagram: &[u8], fragment: Option<u32>) -> bool {
        let Some(ProbeDatagram::Probe { id, index, size }) = ProbeDatagram::decode(datagram) else {
            return false;
        };
        if index >= MAX_COUNT {
            return false;
        }
        while self.observed.len() >= MAX_ROWS && !self.observed.contains_key(&(id, size)) {
            self.observed.pop_first();
        }
        let row = self.observed.entry((id, size)).or_default();
        row.indexes |= 1 << index;
        row.fragment = row.fragment.max(fragment);
        true
    }

    /// The probes of one request and size that have arrived: a bit for each index, the lowest for 0.
    pub fn indexes(&self, id: u32, size: u32) -> u128 {
        self.observed.get(&(id, size)).map_or(0, |row| row.indexes)
    }

    /// The probes of one request that have arrived, smallest size first.
    pub fn received(&self, id: u32) -> Vec<SizeCount> {
        let rows = self.observed.range((id, 0)..=(id, u32::MAX));
        rows.map(|(&(_, size), row)| SizeCount {
            size,
            count: row.indexes.count_ones(),
            fragment: row.fragment,
        })
        .collect()
    }
}

/// Four full requests.
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
            assert!(ledger.count(&datagram, None));
        }
        let rows = ledger.received(1);
        let row = |size, count, fragment| SizeCount { size, count, fragment };
        assert_eq!(rows, [row(50, 1, None), row(100, 2, None)]);
        assert!(ledger.count(&probe(2, 1, 50), Some(1396)) && ledger.count(&probe(2, 2, 50), None));
        assert_eq!(ledger.received(2), [row(50, 3, Some(1396))]);
        assert_eq!(ledger.received(3), []);
        assert_eq!((ledger.indexes(1, 100), ledger.indexes(3, 100)), (1 | 1 << 99, 0));
    }

    #[test]
    fn what_was_never_ordered_cannot_fill_the_memory() {
        let mut ledger = Ledger::default();
        assert!(!ledger.count(&probe(0, MAX_COUNT, 100), None));
        (0..10_000).for_each(|id| assert!(ledger.count(&probe(id, 0, 24), None)));
        assert_eq!(ledger.observed.len(), MAX_ROWS);
        assert_eq!(ledger.received(9_999).len(), 1);
    }
}
