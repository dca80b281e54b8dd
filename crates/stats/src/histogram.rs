//! A histogram of whole numbers with a bounded relative error, in HdrHistogram's layout.
//!
//! Values below twice the precision have a bucket each; above, each power of two is divided into the same number of equal
//! buckets, so that the error stays below one part in 10^digits. The index of a value is that of HdrHistogram with a lowest
//! discernible value of 1, so that its V2 form ([`v2`]) is written from the counts unchanged.

pub mod v2;

use super::distribution::Distribution;
use super::moments::Moments;
use super::quantile::rank;
use std::ops::RangeInclusive;
use thiserror::Error;
use units::Nanos;

/// Counts of values. Memory grows with the largest value, by default up to 264 KiB.
#[derive(Clone, Debug)]
pub struct Histogram {
    digits: u8,
    /// Half the buckets of the linear part, as a power of two: every further power of two has so many.
    half_magnitude: u32,
    highest: u64,
    counts: Vec<u64>,
    /// No bucket before this one holds a value.
    first: usize,
    total: u64,
    min: u64,
    max: u64,
    moments: Moments,
}

/// Exact facts about values besides their buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exact {
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// The sum of all.
    pub sum: u64,
}

/// Why two histograms cannot be created or merged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistogramError {
    /// HdrHistogram knows 1 to 5 significant digits.
    #[error("make histogram of {0} significant digits: 1 to 5 are possible")]
    Digits(u8),
    /// Buckets of different precision cannot be added.
    #[error("merge histogram of {other} significant digits into one of {own}: they must be the same")]
    Precision {
        /// Digits of the one merged into.
        own: u8,
        /// Digits of the other.
        other: u8,
    },
}

impl Default for Histogram {
    /// Three significant digits, up to an hour in nanoseconds.
    fn default() -> Histogram {
        Histogram::with_layout(3, Nanos::from_secs(3600).0)
    }
}

impl Histogram {
    /// A histogram that keeps `digits` significant digits of values up to `highest`.
    ///
    /// # Errors
    /// When `digits` is not 1 to 5.
    pub fn new(digits: u8, highest: u64) -> Result<Histogram, HistogramError> {
        match digits {
            1..=5 => Ok(Histogram::with_layout(digits, highest)),
            _ => Err(HistogramError::Digits(digits)),
        }
    }

    /// A histogram of counts made elsewhere, in HdrHistogram's order, with the exact facts about the same values.
    /// The standard deviation is that of the buckets' middles.
    ///
    /// # Errors
    /// When `digits` is not 1 to 5.
    pub fn of_counts(digits: u8, counts: &[u64], exact: Exact) -> Result<Histogram, HistogramError> {
        let mut histogram = Histogram::new(digits, u64::MAX)?;
        for (index, &count) in counts.iter().enumerate() {
            let (low, high) = histogram.values_of(index).into_inner();
            histogram.record_n(u64::midpoint(low, high), count);
        }
        if histogram.total > 0 {
            (histogram.min, histogram.max) = (exact.min, exact.max);
            histogram.moments = histogram.moments.with_mean(exact.sum as f64 / histogram.total as f64);
        }
        Ok(histogram)
    }

    fn with_layout(digits: u8, highest: u64) -> Histogram {
        let linear = (2 * 10_u64.pow(digits.into())).next_power_of_two();
        Histogram {
            digits,
            half_magnitude: linear.trailing_zeros() - 1,
            highest: highest.max(linear - 1),
            counts: Vec::new(),
            first: usize::MAX,
            total: 0,
            min: u64::MAX,
            max: 0,
            moments: Moments::default(),
        }
    }

    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `count` equal values. A value above the highest is put in the last bucket.
    pub fn record_n(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        let index = self.index(value.min(self.highest));
        if index >= self.counts.len() {
            self.counts.resize((index + 1).next_multiple_of(1 << self.half_magnitude), 0);
        }
        self.counts[index] += count;
        self.first = self.first.min(index);
        self.total += count;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.moments.record_n(value as f64, count);
    }

    /// Adds the counts of another, each saturating at the largest number.
    ///
    /// # Errors
    /// When the other keeps another number of digits.
    pub fn merge(&mut self, other: &Histogram) -> Result<(), HistogramError> {
        if self.digits != other.digits {
            return Err(HistogramError::Precision { own: self.digits, other: other.digits });
        }
        let last = self.index(self.highest);
        let needed = other.counts.len().min((last + 1).next_multiple_of(1 << self.half_magnitude));
        self.counts.resize(self.counts.len().max(needed), 0);
        for (index, &count) in other.counts.iter().enumerate() {
            let own = &mut self.counts[index.min(last)];
            *own = own.saturating_add(count);
        }
        self.first = self.first.min(other.first.min(last));
        self.total = self.total.saturating_add(other.total);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.moments.merge(&other.moments);
        Ok(())
    }

    /// The value at quantile `q` (0.99 for p99) by nearest rank: the upper end of its bucket, within the exact least and greatest
    /// value. `None` without values.
    #[must_use]
    pub fn value_at_quantile(&self, q: f64) -> Option<u64> {
        self.values_at_rank(rank(q, self.total)?).map(|values| *values.end())
    }

    /// The range of the `rank`-th least value, from 1: its bucket, within the exact least and greatest value. `None` when there
    /// is no such rank.
    #[must_use]
    pub fn values_at_rank(&self, rank: u64) -> Option<RangeInclusive<u64>> {
        let mut left = rank.checked_sub(1)?;
        let place = self.used().iter().position(|&count| {
            let here = count > left;
            left = left.saturating_sub(count);
            here
        })?;
        let (low, high) = self.values_of(self.first + place).into_inner();
        Some(low.clamp(self.min, self.max)..=high.clamp(self.min, self.max))
    }

    /// Number of values counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The least value, exact.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// The greatest value, exact.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// The arithmetic mean of the exact values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.moments.mean()
    }

    /// The sample standard deviation of the exact values; `None` below two.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        self.moments.stddev()
    }

    /// The buckets that hold values, from the least: the values each stands for, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (RangeInclusive<u64>, u64)> {
        let used = self.used().iter().enumerate().filter(|bucket| *bucket.1 > 0);
        used.map(|(place, &count)| (self.values_of(self.first + place), count))
    }

    /// The counts from the first bucket that holds a value on: below it there can be many thousands.
    fn used(&self) -> &[u64] {
        self.counts.get(self.first..).unwrap_or_default()
    }

    /// Number of values that share a bucket with this one: 1 where values are exact.
    #[must_use]
    pub fn width_at(&self, value: u64) -> u64 {
        let (low, high) = self.values_of(self.index(value.min(self.highest))).into_inner();
        high - low + 1
    }

    /// The distribution of a histogram of nanoseconds; `None` without values.
    #[must_use]
    pub fn distribution(&self) -> Option<Distribution> {
        let at = |q| self.value_at_quantile(q).map(Nanos);
        Some(Distribution {
            count: self.total,
            min: Nanos(self.min()?),
            mean: Nanos(self.mean()?.round() as u64),
            stddev: Nanos(self.stddev().unwrap_or(0.0).round() as u64),
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            p9999: at(0.9999)?,
            max: Nanos(self.max()?),
            ..Distribution::default()
        })
    }

    /// HdrHistogram's `countsArrayIndex`.
    fn index(&self, value: u64) -> usize {
        let linear_bits = self.half_magnitude + 1;
        let bits = u64::BITS - (value | ((1 << linear_bits) - 1)).leading_zeros();
        let bucket = bits - linear_bits;
        let sub_bucket = (value >> bucket) as usize;
        ((bucket as usize) << self.half_magnitude) + sub_bucket
    }

    fn values_of(&self, index: usize) -> RangeInclusive<u64> {
        let half = 1_usize << self.half_magnitude;
        let bucket = (index / half).saturating_sub(1);
        let low = ((index - bucket * half) as u64) << bucket;
        low..=low + ((1 << bucket) - 1)
    }
}

#[cfg(test)]
mod tests;
