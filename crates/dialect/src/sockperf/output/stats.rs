//! SockPerf's statistics, each by sockperf's own definition and with its own rounding, so that they agree to the last
//! digit with what it prints for the same times. For what the figures are worth, see `model::stats`: sockperf's
//! confidence interval takes the round trips for independent, and its percentiles are given of any count.

use super::Observation;
use model::units::Nanos;

/// The figures of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The sorted values: round trips, or halves of them. Never empty.
    pub sorted: Vec<Nanos>,
    /// Sum ÷ count, cut to a nanosecond. For halves it is half of the round trips' average, cut again.
    pub average: Nanos,
    /// Standard deviation of the sample (n − 1), rounded to a nanosecond; 0 of one value, as are the others.
    pub std_dev: Nanos,
    /// Mean distance from the mean.
    pub mean_ad: Nanos,
    /// Median distance from the median × 1.4826: the standard deviation, if the distribution were normal.
    pub median_ad: Nanos,
    /// Half of the distance between the quartiles.
    pub siqr: Nanos,
}

/// A confidence interval of the average, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end; can be negative.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Figures {
    /// Makes the figures of round trips (`full_rtt`), or halves of them; `None` without observations.
    #[must_use]
    pub fn from_observations(observations: &[Observation], full_rtt: bool) -> Option<Figures> {
        let parts = if full_rtt { 1 } else { 2 };
        let trip = |observed: &Observation| observed.received.saturating_sub(observed.sent).0;
        let mut sorted: Vec<u64> = observations.iter().map(|observed| trip(observed) / parts).collect();
        sorted.sort_unstable();
        let count = u128::try_from(sorted.len()).ok().filter(|count| *count > 0)?;
        let sum: u128 = observations.iter().map(|observed| u128::from(trip(observed))).sum();
        let average = u64::try_from(sum / count).unwrap_or(u64::MAX) / parts;
        let mean = sorted.iter().map(|value| *value as f64).sum::<f64>() / sorted.len() as f64;
        Some(Figures {
            average: Nanos(average),
            std_dev: Nanos(std_dev(&sorted, mean)),
            mean_ad: Nanos(mean_ad(&sorted, mean)),
            median_ad: Nanos(median_ad(&sorted)),
            siqr: Nanos(siqr(&sorted)),
            sorted: sorted.into_iter().map(Nanos).collect(),
        })
    }

    /// Coefficient of variation: standard deviation ÷ average; NaN when both are 0.
    #[must_use]
    pub fn cv(&self) -> f64 {
        self.std_dev.0 as f64 / self.average.0 as f64
    }

    /// Standard error of the average, in microseconds: standard deviation ÷ √n.
    #[must_use]
    pub fn std_error(&self) -> f64 {
        super::micros(self.std_dev) / (self.sorted.len() as f64).sqrt()
    }

    /// Confidence interval of the average, at a level in percent, as if it were normal and the observations independent.
    #[must_use]
    pub fn interval(&self, level: u32) -> Interval {
        let half = inverse_normal(1.0 - (1.0 - f64::from(level) / 100.0) / 2.0) * self.std_error();
        let average = super::micros(self.average);
        Interval { low: average - half, high: average + half }
    }

    /// The value at this share by sockperf's index rule, which gives none where there are too few.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<Nanos> {
        index(share, self.sorted.len()).map(|index| self.sorted[index])
    }
}

/// floor(0.5 + share × n) − 1; `None` below 0.
fn index(share: f64, count: usize) -> Option<usize> {
    ((0.5 + share * count as f64) as usize).checked_sub(1).map(|index| index.min(count - 1))
}

fn std_dev(values: &[u64], mean: f64) -> u64 {
    if values.len() < 2 {
        return 0;
    }
    let squares: f64 = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
    ((squares / (values.len() - 1) as f64).sqrt() + 0.5) as u64
}

fn mean_ad(values: &[u64], mean: f64) -> u64 {
    let distance: f64 = values.iter().map(|value| (*value as f64 - mean).abs()).sum();
    (distance / values.len() as f64) as u64
}

fn median_ad(sorted: &[u64]) -> u64 {
    let median = middle(sorted);
    let mut distances: Vec<u64> = sorted.iter().map(|value| value.abs_diff(median)).collect();
    distances.sort_unstable();
    (middle(&distances) as f64 * TO_SIGMA) as u64
}

/// The median of at least one value.
fn middle(sorted: &[u64]) -> u64 {
    let upper = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[upper] } else { u64::midpoint(sorted[upper - 1], sorted[upper]) }
}

fn siqr(sorted: &[u64]) -> u64 {
    if sorted.len() < 2 {
        return 0;
    }
    let at = |share| index(share, sorted.len()).map_or(0, |index| sorted[index]);
    (at(0.75) - at(0.25)) / 2
}

/// The normal distribution's quantile of `p` in 0.5…1, by Abramowitz and Stegun 26.2.23 with the constants of
/// arXiv:1002.0567 that sockperf uses: wrong by less than 8 × 10⁻⁵.
fn inverse_normal(p: f64) -> f64 {
    let t = (-2.0 * (1.0 - p).ln()).sqrt();
    let above = (C[2] * t + C[1]) * t + C[0];
    let below = ((D[2] * t + D[1]) * t + D[0]) * t + 1.0;
    t - above / below
}

const C: [f64; 3] = [2.653_962_002_601_684_5, 1.561_533_700_212_080_3, 0.061_146_735_765_196_99];
const D: [f64; 3] = [1.904_875_182_836_498_7, 0.454_055_536_444_233_5, 0.009_547_745_327_068_945];
/// 1 ÷ the normal distribution's upper quartile.
const TO_SIGMA: f64 = 1.482_602_218_51;

#[cfg(test)]
mod tests {
    use super::*;

    fn trips(nanos: &[u64]) -> Vec<Observation> {
        nanos
            .iter()
            .map(|trip| Observation { sent: Nanos::from_nanos(50), received: Nanos::from_nanos(50 + trip) })
            .collect()
    }

    #[test]
    fn of_a_few_by_hand() {
        let figures =
            Figures::from_observations(&trips(&[20, 40, 40, 50, 50, 50, 70, 90, 100, 10]), true).unwrap();
        // Mean 52, distances from it 208, squared 7160 (÷ 9: 28.2²), median 50, distances from it 0 0 0 10 10 20 30 40 40 50.
        assert_eq!(figures.average, Nanos::from_nanos(52));
        assert_eq!((figures.std_dev, figures.mean_ad), (Nanos::from_nanos(28), Nanos::from_nanos(20)));
        assert_eq!(figures.median_ad, Nanos::from_nanos(22), "15 × 1.4826, cut");
        // The values at index 7 and 2: 70 and 40.
        assert_eq!(figures.siqr, Nanos::from_nanos(15));
    }

    #[test]
    fn halves_are_cut_one_by_one() {
        let figures = Figures::from_observations(&trips(&[3, 5, 8]), false).unwrap();
        assert_eq!(figures.sorted, [Nanos::from_nanos(1), Nanos::from_nanos(2), Nanos::from_nanos(4)]);
        assert_eq!(figures.average, Nanos::from_nanos(2), "half of 16 ÷ 3, cut");
    }

    #[test]
    fn one_and_none() {
        let figures = Figures::from_observations(&trips(&[7]), true).unwrap();
        let spread = [figures.std_dev, figures.mean_ad, figures.median_ad, figures.siqr];
        assert_eq!((figures.average, spread), (Nanos::from_nanos(7), [Nanos::ZERO; 4]));
        assert_eq!((figures.percentile(0.5), figures.percentile(0.25)), (Some(Nanos::from_nanos(7)), None));
        assert_eq!(Figures::from_observations(&[], true), None);
    }

    #[test]
    fn percentiles_by_the_index_rule() {
        let figures = Figures::from_observations(&trips(&(1..=261).collect::<Vec<_>>()), true).unwrap();
        for (share, value) in [(0.999, 261), (0.99, 258), (0.9, 235), (0.75, 196), (0.5, 131), (0.25, 65)] {
            assert_eq!(figures.percentile(share), Some(Nanos(value)), "{share}");
        }
    }

    #[test]
    fn the_quantile_is_that_of_the_tables() {
        for (level, z) in [(99.0, 2.575_829), (95.0, 1.959_964), (90.0, 1.644_854), (50.0, 0.674_490)] {
            let got = inverse_normal(1.0 - (1.0 - level / 100.0) / 2.0);
            assert!(f64::abs(got - z) < 8e-5, "{level}: {got}");
        }
    }
}
