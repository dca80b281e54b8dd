//! All values of a short test: figures without the rounding of buckets.
//!
//! A histogram of three digits gives 384 ms to within 0.26 ms, which is more than the difference between paths of that length. A
//! test over so long a path has few round trips, and they are kept one by one; beyond 65,536 the histogram's figures are used,
//! whose rounding is small beside the short round trips that occur in such numbers.

use super::distribution::Distribution;
use super::percentile::{Percentile, bounds};
use super::quantile::nearest_rank;
use super::spread::{Dispersion, Moments};
use units::Nanos;

/// Keeps values in the order of arrival, up to 512 KiB of them.
#[derive(Clone, Debug, Default)]
pub struct Exact {
    values: Vec<u64>,
    overflown: bool,
}

/// The values, ascending; at least one.
#[derive(Clone, Debug)]
pub struct Sorted(Vec<u64>);

impl Exact {
    /// Keeps one value, or forgets them all when there are too many.
    pub fn record(&mut self, value: u64) {
        if self.overflown {
            return;
        }
        if self.values.len() == MOST {
            *self = Exact { values: Vec::new(), overflown: true };
            return;
        }
        self.values.push(value);
    }

    /// All values but the first `skip`; `None` when there were too many to keep, or none is left.
    #[must_use]
    pub fn sorted(mut self, skip: u64) -> Option<Sorted> {
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(self.values.len());
        let mut values = self.values.split_off(skip);
        values.sort_unstable();
        (!values.is_empty()).then_some(Sorted(values))
    }
}

impl Sorted {
    /// The distribution of values in nanoseconds, percentiles by nearest rank.
    #[must_use]
    pub fn distribution(&self) -> Distribution {
        let mut moments = Moments::default();
        self.0.iter().for_each(|&value| moments.record(value as f64));
        let at = |q| Nanos(nearest_rank(&self.0, q).unwrap_or_default());
        Distribution {
            count: self.0.len() as u64,
            min: at(0.0),
            mean: Nanos(moments.mean().unwrap_or_default().round() as u64),
            stddev: Nanos(moments.stddev().unwrap_or_default().round() as u64),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: at(1.0),
            ..Distribution::default()
        }
    }

    /// The same as [`super::percentile::percentiles`].
    #[must_use]
    pub fn percentiles(&self, percents: &[f64]) -> Vec<Percentile> {
        percents.iter().filter_map(|&percent| self.percentile(percent)).collect()
    }

    /// The value of this rank, from 1.
    #[must_use]
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        self.0.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied().map(Nanos)
    }

    fn percentile(&self, percent: f64) -> Option<Percentile> {
        let ranks = bounds(percent, self.0.len() as u64)?;
        Some(Percentile {
            percent,
            value: Nanos(nearest_rank(&self.0, percent / 100.0)?),
            low: self.at_rank(ranks.low)?,
            high: self.at_rank(ranks.high)?,
        })
    }

    /// Median absolute deviation and interquartile range, by nearest rank.
    #[must_use]
    pub fn dispersion(&self) -> Dispersion {
        let at = |q| nearest_rank(&self.0, q).unwrap_or_default();
        let middle = at(0.5);
        let mut distances: Vec<u64> = self.0.iter().map(|value| value.abs_diff(middle)).collect();
        distances.sort_unstable();
        let mad = Nanos(nearest_rank(&distances, 0.5).unwrap_or_default());
        Dispersion { mad, iqr: Nanos(at(0.75) - at(0.25)), precision: Nanos::ZERO }
    }
}

const MOST: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::super::histogram::Histogram;
    use super::super::percentile::percentiles;
    use super::*;
    use proptest::prelude::*;

    fn exact(values: impl IntoIterator<Item = u64>) -> Exact {
        let mut exact = Exact::default();
        values.into_iter().for_each(|value| exact.record(value));
        exact
    }

    #[test]
    fn a_long_path_is_measured_to_the_nanosecond() {
        let sorted = exact((0..261).map(|index| 383_000_123 + index * 1_009)).sorted(1).unwrap();
        let figures = sorted.distribution();
        assert_eq!((figures.count, figures.min), (260, Nanos::from_nanos(383_000_123 + 1_009)));
        assert_eq!(figures.p50, Nanos::from_nanos(383_000_123 + 130 * 1_009));
        assert_eq!(figures.max, Nanos::from_nanos(383_000_123 + 260 * 1_009));
        assert_eq!(
            sorted.dispersion(),
            Dispersion {
                mad: Nanos::from_nanos(65 * 1_009),
                iqr: Nanos::from_nanos(130 * 1_009),
                precision: Nanos::ZERO
            }
        );
        assert_eq!(sorted.percentiles(&[50.0, 99.0]).len(), 1, "p99 takes 368");
    }

    #[test]
    fn too_many_are_forgotten() {
        assert_eq!(exact(0..MOST as u64).sorted(0).unwrap().distribution().max, Nanos(MOST as u64 - 1));
        let more = exact(0..=MOST as u64);
        assert_eq!(more.values.capacity(), 0);
        assert!(more.sorted(0).is_none());
        assert!(exact([]).sorted(0).is_none() && exact([1, 2]).sorted(2).is_none());
    }

    proptest! {
        #[test]
        fn the_histogram_agrees_to_its_precision(values in prop::collection::vec(0_u64..1 << 40, 1..2000)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            let sorted = exact(values).sorted(0).unwrap();
            let (exact, rounded) = (sorted.distribution(), histogram.distribution().unwrap());
            let near = |exact: Nanos, rounded: Nanos| rounded >= exact && rounded.0 - exact.0 <= exact.0 / 1000 + 1;
            prop_assert_eq!((exact.count, exact.min, exact.max), (rounded.count, rounded.min, rounded.max));
            prop_assert!(near(exact.p50, rounded.p50) && near(exact.p90, rounded.p90) && near(exact.p99, rounded.p99));
            let percents = [25.0, 50.0, 90.0, 99.0];
            let (mine, theirs) = (sorted.percentiles(&percents), percentiles(&histogram, &percents));
            prop_assert_eq!(mine.len(), theirs.len());
            for (mine, theirs) in mine.iter().zip(&theirs) {
                prop_assert!(near(mine.value, theirs.value) && theirs.low <= mine.low && mine.high <= theirs.high);
            }
        }
    }
}
