//! Counts of times in bins of equal width, as printed by tools that list their bins.

use std::collections::BTreeMap;
use units::Nanos;

/// Number and width of bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinShape {
    /// The width of a bin.
    pub width: Nanos,
    /// Number of bins from zero on; times above them are counted separately.
    pub count: u32,
}

/// Counts in bins. Only bins with something in them take memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    shape: BinShape,
    counts: BTreeMap<u32, u64>,
    below: u64,
    above: u64,
}

impl Bins {
    /// Empty bins. A width of zero is replaced by a nanosecond.
    #[must_use]
    pub fn new(shape: BinShape) -> Bins {
        let shape = BinShape { width: shape.width.max(Nanos::from_nanos(1)), ..shape };
        Bins { shape, counts: BTreeMap::new(), below: 0, above: 0 }
    }

    /// Counts `count` equal times, signed nanoseconds.
    pub fn record(&mut self, nanos: i64, count: u64) {
        let Ok(nanos) = u64::try_from(nanos) else {
            self.below += count;
            return;
        };
        match u32::try_from(nanos / self.shape.width.0) {
            Ok(bin) if bin < self.shape.count => *self.counts.entry(bin).or_default() += count,
            _ => self.above += count,
        }
    }

    /// Adds the counts of bins of the same shape.
    pub fn merge(&mut self, other: &Bins) {
        other.counts.iter().for_each(|(bin, count)| *self.counts.entry(*bin).or_default() += count);
        self.below += other.below;
        self.above += other.above;
    }

    /// Number and width of the bins.
    #[must_use]
    pub fn shape(&self) -> BinShape {
        self.shape
    }

    /// All times, also those outside of the bins.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum::<u64>() + self.below + self.above
    }

    /// Times below zero, and above the last bin.
    #[must_use]
    pub fn outside(&self) -> (u64, u64) {
        (self.below, self.above)
    }

    /// The bins that hold values, numbered from 1, ascending.
    pub fn filled(&self) -> impl Iterator<Item = (u32, u64)> {
        self.counts.iter().map(|(bin, count)| (bin + 1, *count))
    }

    /// The number of the bin up to which more than this share of all times lies; `None`: that point is above the bins.
    #[must_use]
    pub fn bin_at(&self, share: f64) -> Option<u32> {
        let (total, mut until) = (self.total() as f64, 0);
        let mut filled = self.filled();
        filled.find_map(|(bin, count)| {
            until += count;
            (until as f64 > share * total).then_some(bin)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: BinShape = BinShape { width: Nanos::from_millis(1), count: 3 };

    fn bins(times: &[i64]) -> Bins {
        let mut bins = Bins::new(SHAPE);
        times.iter().for_each(|nanos| bins.record(*nanos, 1));
        bins
    }

    #[test]
    fn each_time_is_in_its_bin_or_outside() {
        let bins = bins(&[-1, 0, 999_999, 1_000_000, 2_999_999, 3_000_000, i64::MAX]);
        assert_eq!(bins.filled().collect::<Vec<_>>(), [(1, 2), (2, 1), (3, 1)]);
        assert_eq!((bins.outside(), bins.total()), ((1, 2), 7));
    }

    #[test]
    fn parts_make_the_whole() {
        let mut parts = bins(&[0, 5_000_000]);
        parts.merge(&bins(&[-7, 1_500_000, 10]));
        assert_eq!(parts, bins(&[0, 5_000_000, -7, 1_500_000, 10]));
    }

    #[test]
    fn shares_lie_in_bins_or_above_them() {
        let mut all = bins(&[2_000_000]);
        all.record(0, 98);
        all.record(9_000_000, 1);
        assert_eq!(
            [0.05, 0.97, 0.98, 0.99].map(|share| all.bin_at(share)),
            [Some(1), Some(1), Some(3), None]
        );
        assert_eq!(bins(&[]).bin_at(0.5), None);
    }
}
