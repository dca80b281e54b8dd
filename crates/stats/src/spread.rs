//! Spread of values: running mean and standard deviation, dispersion, fairness.

use super::histogram::Histogram;
use super::quantile::{at_rank, rank};
use serde::{Deserialize, Serialize};
use units::Nanos;

pub use super::moments::Moments;

/// The spread of the middle of a distribution, which outliers do not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispersion {
    /// Median absolute deviation from the median, not scaled (times 1.4826 it is the standard deviation of a normal
    /// distribution), in nanoseconds.
    #[serde(rename = "mad_ns")]
    pub mad: Nanos,
    /// Interquartile range (p75 less p25), in nanoseconds.
    #[serde(rename = "iqr_ns")]
    pub iqr: Nanos,
    /// Precision of both in nanoseconds: twice the width of the widest bucket concerned.
    #[serde(rename = "precision_ns")]
    pub precision: Nanos,
}

impl Dispersion {
    /// The dispersion of a histogram of nanoseconds; `None` without values. Time and memory are proportional to the histogram's
    /// buckets.
    ///
    /// A value is known to its bucket, a thousandth of it at three digits, and so is a spread: one far below a thousandth of the
    /// median is not resolved, which `precision` shows.
    #[must_use]
    pub fn from_histogram(histogram: &Histogram) -> Option<Dispersion> {
        let at = |q| histogram.value_at_quantile(q);
        let (quarter, middle, three_quarters) = (at(0.25)?, at(0.5)?, at(0.75)?);
        let buckets = histogram.buckets().map(|(values, count)| (*values.end(), count));
        let mad = median_distance(buckets, middle, histogram.count())?;
        let widest = histogram.width_at(three_quarters).max(histogram.width_at(middle.saturating_add(mad)));
        let precision = Nanos::from_nanos(2 * (widest - 1));
        Some(Dispersion { mad: Nanos(mad), iqr: Nanos(three_quarters - quarter), precision })
    }
}

/// The median distance from a middle of `count` values, given as values that each occur a number of times.
pub(crate) fn median_distance(
    values: impl Iterator<Item = (u64, u64)>,
    middle: u64,
    count: u64,
) -> Option<u64> {
    let mut distances: Vec<(u64, u64)> =
        values.map(|(value, count)| (value.abs_diff(middle), count)).collect();
    distances.sort_unstable();
    at_rank(&distances, rank(0.5, count)?)
}

/// Jain's fairness index of rates: `(Σx)² / (n Σx²)`, 1 when all are equal and `1/n` when one has everything (Jain, Chiu and Hawe
/// 1984; RFC 5166 section 2.3). `None` without rates or when all are zero.
#[must_use]
pub fn jain_fairness(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `fixtures/outputs/iperf3-tcp-p20-summary.txt`, Mbit/s of the 20 receivers.
    const P20: [f64; 20] = [
        75.7, 80.6, 81.7, 63.3, 78.1, 72.6, 115.0, 132.0, 78.7, 69.7, 83.9, 77.9, 63.0, 61.7, 111.0, 64.0,
        123.0, 61.9, 118.0, 83.8,
    ];

    #[test]
    fn fairness_of_twenty_streams() {
        // (Σx)² / (20 Σx²) with Σx = 1695.6 and Σx² = 153187.34.
        let index = jain_fairness(&P20).unwrap();
        assert!((index - 0.938_412_847_954_667_8).abs() < 1e-9, "{index}");
        assert!((P20.iter().sum::<f64>() / 1000.0 - 1.70).abs() < 0.005);
    }

    #[test]
    fn fairness_of_the_extremes() {
        assert_eq!(jain_fairness(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_fairness(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_fairness(&[]), None);
        assert_eq!(jain_fairness(&[0.0]), None);
    }

    #[test]
    fn moments_of_a_known_list() {
        let moments = Moments::from_values(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!(moments.mean(), Some(5.0));
        assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(Moments::from_values(&[1.0]).stddev(), None);
    }

    #[test]
    fn a_small_spread_of_large_values_is_kept() {
        let base = 3.8e17;
        let moments = Moments::from_values(&[base, base + 1000.0, base + 2000.0]);
        assert!((moments.stddev().unwrap() - 1000.0).abs() < 70.0);
    }

    fn filled(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn the_dispersion_of_known_lists() {
        // R: mad(x, constant = 1) and quantile(x, type = 1).
        let small = Dispersion::from_histogram(&filled(&[1, 1, 2, 2, 4, 6, 9])).unwrap();
        assert_eq!(
            small,
            Dispersion { mad: Nanos::from_nanos(1), iqr: Nanos::from_nanos(5), precision: Nanos::ZERO }
        );
        let outlier = Dispersion::from_histogram(&filled(&[100, 101, 102, 103, 900_000_000])).unwrap();
        assert_eq!((outlier.mad, outlier.iqr), (Nanos::from_nanos(1), Nanos::from_nanos(2)));
        let single = Dispersion::from_histogram(&filled(&[77])).unwrap();
        assert_eq!((single.mad, single.iqr, single.precision), (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO));
        assert_eq!(Dispersion::from_histogram(&Histogram::default()), None);
    }

    #[test]
    fn a_spread_below_the_buckets_shows_in_its_precision() {
        let far = Dispersion::from_histogram(&filled(&[10_000_001, 10_000_050, 10_000_099])).unwrap();
        assert!(far.mad <= far.precision && far.precision >= Nanos::from_micros(10), "{far:?}");
    }

    proptest! {
        #[test]
        fn dispersion_is_that_of_the_list_within_its_precision(mut values in prop::collection::vec(0_u64..1 << 35, 1..200)) {
            values.sort_unstable();
            let found = Dispersion::from_histogram(&filled(&values)).unwrap();
            let at = |q| super::super::quantile::nearest_rank(&values, q).unwrap();
            let mut distances: Vec<u64> = values.iter().map(|value| value.abs_diff(at(0.5))).collect();
            distances.sort_unstable();
            let mad = super::super::quantile::nearest_rank(&distances, 0.5).unwrap();
            prop_assert!(found.mad.0.abs_diff(mad) <= found.precision.0, "{} {:?}", mad, found);
            prop_assert!(found.iqr.0.abs_diff(at(0.75) - at(0.25)) <= found.precision.0, "{:?}", found);
        }

        #[test]
        fn merging_is_recording_all(a in prop::collection::vec(-1e6..1e6, 0..50), b in prop::collection::vec(-1e6..1e6, 2..50)) {
            let mut merged = Moments::from_values(&a);
            merged.merge(&Moments::from_values(&b));
            let all = Moments::from_values(&[a, b].concat());
            prop_assert_eq!(merged.count(), all.count());
            prop_assert!((merged.mean().unwrap() - all.mean().unwrap()).abs() < 1e-6);
            prop_assert!((merged.stddev().unwrap() - all.stddev().unwrap()).abs() < 1e-5);
        }

        #[test]
        fn fairness_is_between_one_share_and_one(rates in prop::collection::vec(0.001..1e12, 1..50)) {
            let index = jain_fairness(&rates).unwrap();
            prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / rates.len() as f64 - 1e-9);
        }
    }
}
