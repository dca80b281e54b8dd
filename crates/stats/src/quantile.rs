//! Quantiles by nearest rank: always a measured value, the same definition as in the histogram.

/// The 1-based rank of quantile `q` among `count` sorted values: the smallest rank with at least `q × count` values at or below
/// it. `None` without values. `q` is taken to nine decimals and limited to 0…1, so that 0.999 of 1000 is 999.
#[must_use]
pub fn rank(q: f64, count: u64) -> Option<u64> {
    if count == 0 {
        return None;
    }
    let parts = (q.clamp(0.0, 1.0) * PARTS as f64).round() as u128;
    let rank = (parts * u128::from(count)).div_ceil(PARTS);
    Some(u64::try_from(rank).unwrap_or(count).clamp(1, count))
}

/// The value at quantile `q` of ascending values, by nearest rank; `None` without values.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], q: f64) -> Option<T> {
    let rank = rank(q, sorted.len() as u64)?;
    sorted.get(rank as usize - 1).copied()
}

/// The value of a rank, from 1, among ascending values that each occur a number of times; `None` when there is no such rank.
pub(crate) fn at_rank(sorted: &[(u64, u64)], rank: u64) -> Option<u64> {
    let mut left = rank;
    sorted.iter().find_map(|&(value, count)| {
        let here = count >= left;
        left = left.saturating_sub(count);
        here.then_some(value)
    })
}

/// The values in ascending order.
pub(crate) fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of the two middle ones; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = ascending(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower + (upper - lower) / 2.0)
}

const PARTS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_exact_where_floats_are_not() {
        assert_eq!(rank(0.999, 1000), Some(999));
        assert_eq!(rank(0.9, 10), Some(9));
        assert_eq!(rank(0.95, 20), Some(19));
        assert_eq!(rank(0.29, 100), Some(29));
        assert_eq!(rank(0.5, 1), Some(1));
        assert_eq!(rank(0.0, 9), Some(1));
        assert_eq!(rank(1.0, u64::MAX), Some(u64::MAX));
        assert_eq!(rank(7.0, 3), Some(3));
        assert_eq!(rank(-1.0, 3), Some(1));
        assert_eq!(rank(f64::NAN, 3), Some(1));
        assert_eq!(rank(0.5, 0), None);
    }

    #[test]
    fn nearest_rank_is_a_measured_value() {
        assert_eq!(nearest_rank(&[10, 20, 30, 40], 0.5), Some(20));
        assert_eq!(nearest_rank(&[10, 20, 30, 40], 0.51), Some(30));
        assert_eq!(nearest_rank::<u8>(&[], 0.5), None);
    }

    #[test]
    fn the_median_of_even_and_odd() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
