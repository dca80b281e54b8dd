//! Packets by size: exact where there are few sizes, ranges beyond.

use serde::{Deserialize, Serialize};

/// Number of packets of each size, smallest first.
///
/// The first 128 sizes are kept exactly. Packets of others are counted in ranges: 0 to 63 bytes, 64 to 127, 128 to 255, and so on,
/// which then lie beside the exact sizes in them and hold none of their packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Sizes(Vec<SizeCount>);

/// Packets of one size, or of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeCount {
    /// Smallest size, bytes of the IP packet.
    pub from: u32,
    /// Largest size; the same for an exact one.
    pub to: u32,
    /// Packets.
    pub packets: u64,
}

impl Sizes {
    /// Counts packets of one size.
    pub fn add(&mut self, size: u32, packets: u64) {
        if packets > 0 && !self.add_to(size, size, packets) {
            if self.exact() < MOST_SIZES {
                self.insert(size, size, packets);
            } else {
                self.add_range(size, packets);
            }
        }
    }

    /// Takes what another has counted.
    pub fn merge(&mut self, other: &Sizes) {
        for row in &other.0 {
            if row.from == row.to {
                self.add(row.from, row.packets);
            } else if !self.add_to(row.from, row.to, row.packets) {
                self.insert(row.from, row.to, row.packets);
            }
        }
    }

    /// The rows, smallest size first.
    pub fn rows(&self) -> &[SizeCount] {
        &self.0
    }

    /// The largest size counted; for a range its upper end.
    pub fn largest(&self) -> Option<u32> {
        self.0.iter().map(|row| row.to).max()
    }

    /// All packets.
    pub fn packets(&self) -> u64 {
        self.0.iter().map(|row| row.packets).fold(0, u64::saturating_add)
    }

    fn exact(&self) -> usize {
        self.0.iter().filter(|row| row.is_exact()).count()
    }

    fn add_range(&mut self, size: u32, packets: u64) {
        let (from, to) = range(size);
        if !self.add_to(from, to, packets) {
            self.insert(from, to, packets);
        }
    }

    fn add_to(&mut self, from: u32, to: u32, packets: u64) -> bool {
        let found = self.0.binary_search_by_key(&(from, to), |row| (row.from, row.to));
        if let Ok(at) = found {
            self.0[at].packets = self.0[at].packets.saturating_add(packets);
        }
        found.is_ok()
    }

    fn insert(&mut self, from: u32, to: u32, packets: u64) {
        let at = self.0.partition_point(|row| (row.from, row.to) < (from, to));
        self.0.insert(at, SizeCount { from, to, packets });
    }
}

impl SizeCount {
    /// One size, not a range.
    pub fn is_exact(&self) -> bool {
        self.from == self.to
    }
}

/// The range that a size is in.
fn range(size: u32) -> (u32, u32) {
    match size.checked_ilog2() {
        Some(bits @ 6..) => (1 << bits, u32::MAX >> (31 - bits)),
        _ => (0, 63),
    }
}

/// Sizes kept exactly.
const MOST_SIZES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_are_powers_of_two() {
        assert_eq!(range(0), (0, 63));
        assert_eq!(range(63), (0, 63));
        assert_eq!(range(64), (64, 127));
        assert_eq!(range(1500), (1024, 2047));
        assert_eq!(range(u32::MAX), (1 << 31, u32::MAX));
    }

    #[test]
    fn the_size_after_the_last_exact_one_goes_to_its_range() {
        let mut sizes = Sizes::default();
        (0..200).for_each(|size| sizes.add(1000 + size, 1));
        sizes.add(1000, 5);
        let exact = sizes.rows().iter().filter(|row| row.is_exact()).count();
        assert_eq!((exact, sizes.packets(), sizes.rows()[0].packets), (MOST_SIZES, 205, 6));
        let others: Vec<_> = sizes.rows().iter().filter(|row| !row.is_exact()).collect();
        assert_eq!(others, [&SizeCount { from: 1024, to: 2047, packets: 72 }]);
    }

    proptest! {
        #[test]
        fn few_sizes_are_counted_exactly_in_any_order(mut sizes in prop::collection::vec(0u32..100, 0..300)) {
            let count = |sizes: &[u32]| {
                let mut all = Sizes::default();
                sizes.iter().for_each(|size| all.add(*size, 1));
                all
            };
            let all = count(&sizes);
            for row in all.rows() {
                prop_assert_eq!(row.packets, sizes.iter().filter(|size| **size == row.from).count() as u64);
            }
            let (left, right) = sizes.split_at(sizes.len() / 2);
            let mut merged = count(left);
            merged.merge(&count(right));
            prop_assert_eq!(&merged, &all);
            sizes.reverse();
            prop_assert_eq!(count(&sizes), all);
        }

        #[test]
        fn no_packet_is_lost_and_the_table_stays_small(
            sizes in prop::collection::vec((any::<u32>(), 0u64..9), 0..900),
            cut in 0usize..900,
        ) {
            let (left, right) = sizes.split_at(cut.min(sizes.len()));
            let (mut one, mut other) = (Sizes::default(), Sizes::default());
            left.iter().for_each(|(size, packets)| one.add(*size, *packets));
            right.iter().for_each(|(size, packets)| other.add(*size, *packets));
            one.merge(&other);
            prop_assert_eq!(one.packets(), sizes.iter().map(|(_, packets)| packets).sum::<u64>());
            prop_assert!(one.rows().len() <= MOST_SIZES + 28);
            prop_assert!(one.rows().is_sorted_by_key(|row| (row.from, row.to)));
        }
    }
}
