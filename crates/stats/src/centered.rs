//! A histogram of distances from a reference, which resolves a small spread around a large value.
//!
//! Buckets of a thousandth of 400 ms are wider than the spread of a good path of that length. Counted by their distance from a
//! value in their midst, the same round trips are known to a hundredth of that distance.

use super::histogram::Histogram;
use super::quantile::{at_rank, rank};
use super::spread::{Dispersion, median_distance};
use units::Nanos;

/// Counts of values on either side of a reference. Memory is bounded, about a tenth of a [`Histogram`]'s of three digits.
#[derive(Clone, Debug)]
pub struct Centered {
    reference: u64,
    below: Histogram,
    /// The reference itself and the values above it.
    above: Histogram,
}

impl Centered {
    /// An empty histogram. The nearer the reference is to the median, the more exact the spread: take the median of the first few
    /// values.
    #[must_use]
    pub fn around(reference: u64) -> Centered {
        let side = Histogram::new(DIGITS, Nanos::from_secs(3600).0).expect("two digits are possible");
        Centered { reference, below: side.clone(), above: side }
    }

    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        match value.checked_sub(self.reference) {
            Some(above) => self.above.record(above),
            None => self.below.record(self.reference - value),
        }
    }

    /// Adds the counts of another with the same reference.
    ///
    /// # Panics
    /// When the references differ.
    pub fn merge(&mut self, other: &Centered) {
        assert_eq!(self.reference, other.reference, "distances from two references do not add up");
        for (own, other) in [(&mut self.below, &other.below), (&mut self.above, &other.above)] {
            own.merge(other).expect("all keep two digits");
        }
    }

    /// Number of values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.below.count() + self.above.count()
    }

    /// Median absolute deviation and interquartile range; `None` without values.
    #[must_use]
    pub fn dispersion(&self) -> Option<Dispersion> {
        let values = self.values();
        let at = |q| at_rank(&values, rank(q, self.count())?);
        let (quarter, middle, three_quarters) = (at(0.25)?, at(0.5)?, at(0.75)?);
        let mad = median_distance(values.iter().copied(), middle, self.count())?;
        let around = [quarter, three_quarters, middle.saturating_sub(mad), middle.saturating_add(mad)];
        let widest = around.into_iter().map(|value| self.width_at(value)).max().unwrap_or(1);
        let precision = Nanos((widest - 1).saturating_add(self.width_at(middle) - 1));
        Some(Dispersion { mad: Nanos(mad), iqr: Nanos(three_quarters - quarter), precision })
    }

    /// The middle of each bucket, ascending, and its count.
    fn values(&self) -> Vec<(u64, u64)> {
        let middle = |start: u64, end: u64| start + (end - start) / 2;
        let distances = |side: &Histogram| -> Vec<(u64, u64)> {
            side.buckets().map(|(values, count)| (middle(*values.start(), *values.end()), count)).collect()
        };
        let below = distances(&self.below).into_iter().rev();
        let below = below.map(|(distance, count)| (self.reference.saturating_sub(distance), count));
        let above = distances(&self.above).into_iter();
        below.chain(above.map(|(distance, count)| (self.reference.saturating_add(distance), count))).collect()
    }

    /// Number of values that share a bucket with this one.
    fn width_at(&self, value: u64) -> u64 {
        match value.checked_sub(self.reference) {
            Some(above) => self.above.width_at(above),
            None => self.below.width_at(self.reference - value),
        }
    }
}

/// Two digits: a spread is never reported with more than a hundredth of a distance.
const DIGITS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::super::quantile::nearest_rank;
    use super::*;
    use proptest::prelude::*;

    fn around(reference: u64, values: &[u64]) -> Centered {
        let mut centered = Centered::around(reference);
        values.iter().for_each(|&value| centered.record(value));
        centered
    }

    /// MAD and IQR of a list, exactly.
    fn exact(values: &[u64]) -> (u64, u64) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let at = |q| nearest_rank(&sorted, q).unwrap();
        let mut distances: Vec<u64> = sorted.iter().map(|value| value.abs_diff(at(0.5))).collect();
        distances.sort_unstable();
        (nearest_rank(&distances, 0.5).unwrap(), at(0.75) - at(0.25))
    }

    #[test]
    fn a_long_path_with_a_small_spread_is_resolved() {
        // 383 ms and some 300 µs around it, as measured on five egress paths of a cloud.
        let values: Vec<u64> = (0..260).map(|index| 383_000_000 + index * 7919 % 1_200_000).collect();
        let found = around(383_400_000, &values).dispersion().unwrap();
        let (mad, iqr) = exact(&values);
        assert!(
            found.mad.0.abs_diff(mad) <= found.precision.0 && found.iqr.0.abs_diff(iqr) <= found.precision.0
        );
        assert!(found.precision < Nanos::from_micros(10), "{found:?} for {mad} {iqr}");
    }

    #[test]
    fn nothing_and_one_value() {
        assert_eq!(Centered::around(5).dispersion(), None);
        let single = around(5, &[9]).dispersion().unwrap();
        assert_eq!((single.mad, single.iqr, single.precision), (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO));
    }

    proptest! {
        #[test]
        fn it_is_right_within_its_precision(
            level in 0_u64..1 << 36,
            reference in 0_u64..1 << 36,
            spread in prop::collection::vec(0_u64..1 << 24, 1..200),
        ) {
            let values: Vec<u64> = spread.iter().map(|value| level + value).collect();
            let (mad, iqr) = exact(&values);
            for reference in [reference, values[0]] {
                let found = around(reference, &values).dispersion().unwrap();
                prop_assert!(found.mad.0.abs_diff(mad) <= found.precision.0, "{} {:?}", mad, found);
                prop_assert!(found.iqr.0.abs_diff(iqr) <= found.precision.0, "{} {:?}", iqr, found);
            }
        }

        #[test]
        fn merging_is_recording_all(reference: u64, a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut merged = around(reference, &a);
            merged.merge(&around(reference, &b));
            let all = around(reference, &[a, b].concat());
            prop_assert_eq!(merged.count(), all.count());
            prop_assert_eq!(merged.dispersion(), all.dispersion());
        }
    }
}
