//! Confidence of a mean whose samples depend on one another: batch means, in bounded memory.
//!
//! Round trips are correlated: one behind a queue is followed by others behind it. The classic interval `s/√n` takes them for
//! independent and is far too narrow. Means of long enough batches no longer depend on one another, and their spread gives the
//! mean's error (Law and Kelton, Simulation Modeling and Analysis, 9.5.3; the batches grow as in Fishman's LABATCH.2).

use super::spread::Moments;
use super::student;
use serde::{Deserialize, Serialize};

/// Takes samples in the order in which they were measured. At most 1024 batches are kept, 24 KiB.
#[derive(Clone, Debug)]
pub struct BatchMeans {
    batches: Vec<Moments>,
    /// Samples in a batch.
    size: u64,
}

/// A mean and its interval. In the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeanInterval {
    /// The mean of the samples.
    pub mean: f64,
    /// The true mean lies at most this far away, with the confidence `level`.
    pub half_width: f64,
    /// The confidence, 0.95 for 95 %.
    pub level: f64,
    /// Number of samples.
    pub count: u64,
    /// Number of independent samples that would give the same precision.
    pub effective_count: f64,
    /// Number of batches behind the interval.
    pub batches: u64,
    /// Samples in each of them.
    pub batch_size: u64,
    /// Correlation of a batch mean with the next, −1 to 1.
    pub lag1: f64,
    /// Even the longest batches depend on one another: the interval is still too narrow, the test too short.
    pub correlated: bool,
}

impl Default for BatchMeans {
    fn default() -> BatchMeans {
        BatchMeans { batches: Vec::new(), size: 1 }
    }
}

impl BatchMeans {
    /// Takes one sample.
    pub fn record(&mut self, value: f64) {
        match self.batches.last_mut() {
            Some(batch) if batch.count() < self.size => batch.record(value),
            _ => self.batches.push(Moments::from_values(&[value])),
        }
        let full = self.batches.last().is_some_and(|batch| batch.count() == self.size);
        if self.batches.len() >= MOST_BATCHES && full {
            self.batches = pairs(&self.batches);
            self.size *= 2;
        }
    }

    /// The interval of the mean of all samples but the first `skip` (a warm-up), at a confidence between 0 and 1. The batch that
    /// contains the cut is left out.
    ///
    /// `None` with fewer than 20 batches behind the cut: their dependence cannot be estimated.
    #[must_use]
    pub fn interval(&self, skip: u64, level: f64) -> Option<MeanInterval> {
        if !(level > 0.0 && level < 1.0) {
            return None;
        }
        let skipped = usize::try_from(skip.div_ceil(self.size)).unwrap_or(usize::MAX);
        let kept = self.batches.get(skipped..)?;
        let mut all = Moments::default();
        kept.iter().for_each(|batch| all.merge(batch));
        let complete: Vec<Moments> =
            kept.iter().filter(|batch| batch.count() == self.size).copied().collect();
        let independent = grown(complete)?;
        let count = independent.batches.len() as u64;
        // The remaining dependence, as in an AR(1) process; by chance the estimate can be negative.
        let left = independent.lag1.clamp(0.0, MOST_LEFT);
        let error = independent.spread / (count as f64).sqrt() * ((1.0 + left) / (1.0 - left)).sqrt();
        let variance = all.variance()?;
        let effective = if error > 0.0 { variance / (error * error) } else { all.count() as f64 };
        Some(MeanInterval {
            mean: all.mean()?,
            half_width: student::two_sided(level, count - 1) * error,
            level,
            count: all.count(),
            effective_count: effective.clamp(1.0, all.count() as f64),
            batches: count,
            batch_size: independent.batches[0].count(),
            lag1: independent.lag1,
            correlated: independent.lag1 > noticeable(count),
        })
    }
}

/// Batches, and the statistics of their means.
struct Batches {
    batches: Vec<Moments>,
    /// Standard deviation of the means.
    spread: f64,
    lag1: f64,
}

/// Joins batches until their means do not depend on one another, or there would be fewer than 20.
fn grown(mut batches: Vec<Moments>) -> Option<Batches> {
    if batches.len() < FEWEST_BATCHES {
        return None;
    }
    loop {
        let means: Vec<f64> = batches.iter().filter_map(Moments::mean).collect();
        let lag1 = lag1(&means);
        if lag1 <= noticeable(means.len() as u64) || batches.len() / 2 < FEWEST_BATCHES {
            let spread = Moments::from_values(&means).stddev()?;
            return Some(Batches { batches, spread, lag1 });
        }
        // With an odd number one batch is left over: the newest batches matter no less, so the oldest is dropped.
        let odd = batches.len() % 2;
        batches = pairs(&batches[odd..]);
    }
}

/// Above this a correlation of so many means is not chance: one-sided, at 5 %.
fn noticeable(count: u64) -> f64 {
    NORMAL_95 / (count as f64).sqrt()
}

/// The correlation of neighbours: `Σ (xᵢ − x̄)(xᵢ₊₁ − x̄) / Σ (xᵢ − x̄)²`; 0 when all are equal.
fn lag1(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Each two neighbours as one batch.
fn pairs(batches: &[Moments]) -> Vec<Moments> {
    let join = |pair: &[Moments]| {
        let mut joined = Moments::default();
        pair.iter().for_each(|batch| joined.merge(batch));
        joined
    };
    batches.chunks(2).map(join).collect()
}

const MOST_BATCHES: usize = 1024;
const FEWEST_BATCHES: usize = 20;
/// Beyond this the correlation of so few batches is no measure of how much wider the interval should be.
const MOST_LEFT: f64 = 0.9;
const NORMAL_95: f64 = 1.644_854;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Normal noise from a fixed sequence (Box and Muller over SplitMix64).
    struct Noise(u64);

    impl Noise {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
        }
    }

    /// An AR(1) process around 100, started in its stationary distribution.
    fn process(count: u64, memory: f64, seed: u64) -> Vec<f64> {
        let mut noise = Noise(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let mut state = noise.normal() / (1.0 - memory * memory).sqrt();
        let mut next = || {
            state = memory * state + noise.normal();
            100.0 + state
        };
        (0..count).map(|_| next()).collect()
    }

    fn interval_of(values: &[f64]) -> MeanInterval {
        let mut means = BatchMeans::default();
        values.iter().for_each(|&value| means.record(value));
        means.interval(0, 0.95).unwrap()
    }

    fn classic(values: &[f64]) -> f64 {
        student::two_sided(0.95, values.len() as u64 - 1) * Moments::from_values(values).stddev().unwrap()
            / (values.len() as f64).sqrt()
    }

    /// Number of 200 tests in which each of the two intervals contains the true mean.
    fn covered(count: u64, memory: f64) -> (u32, u32) {
        (0..200).fold((0, 0), |(ours, simple), seed| {
            let values = process(count, memory, seed);
            let interval = interval_of(&values);
            let wrong = (interval.mean - 100.0).abs();
            (ours + u32::from(wrong <= interval.half_width), simple + u32::from(wrong <= classic(&values)))
        })
    }

    #[test]
    fn dependent_samples_are_covered_where_the_classic_interval_fails() {
        let (ours, simple) = covered(20_000, 0.9);
        assert!(ours >= 180, "{ours} of 200");
        assert!(simple < 90, "{simple} of 200");
    }

    #[test]
    fn independent_samples_agree_with_the_classic_interval() {
        let (ours, simple) = covered(5_000, 0.0);
        assert!((180..=198).contains(&ours) && (180..=198).contains(&simple), "{ours} {simple}");
        let values = process(40_000, 0.0, 77);
        let interval = interval_of(&values);
        assert!((interval.half_width / classic(&values) - 1.0).abs() < 0.15, "{interval:?}");
        assert!(interval.effective_count > 25_000.0 && !interval.correlated, "{interval:?}");
        assert!((interval.mean - Moments::from_values(&values).mean().unwrap()).abs() < 1e-9);
    }

    #[test]
    fn the_effective_count_is_that_of_the_theory() {
        // (1 − φ)/(1 + φ) of an AR(1) process: a nineteenth.
        let counts: f64 = (0..20).map(|seed| interval_of(&process(40_000, 0.9, seed)).effective_count).sum();
        let share = counts / 20.0 / 40_000.0;
        assert!((share * 19.0 - 1.0).abs() < 0.35, "{share}");
    }

    #[test]
    fn a_test_too_short_for_its_memory_is_marked() {
        assert!(interval_of(&process(400, 0.999, 3)).correlated);
        let mut few = BatchMeans::default();
        (0..19).for_each(|value| few.record(f64::from(value)));
        assert_eq!(few.interval(0, 0.95), None);
    }

    #[test]
    fn equal_samples_have_no_interval_and_count_in_full() {
        let interval = interval_of(&[7.0; 5000]);
        assert_eq!((interval.mean, interval.half_width, interval.lag1), (7.0, 0.0, 0.0));
        assert_eq!(interval.effective_count, 5000.0);
    }

    #[test]
    fn a_warm_up_is_left_out() {
        let mut means = BatchMeans::default();
        (0..100).for_each(|_| means.record(1e6));
        process(9_900, 0.0, 5).into_iter().for_each(|value| means.record(value));
        let interval = means.interval(100, 0.95).unwrap();
        assert!((interval.mean - 100.0).abs() < 0.1 && interval.count >= 9_880, "{interval:?}");
        assert_eq!(means.interval(u64::MAX, 0.95), None);
        assert_eq!(means.interval(0, 1.0), None);
        assert_eq!(means.interval(0, f64::NAN), None);
    }

    #[test]
    fn memory_is_bounded() {
        let mut means = BatchMeans::default();
        (0..1_000_000).for_each(|index| means.record(f64::from(index % 7)));
        assert!(means.batches.len() <= MOST_BATCHES && means.size == 1024, "{}", means.size);
    }

    proptest! {
        #[test]
        fn the_mean_is_that_of_the_samples(values in prop::collection::vec(0.0..1e9, 20..3000)) {
            let interval = interval_of(&values);
            let exact = Moments::from_values(&values).mean().unwrap();
            prop_assert!((interval.mean - exact).abs() <= exact * 1e-9);
            prop_assert_eq!(interval.count, values.len() as u64);
            prop_assert!(interval.half_width >= 0.0 && interval.effective_count <= values.len() as f64);
            prop_assert!(interval.batches * interval.batch_size <= interval.count);
        }
    }
}
