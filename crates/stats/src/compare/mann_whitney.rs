//! The rank-sum test of Mann and Whitney (1947), with the exact permutation distribution while the runs are few.

use super::Method;
use super::normal::{Z_975, upper_tail};

/// The two-sided probability of ranks that differ as much between groups that are the same. Equal values share their mean rank;
/// the exact distribution is that of these very ranks (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.1), so
/// that ties need no approximation. Neither side may be empty.
pub(super) fn test(base: &[f64], other: &[f64]) -> (Method, f64) {
    let (small, large) = if base.len() <= other.len() { (base, other) } else { (other, base) };
    let ranks = Ranks::between(small, large);
    if small.len() + large.len() <= EXACT_UP_TO {
        (Method::MannWhitneyExact, ranks.exact())
    } else {
        (Method::MannWhitneyNormal, ranks.normal())
    }
}

/// The rank, from 1, of the order statistics of all `n · m` ratios, from either end, that bound the Hodges–Lehmann shift with 95
/// % (Hollander, Wolfe and Chicken, 4.3). `None` when there are too few runs.
pub(super) fn bounding_rank(n: usize, m: usize) -> Option<u64> {
    let rank = if n + m <= EXACT_UP_TO {
        let ranks: Vec<usize> = (1..=n + m).collect();
        let directions = counts_by_sum(&ranks, n.min(m));
        let all: f64 = directions.iter().sum();
        let least = n.min(m) * (n.min(m) + 1) / 2;
        let mut sum = 0.0;
        directions[least..]
            .iter()
            .take_while(|count| {
                sum += **count;
                sum <= MISS * all
            })
            .count()
    } else {
        let (n, m) = (n as f64, m as f64);
        (n * m / 2.0 - Z_975 * (n * m * (n + m + 1.0) / 12.0).sqrt()).floor().max(0.0) as usize
    };
    (rank > 0).then_some(rank as u64)
}

/// The ranks of all values, doubled so that shared ones are whole.
struct Ranks {
    doubled: Vec<usize>,
    /// The number of values of the first group, and their sum of doubled ranks.
    first: usize,
    sum: usize,
    /// Σ(t³ − t) over the groups of t equal values.
    ties: f64,
}

impl Ranks {
    fn between(first: &[f64], second: &[f64]) -> Ranks {
        let mut values: Vec<(f64, bool)> = first.iter().map(|value| (*value, true)).collect();
        values.extend(second.iter().map(|value| (*value, false)));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = Ranks { doubled: Vec::new(), first: first.len(), sum: 0, ties: 0.0 };
        #[expect(clippy::float_cmp, reason = "ties are equal values, not near ones")]
        for equal in values.chunk_by(|a, b| a.0 == b.0) {
            // Ranks done + 1 … done + t: twice their mean is 2 · done + t + 1.
            let doubled = 2 * ranks.doubled.len() + equal.len() + 1;
            ranks.sum += doubled * equal.iter().filter(|value| value.1).count();
            ranks.ties += (equal.len() as f64).powi(3) - equal.len() as f64;
            ranks.doubled.extend(equal.iter().map(|_| doubled));
        }
        ranks
    }

    fn exact(&self) -> f64 {
        let directions = counts_by_sum(&self.doubled, self.first);
        let all: f64 = directions.iter().sum();
        let below: f64 = directions[..=self.sum].iter().sum();
        let above: f64 = directions[self.sum..].iter().sum();
        (2.0 * below.min(above) / all).min(1.0)
    }

    /// With the corrections for ties and continuity (Lehmann, Nonparametrics, 1.4 and 1.5).
    fn normal(&self) -> f64 {
        let count = self.doubled.len() as f64;
        let (n, m) = (self.first as f64, count - self.first as f64);
        let variance = n * m / 12.0 * (count + 1.0 - self.ties / (count * (count - 1.0)));
        let distance = (self.sum as f64 / 2.0 - n * (count + 1.0) / 2.0).abs() - 0.5;
        if variance <= 0.0 || distance <= 0.0 {
            return 1.0;
        }
        (2.0 * upper_tail(distance / variance.sqrt())).min(1.0)
    }
}

/// Number of subsets of `size` of these numbers that sum up to each index.
fn counts_by_sum(numbers: &[usize], size: usize) -> Vec<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let largest: usize = sorted.iter().rev().take(size).sum();
    let mut directions = vec![vec![0.0; largest + 1]; size + 1];
    directions[0][0] = 1.0;
    for number in sorted {
        for taken in (1..=size).rev() {
            let (fewer, more) = directions.split_at_mut(taken);
            let from = &fewer[taken - 1];
            more[0].iter_mut().skip(number).zip(from).for_each(|(to, from)| *to += from);
        }
    }
    directions.swap_remove(size)
}

/// Runs of both groups together up to which the exact distribution is used: at that size it takes some million steps.
const EXACT_UP_TO: usize = 60;
const MISS: f64 = 0.025;

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn exact_as_scipy_gives_it() {
        // scipy.stats.mannwhitneyu(method="exact").
        let (a, b) = ([9.41, 9.39, 9.36, 9.40, 9.37, 9.42], [9.35, 9.12, 9.30, 9.25, 9.38, 9.33]);
        assert_eq!(test(&a, &b).0, Method::MannWhitneyExact);
        near(test(&a, &b).1, 0.008_658_008_658_008_658);
        let a: Vec<f64> = (1..=10).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 3.5).collect();
        near(test(&a, &b).1, 0.028_805_559_765_312_086);
    }

    #[test]
    fn ties_have_their_own_distribution() {
        // Every division of the values into two groups, enumerated (itertools.combinations).
        let (a, b) = ([1.0, 2.0, 2.0, 3.0, 4.0, 4.0], [2.0, 4.0, 5.0, 5.0, 6.0, 7.0, 7.0]);
        near(test(&a, &b).1, 0.020_979_020_979_020_98);
        let (a, b) = ([5.0, 5.0, 5.0, 6.0, 6.0, 7.0, 5.0], [6.0, 6.0, 7.0, 7.0, 7.0, 8.0]);
        near(test(&a, &b).1, 0.037_296_037_296_037_296);
        assert_eq!(test(&[3.0; 6], &[3.0; 7]).1, 1.0);
        assert_eq!(test(&[3.0; 60], &[3.0; 70]).1, 1.0);
    }

    /// 40 and 45 values with ties.
    pub(super) fn many() -> (Vec<f64>, Vec<f64>) {
        let value = |base: u32, step: u32, modulus: u32| {
            move |index: u32| f64::from(base * 10 + index * step % modulus) / 10.0
        };
        ((0..40).map(value(100, 37, 41)).collect(), (0..45).map(value(101, 53, 43)).collect())
    }

    #[test]
    fn normal_as_scipy_gives_it() {
        // scipy.stats.mannwhitneyu(method="asymptotic", use_continuity=True).
        let (a, b) = many();
        assert_eq!(test(&a, &b).0, Method::MannWhitneyNormal);
        near(test(&a, &b).1, 0.001_192_595_182_186_058_5);
    }

    #[test]
    fn the_normal_approximation_takes_over_without_a_step() {
        let a: Vec<f64> = (0..30).map(f64::from).collect();
        let b: Vec<f64> = (0..30).map(|index| f64::from(index) + 5.5).collect();
        let ranks = Ranks::between(&a, &b);
        assert!((ranks.exact() / ranks.normal() - 1.0).abs() < 0.04, "{} {}", ranks.exact(), ranks.normal());
        let (exact, normal) = (bounding_rank(30, 30).unwrap(), bounding_rank(30, 31).unwrap());
        assert!(normal.abs_diff(exact) <= 15, "{exact} {normal}");
    }

    #[test]
    fn the_published_ranks_of_the_interval() {
        // Critical values of U at 5 %, two-sided, and one: Mann and Whitney 1947; counted again with a recursion over U.
        for (n, m, rank) in
            [(4, 4, 1), (5, 5, 3), (6, 6, 6), (8, 8, 14), (10, 10, 24), (6, 8, 9), (8, 6, 9), (3, 5, 1)]
        {
            assert_eq!(bounding_rank(n, m), Some(rank), "{n} {m}");
        }
        assert_eq!(bounding_rank(3, 3), None);
        assert_eq!(bounding_rank(1, 20), None);
    }
}
