//! The histogram against HdrHistogram's published layout and against sorted lists.

use super::super::quantile::nearest_rank;
use super::*;
use proptest::prelude::*;

fn filled(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

/// `HistogramTest` of HdrHistogram (Java): equivalent ranges at three digits and a unit of 1.
#[test]
fn the_layout_is_that_of_hdr_histogram() {
    let histogram = Histogram::default();
    let range = |value| histogram.values_of(histogram.index(value));
    assert_eq!(range(2047), 2047..=2047);
    assert_eq!(range(2500), 2500..=2501);
    assert_eq!(range(8191), 8188..=8191);
    assert_eq!(range(8192), 8192..=8199);
    assert_eq!(range(10_007), 10_000..=10_007);
    assert_eq!(range(10_009), 10_008..=10_015);
    assert_eq!(histogram.index(2048), 2048);
    assert_eq!(histogram.index(4096), 3072);
    // `countsArrayLength` for 1 to 3,600,000,000 at three digits is 23,552.
    let hour_in_micros = Histogram::new(3, 3_600_000_000).unwrap();
    let mut full = hour_in_micros.clone();
    full.record(3_600_000_000);
    assert_eq!(full.counts.len(), 23_552);
}

#[test]
fn quantiles_of_one_to_ten_thousand() {
    let histogram = filled(&(1..=10_000).collect::<Vec<_>>());
    assert_eq!(histogram.value_at_quantile(0.0), Some(1));
    assert_eq!(histogram.value_at_quantile(0.1), Some(1000));
    assert_eq!(histogram.value_at_quantile(0.5), Some(5003));
    assert_eq!(histogram.value_at_quantile(0.9999), Some(9999));
    assert_eq!(histogram.value_at_quantile(1.0), Some(10_000));
    assert!((histogram.mean().unwrap() - 5000.5).abs() < 1e-9);
    assert!((histogram.stddev().unwrap() - 2886.89568).abs() < 1e-4);
}

#[test]
fn nothing_recorded_is_nothing_known() {
    let mut empty = Histogram::default();
    empty.record_n(5, 0);
    assert_eq!(
        (empty.min(), empty.max(), empty.mean(), empty.value_at_quantile(0.5)),
        (None, None, None, None)
    );
    assert_eq!(empty.distribution(), None);
}

#[test]
fn memory_is_bounded_whatever_comes() {
    let mut histogram = filled(&[0, 1, u64::MAX, u64::MAX]);
    assert!(histogram.counts.len() * 8 <= 264 << 10);
    assert_eq!(histogram.max(), Some(u64::MAX));
    histogram.record_n(u64::MAX, 1 << 40);
    assert_eq!(histogram.count(), (1 << 40) + 4);
    let mut all = Histogram::new(5, u64::MAX).unwrap();
    all.record(u64::MAX);
    assert_eq!(all.value_at_quantile(1.0), Some(u64::MAX));
}

#[test]
fn precision_is_asked_for_and_kept_apart() {
    assert_eq!(Histogram::new(0, 9).unwrap_err(), HistogramError::Digits(0));
    assert_eq!(Histogram::new(6, 9).unwrap_err(), HistogramError::Digits(6));
    let two = Histogram::new(2, 1000).unwrap();
    assert_eq!(Histogram::default().merge(&two), Err(HistogramError::Precision { own: 3, other: 2 }));
}

#[test]
fn merging_into_a_lower_ceiling_saturates() {
    let mut low = Histogram::new(3, 10_000).unwrap();
    low.merge(&filled(&[5, 9_999, 1_000_000])).unwrap();
    assert_eq!((low.count(), low.max()), (3, Some(1_000_000)));
    let last = low.values_of(low.index(10_000));
    assert!(low.buckets().last().is_some_and(|(values, count)| values == last && count == 1));
}

#[test]
fn the_figures_of_a_result() {
    let distribution = filled(&[100, 200, 300]).distribution().unwrap();
    assert_eq!(
        (distribution.count, distribution.min, distribution.max),
        (3, Nanos::from_nanos(100), Nanos::from_nanos(300))
    );
    assert_eq!((distribution.mean, distribution.stddev), (Nanos::from_nanos(200), Nanos::from_nanos(100)));
    assert_eq!((distribution.p50, distribution.p9999), (Nanos::from_nanos(200), Nanos::from_nanos(300)));
}

proptest! {
    #[test]
    fn every_bucket_holds_the_values_that_map_to_it(value: u64, digits in 1_u8..=5) {
        let histogram = Histogram::new(digits, u64::MAX).unwrap();
        let range = histogram.values_of(histogram.index(value));
        prop_assert!(range.contains(&value));
        prop_assert_eq!(histogram.index(*range.start()), histogram.index(*range.end()));
        let width = u128::from(range.end() - range.start());
        prop_assert!(width * 10_u128.pow(digits.into()) <= u128::from(value));
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_list(mut values in prop::collection::vec(0_u64..1 << 41, 1..200), q in 0.0..=1.0) {
        let histogram = filled(&values);
        values.sort_unstable();
        let exact = nearest_rank(&values, q).unwrap();
        let found = histogram.value_at_quantile(q).unwrap();
        prop_assert!(found >= exact && found - exact <= exact / 1000, "{} for {}", found, exact);
    }

    #[test]
    fn merging_is_recording_all(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
        let mut merged = filled(&a);
        merged.merge(&filled(&b)).unwrap();
        let all = filled(&[a, b].concat());
        prop_assert_eq!((merged.min(), merged.max(), merged.count()), (all.min(), all.max(), all.count()));
        prop_assert!(merged.buckets().eq(all.buckets()));
    }
}

/// Counts by bucket, as a program without memory for more keeps them, with its other facts about the values.
#[test]
fn counts_made_elsewhere_keep_what_is_known_exactly() {
    let values = [3, 300, 301, 5_000, 1_234_567];
    let mut own = Histogram::new(2, u64::MAX).unwrap();
    values.iter().for_each(|&value| own.record(value));
    let exact = Exact { min: 3, max: 1_234_567, sum: values.iter().sum() };
    let other = Histogram::of_counts(2, &own.counts, exact).unwrap();
    assert_eq!((&other.counts, other.count()), (&own.counts, 5));
    assert_eq!((other.min(), other.max()), (own.min(), own.max()));
    assert!((other.mean().unwrap() - own.mean().unwrap()).abs() < 1e-6);
    assert!((other.stddev().unwrap() / own.stddev().unwrap() - 1.0).abs() < 0.01);
    assert_eq!([0.2, 0.5, 1.0].map(|q| other.value_at_quantile(q)), [Some(3), Some(301), Some(1_234_567)]);
    let none = Histogram::of_counts(2, &[0; 256], exact).unwrap();
    assert_eq!((none.count(), none.min(), none.max(), none.mean()), (0, None, None, None));
    assert_eq!(Histogram::of_counts(6, &[], exact).unwrap_err(), HistogramError::Digits(6));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn quantiles_are_those_of_the_hdrhistogram_crate(values in prop::collection::vec(0_u64..1 << 41, 1..200), q in prop::collection::vec(0.001..=1.0, 20)) {
        let histogram = filled(&values);
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_max(histogram.highest, 3).unwrap();
        values.iter().for_each(|&value| theirs.record(value).unwrap());
        // Theirs has the least and the greatest value only to the precision of a bucket.
        let (least, most) = (histogram.min().unwrap(), histogram.max().unwrap());
        for q in q {
            let found = theirs.value_at_quantile(q).clamp(least, most);
            prop_assert_eq!(histogram.value_at_quantile(q), Some(found));
        }
        prop_assert!(histogram.buckets().map(|(values, count)| (*values.end(), count)).eq(theirs
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))));
    }
}
