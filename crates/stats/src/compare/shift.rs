//! The distance of one group of runs from another: the median of all ratios between their runs.

use super::Shift;
use super::mann_whitney::bounding_rank;
use crate::quantile::ascending;

/// The Hodges–Lehmann shift in percent: the median of all `n · m` ratios of a run of `other` to one of `base`, less one. On the
/// logarithms of the values it is the estimate of Hodges and Lehmann (1963), and its interval holds those shifts that the
/// rank-sum test would not reject. `None` when the median ratio is unbounded, as for a base of zeros.
pub(super) fn hodges_lehmann(base: &[f64], other: &[f64]) -> Option<Shift> {
    let ratios = Ratios::between(base, other);
    let count = ratios.count();
    // With an even number the geometric mean of the middle two, so that exchanging the groups inverts the ratio.
    let middle = ratios.at(count.div_ceil(2)).sqrt() * ratios.at(count / 2 + 1).sqrt();
    if !middle.is_finite() {
        return None;
    }
    let percent = |ratio: f64| Some((ratio - 1.0) * 100.0).filter(|percent| percent.is_finite());
    let rank = bounding_rank(base.len(), other.len());
    Some(Shift {
        percent: percent(middle)?,
        low: rank.and_then(|rank| percent(ratios.at(rank))),
        high: rank.and_then(|rank| percent(ratios.at(count + 1 - rank))),
    })
}

/// All ratios between two groups, found by rank without a list of them.
struct Ratios {
    base: Vec<f64>,
    other: Vec<f64>,
}

impl Ratios {
    fn between(base: &[f64], other: &[f64]) -> Ratios {
        Ratios { base: ascending(base), other: ascending(other) }
    }

    fn count(&self) -> u64 {
        self.base.len() as u64 * self.other.len() as u64
    }

    /// The ratio of this rank, from 1: the least with so many at or below it. For floats that are not negative, the order of the
    /// bits is that of the values.
    fn at(&self, rank: u64) -> f64 {
        let (mut low, mut high) = (0, f64::INFINITY.to_bits());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.up_to(f64::from_bits(middle)) >= rank { high = middle } else { low = middle + 1 }
        }
        f64::from_bits(low)
    }

    /// Number of ratios at or below a limit: the larger the base, the more of the other group are.
    fn up_to(&self, limit: f64) -> u64 {
        let (mut reached, mut count) = (0, 0);
        for &base in &self.base {
            while self.other.get(reached).is_some_and(|&other| ratio(other, base) <= limit) {
                reached += 1;
            }
            count += reached as u64;
        }
        count
    }
}

/// The ratio of two zeros is 1.
fn ratio(other: f64, base: f64) -> f64 {
    if base > 0.0 || other > 0.0 { other / base } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?} {expected}");
    }

    #[test]
    fn as_numpy_gives_it() {
        // numpy: median of log(divide.outer(b, a)); the 6th of 36 ratios from either end.
        let (a, b) = ([9.41, 9.39, 9.36, 9.40, 9.37, 9.42], [9.35, 9.12, 9.30, 9.25, 9.38, 9.33]);
        let shift = hodges_lehmann(&a, &b).unwrap();
        near(Some(shift.percent), -0.798_625_645_637_207_6);
        near(shift.low, -2.564_102_564_102_566);
        near(shift.high, -0.213_447_171_824_965_3);
    }

    #[test]
    fn zeros_on_either_side() {
        assert_eq!(hodges_lehmann(&[0.0; 6], &[1.0; 6]), None);
        assert_eq!(hodges_lehmann(&[0.0; 6], &[0.0; 6]).unwrap().percent, 0.0);
        assert_eq!(hodges_lehmann(&[1.0; 6], &[0.0; 6]).unwrap().percent, -100.0);
        let one_failed = [0.0, 9.0, 9.1, 9.2, 9.3, 9.4, 9.5];
        let shift = hodges_lehmann(&one_failed, &[9.2; 7]).unwrap();
        assert!(shift.percent.abs() < 2.0 && shift.high.is_some(), "{shift:?}");
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_list(base in prop::collection::vec(0_u8..9, 1..12), other in prop::collection::vec(0_u8..9, 1..12)) {
            let floats = |values: &[u8]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
            let (base, other) = (floats(&base), floats(&other));
            let mut list: Vec<f64> = base.iter().flat_map(|a| other.iter().map(|b| ratio(*b, *a))).collect();
            list.sort_by(f64::total_cmp);
            let ratios = Ratios::between(&base, &other);
            for (index, expected) in list.iter().enumerate() {
                prop_assert_eq!(ratios.at(index as u64 + 1), *expected);
            }
        }
    }
}
