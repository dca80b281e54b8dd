//! Mean and standard deviation of a stream of values.

use serde::{Deserialize, Serialize};

/// Running mean and variance, without storing the values (Welford 1962; merging by Chan, Golub and LeVeque 1979).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moments {
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl Moments {
    /// The moments of a list of values.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Moments {
        let mut moments = Moments::default();
        values.iter().for_each(|&value| moments.record(value));
        moments
    }

    /// Takes one value.
    pub fn record(&mut self, value: f64) {
        self.record_n(value, 1);
    }

    /// Takes `count` equal values.
    pub fn record_n(&mut self, value: f64, count: u64) {
        self.merge(&Moments { count, mean: value, squares: 0.0 });
    }

    /// Takes the values of another.
    pub fn merge(&mut self, other: &Moments) {
        if other.count == 0 {
            return;
        }
        let total = self.count.saturating_add(other.count);
        let share = other.count as f64 / total as f64;
        let distance = other.mean - self.mean;
        self.mean += distance * share;
        self.squares += other.squares + distance * distance * share * self.count as f64;
        self.count = total;
    }

    /// The same with a more exact mean.
    #[must_use]
    pub fn with_mean(self, mean: f64) -> Moments {
        Moments { mean, ..self }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arithmetic mean; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The sample variance (divided by one less than the count); `None` below two values.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// The sample standard deviation; `None` below two values.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}
