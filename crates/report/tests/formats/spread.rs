//! Distributions as a histogram of values gives them, so that their figures belong together.

use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;

/// Percentiles, microseconds.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) min: u64,
    pub(crate) p50: u64,
    pub(crate) p90: u64,
    pub(crate) p99: u64,
    pub(crate) max: u64,
}

/// Of so many values with these percentiles.
pub(crate) fn distribution(count: u64, shape: Shape) -> Distribution {
    histogram(count, shape).distribution().expect("there are values")
}

/// A fifth of the values is the least, and so on up to one that is the largest.
pub(crate) fn histogram(count: u64, shape: Shape) -> Histogram {
    let mut histogram = Histogram::default();
    let mut left = count;
    let mut record = |micros: u64, wanted: u64| {
        let times = wanted.min(left);
        histogram.record_n(micros * 1_000, times);
        left -= times;
    };
    record(shape.max, 1 + count / 1_000);
    record(shape.min, (count / 5).max(1));
    record(shape.p99, count * 4 / 100);
    record(shape.p90, count * 16 / 100);
    record(shape.p50, count);
    histogram
}
