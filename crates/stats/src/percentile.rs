//! Percentiles with bounds that hold for any distribution, and none that the samples are too few for.
//!
//! Of `n` independent values the number at or below the true quantile `q` is binomial, so the interval between the order
//! statistics `l` and `u` holds the quantile with probability `P(l ≤ B(n, q) ≤ u − 1)` (David and Nagaraja, Order Statistics,
//! 7.1; ISO 16269-6). Each end may miss with 2.5 %.

use super::distribution::{Distribution, PERCENTS};
use super::histogram::Histogram;
use super::quantile::rank;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A percentile of times, and its bounds with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// The percentage: 99.9 is p99.9.
    pub percent: f64,
    /// The percentile of the values measured, by nearest rank and to the histogram's precision, in nanoseconds.
    #[serde(rename = "value_ns")]
    pub value: Nanos,
    /// The lower bound, in nanoseconds.
    #[serde(rename = "low_ns")]
    pub low: Nanos,
    /// The upper bound, in nanoseconds.
    #[serde(rename = "high_ns")]
    pub high: Nanos,
}

impl Distribution {
    /// The status of a percentile of these times.
    #[must_use]
    pub fn standing(&self, percent: f64) -> Standing {
        let place = PERCENTS.iter().position(|own| (own - percent).abs() < 1e-9);
        let is_absent = match place {
            Some(place) => self.absent.percentiles[place],
            None => self.absent.percentiles != [false; 5],
        };
        let all = self.count.saturating_add(self.missing);
        if is_absent {
            Standing::NotGiven
        } else if !carries(self.count, percent) {
            Standing::TooFew
        } else if rank(percent / 100.0, all).is_some_and(|rank| rank > self.count) {
            Standing::AtLeast
        } else {
            Standing::Known
        }
    }

    /// The median, where messages without a reply do not reach it either: one that others can be compared with.
    #[must_use]
    pub fn known_median(&self) -> Option<Nanos> {
        self.median().filter(|_| self.standing(50.0) != Standing::AtLeast)
    }

    /// A known percentile; `None` where there are too few times for it, or missing ones reach it.
    #[must_use]
    pub fn known(&self, percent: f64, of: fn(&Distribution) -> Nanos) -> Option<Nanos> {
        (self.standing(percent) == Standing::Known).then(|| of(self))
    }
}

/// The status of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The percentile was measured.
    Known,
    /// Messages without a reply reach it: the figure is a lower bound.
    AtLeast,
    /// There are too few values for it.
    TooFew,
    /// The measuring host disturbed it.
    Spoiled,
    /// The source does not give it, as the summary of ping(8).
    NotGiven,
}

/// The percentiles of a histogram of nanoseconds, in the requested order. One for which there are too few values is left out:
/// [`samples_needed`] gives their number.
///
/// The bounds assume that values do not depend on one another. Where they do, as round trips within one queue, the truth is less
/// certain than they indicate.
#[must_use]
pub fn percentiles(histogram: &Histogram, percents: &[f64]) -> Vec<Percentile> {
    percents.iter().filter_map(|&percent| percentile(histogram, percent)).collect()
}

/// One percentile; `None` when one of its bounds would lie outside of the measured values.
#[must_use]
pub fn percentile(histogram: &Histogram, percent: f64) -> Option<Percentile> {
    let ranks = bounds(percent, histogram.count())?;
    Some(Percentile {
        percent,
        value: Nanos(histogram.value_at_quantile(percent / 100.0)?),
        low: Nanos(*histogram.values_at_rank(ranks.low)?.start()),
        high: Nanos(*histogram.values_at_rank(ranks.high)?.end()),
    })
}

/// Number of samples for a percentile with both bounds: 6 for the median, 368 for p99, 36,887 for p99.99. `None` when no number
/// is enough, as for 0 and 100.
#[must_use]
pub fn samples_needed(percent: f64) -> Option<u64> {
    let (share, _) = rarer_side(percent)?;
    // The whole sample lies on one side of the quantile with probability (1 − share)^n.
    Some((MISS.ln() / (-share).ln_1p()).ceil() as u64)
}

/// Are so many samples enough for both bounds of a percentile? Otherwise it is not shown.
#[must_use]
pub fn carries(count: u64, percent: f64) -> bool {
    samples_needed(percent).is_some_and(|needed| count >= needed)
}

/// The ranks of the order statistics, from 1, that bound a percentile of `count` values with 95 %. `None` when there are not
/// enough values.
#[must_use]
pub fn bounds(percent: f64, count: u64) -> Option<Ranks> {
    if count < samples_needed(percent)? {
        return None;
    }
    let (share, upper) = rarer_side(percent)?;
    let (few, many) = rare_counts(share, count);
    // `few` is missed from below and `many` from above: the ranks count from the rare side.
    let (near, far) = (few + 1, (many + 1).min(count));
    Some(match upper {
        true => Ranks { low: count + 1 - far, high: count + 1 - near },
        false => Ranks { low: near, high: far },
    })
}

/// Two ranks among sorted values, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The lower bound's.
    pub low: u64,
    /// The upper bound's.
    pub high: u64,
}

/// The share of values on the rarer side of a percentile, at most one half, and whether that side is the upper one.
fn rarer_side(percent: f64) -> Option<(f64, bool)> {
    let upper = percent >= 50.0;
    let share = if upper { 100.0 - percent } else { percent } / 100.0;
    // Beyond nine decimals there are no percentiles: `quantile::rank` rounds to them.
    (1e-9..=0.5).contains(&share).then_some((share, upper))
}

/// For `C ~ B(count, share)`, returns the largest `few` with `P(C ≤ few) ≤ 2.5 %` and the least `many` with
/// `P(C ≤ many) ≥ 97.5 %`. `P(C = 0) ≤ 2.5 %` must hold.
fn rare_counts(share: f64, count: u64) -> (u64, u64) {
    let mean = share * count as f64;
    if mean > EXACT_UP_TO {
        let spread = NORMAL_975 * (mean * (1.0 - share)).sqrt();
        return ((mean - spread - 0.5).floor() as u64, ((mean + spread - 0.5).ceil() as u64).min(count));
    }
    // In logarithms, as the first terms are far below the range of a float.
    let odds = (share / (1.0 - share)).ln();
    let mut term = count as f64 * (-share).ln_1p();
    let (mut sum, mut few) = (term.exp(), 0);
    for rare in 1..=count {
        if sum >= 1.0 - MISS {
            return (few, rare - 1);
        }
        term += ((count - rare + 1) as f64 / rare as f64).ln() + odds;
        sum += term.exp();
        if sum <= MISS {
            few = rare;
        }
    }
    (few, count)
}

/// Probability that each end may miss.
const MISS: f64 = 0.025;
const NORMAL_975: f64 = 1.959_963_984_540_054;
/// Expected values on the rarer side above which the normal distribution approximates the binomial: the ranks are then at most
/// two off, of an interval over 120 wide.
const EXACT_UP_TO: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use super::super::distribution::PartialDistribution;
    use super::*;
    use proptest::prelude::*;

    /// `P(B(count, q) < rank)`, by multiplication: for small counts.
    fn below(rank: u64, count: u64, q: f64) -> f64 {
        let choose = |k: u64| (0..k).map(|i| (count - i) as f64 / (i + 1) as f64).product::<f64>();
        (0..rank).map(|k| choose(k) * q.powi(k as i32) * (1.0 - q).powi((count - k) as i32)).sum()
    }

    fn coverage(percent: f64, count: u64) -> f64 {
        let ranks = bounds(percent, count).unwrap();
        below(ranks.high, count, percent / 100.0) - below(ranks.low, count, percent / 100.0)
    }

    #[test]
    fn what_a_source_does_not_give_is_not_known() {
        let some = PartialDistribution {
            count: 40_000,
            mean: Nanos::from_nanos(20),
            p90: Some(Nanos::from_nanos(30)),
            p99: Some(Nanos::from_nanos(40)),
            ..PartialDistribution::default()
        };
        let (known, not) = (Standing::Known, Standing::NotGiven);
        let standing = PERCENTS.map(|percent| Distribution::from(some).standing(percent));
        assert_eq!(standing, [not, known, known, not, not]);
    }

    #[test]
    fn the_published_intervals_of_the_median() {
        // Conover, Practical Nonparametric Statistics; Le Boudec, Performance Evaluation, table A.1.
        for (count, low, high, coverage_percent) in
            [(6, 1, 6, 96.9), (10, 2, 9, 97.9), (20, 6, 15, 95.9), (31, 10, 22, 97.1), (70, 27, 44, 95.9)]
        {
            assert_eq!(bounds(50.0, count), Some(Ranks { low, high }), "{count}");
            assert!((coverage(50.0, count) * 100.0 - coverage_percent).abs() < 0.06, "{count}");
        }
        assert_eq!(bounds(50.0, 5), None);
    }

    #[test]
    fn the_published_numbers_of_samples() {
        // 0.025 = q^n: Hahn and Meeker, Statistical Intervals, two-sided at 95 %.
        for (percent, needed) in
            [(50.0, 6), (75.0, 13), (90.0, 36), (95.0, 72), (99.0, 368), (99.9, 3688), (99.99, 36_887)]
        {
            assert_eq!(samples_needed(percent), Some(needed), "{percent}");
            assert_eq!(bounds(percent, needed - 1), None);
            assert_eq!(bounds(percent, needed).unwrap().high, needed, "{percent}");
            assert_eq!(bounds(100.0 - percent, needed).unwrap().low, 1, "{percent}");
        }
        assert_eq!(samples_needed(99.999), Some(368_887));
        for percent in [0.0, 100.0, -3.0, 101.0, f64::NAN, f64::INFINITY] {
            assert_eq!((samples_needed(percent), bounds(percent, u64::MAX)), (None, None), "{percent}");
        }
    }

    #[test]
    fn the_normal_distribution_takes_over_without_a_step() {
        let exact = |percent: f64, count: u64| {
            let (share, _) = rarer_side(percent).unwrap();
            let (few, many) = rare_counts(share, count);
            let spread = NORMAL_975 * (share * count as f64 * (1.0 - share)).sqrt();
            let mean = share * count as f64;
            assert!((few as f64 - (mean - spread - 0.5)).abs() <= 2.0, "{few} {many}");
            assert!((many as f64 - (mean + spread - 0.5)).abs() <= 2.0, "{few} {many}");
        };
        exact(50.0, 2000);
        exact(99.0, 100_000);
        exact(99.99, 9_900_000);
        let huge = bounds(50.0, 1 << 60).unwrap();
        assert!(huge.low < 1 << 59 && huge.high > 1 << 59);
    }

    #[test]
    fn a_percentile_beyond_the_samples_is_not_given() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.record(value));
        let given = percentiles(&histogram, &[50.0, 99.0, 99.9, 99.99]);
        assert_eq!(given.iter().map(|single| single.percent).collect::<Vec<_>>(), [50.0, 99.0]);
        assert_eq!(given[0].value, Nanos::from_nanos(500));
        // Exact binomial ranks: R, qbinom(c(.025, .975), 1000, p).
        assert_eq!((given[0].low, given[0].high), (Nanos::from_nanos(469), Nanos::from_nanos(532)));
        assert_eq!(
            (given[1].value, given[1].low, given[1].high),
            (Nanos::from_nanos(990), Nanos::from_nanos(983), Nanos::from_nanos(997))
        );
        assert_eq!(percentiles(&Histogram::default(), &[50.0]), []);
    }

    #[test]
    fn it_is_written_with_its_unit() {
        let single = Percentile {
            percent: 99.9,
            value: Nanos::from_nanos(3),
            low: Nanos::from_nanos(2),
            high: Nanos::from_nanos(4),
        };
        let text = serde_json::to_string(&single).unwrap();
        assert_eq!(text, r#"{"percent":99.9,"value_ns":3,"low_ns":2,"high_ns":4}"#);
    }

    proptest! {
        #[test]
        fn coverage_is_at_least_what_is_promised(percent in 0.5..99.5, count in 6_u64..400) {
            if count >= samples_needed(percent).unwrap() {
                let coverage = coverage(percent, count);
                prop_assert!(coverage >= 0.95 - 1e-9, "{}", coverage);
                // One rank nearer would miss more often at that end.
                let (ranks, q) = (bounds(percent, count).unwrap(), percent / 100.0);
                prop_assert!(below(ranks.low + 1, count, q) > MISS - 1e-9);
                prop_assert!(1.0 - below(ranks.high - 1, count, q) > MISS - 1e-9);
            }
        }

        #[test]
        fn bounds_hold_the_value(percent in 0.0..100.0, values in prop::collection::vec(any::<u64>(), 0..500)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.record(value));
            if let Some(single) = percentile(&histogram, percent) {
                prop_assert!(single.low <= single.value && single.value <= single.high);
            }
        }

        #[test]
        fn any_question_is_an_answer(percent: f64, count: u64) {
            if let Some(ranks) = bounds(percent, count) {
                prop_assert!(1 <= ranks.low && ranks.low <= ranks.high && ranks.high <= count);
            }
        }
    }
}
