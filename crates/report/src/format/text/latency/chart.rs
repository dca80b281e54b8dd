//! The rows of a histogram of round trips.

use model::stats::histogram::Histogram;
use model::units::Nanos;

/// Rows of a histogram: from and to, the count, and its share of the largest. Each row is wider than the one before by the same factor. No row
/// with less than two different values.
pub(super) fn histogram(histogram: &Histogram) -> Vec<(Nanos, Nanos, u64, f64)> {
    in_rows(histogram, ROWS, None)
}

/// The same on one screen: six rows, and one for the tail beyond p99 where that is long.
pub(super) fn brief(histogram: &Histogram) -> Vec<(Nanos, Nanos, u64, f64)> {
    let ends = histogram.min().zip(histogram.max());
    let long = |p99: &u64| ends.is_some_and(|(min, max)| min < *p99 && *p99 < max / 2);
    let tail = histogram.value_at_quantile(0.99).filter(long);
    in_rows(histogram, if tail.is_some() { BRIEF } else { BRIEF + 1 }, tail)
}

/// Counts in so many rows, and one more for values beyond `tail`.
fn in_rows(histogram: &Histogram, rows: i32, tail: Option<u64>) -> Vec<(Nanos, Nanos, u64, f64)> {
    let (Some(min), Some(max)) = (histogram.min(), histogram.max()) else { return Vec::new() };
    if max <= min {
        return Vec::new();
    }
    let mut edges = match tail {
        Some(tail) => [edges(min, tail + 1, rows), vec![max]].concat(),
        None => edges(min, max, rows),
    };
    edges.dedup();
    let mut counts = vec![0_u64; edges.len() - 1];
    for (values, count) in histogram.buckets() {
        let value = values.start() / 2 + values.end() / 2;
        let place = edges.partition_point(|edge| *edge <= value.max(min)).clamp(1, counts.len());
        counts[place - 1] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let row = |(index, count): (usize, &u64)| {
        (Nanos(edges[index]), Nanos(edges[index + 1]), *count, *count as f64 / most as f64)
    };
    counts.iter().enumerate().map(row).collect()
}

/// The edges of the rows, each different from the next.
fn edges(min: u64, max: u64, rows: i32) -> Vec<u64> {
    let low = min.max(1) as f64;
    let factor = (max as f64 / low).powf(1.0 / f64::from(rows));
    let mut edges: Vec<u64> = (0..rows).map(|row| (low * factor.powi(row)) as u64).collect();
    edges[0] = min;
    edges.push(max);
    // A float has fewer digits than the largest values.
    edges.iter_mut().for_each(|edge| *edge = (*edge).clamp(min, max));
    edges.dedup();
    edges
}

const ROWS: i32 = 14;
const BRIEF: i32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_row() {
        for values in [[1, 2, 3], [20_000, 20_001, 4_000_000], [0, 1, u64::MAX], [7, 7, 8]] {
            let mut given = Histogram::default();
            values.iter().for_each(|value| given.record(*value));
            let rows = histogram(&given);
            assert_eq!(rows.iter().map(|row| row.2).sum::<u64>(), 3, "{rows:?}");
            assert!(rows.iter().all(|row| row.0 < row.1 && (row.3 == 0.0) == (row.2 == 0)), "{rows:?}");
        }
        let mut same = Histogram::default();
        same.record_n(5, 9);
        assert_eq!(histogram(&same), []);
        assert_eq!(histogram(&Histogram::default()), []);
    }
}
