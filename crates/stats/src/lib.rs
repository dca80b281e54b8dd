//! Statistics of measurements: sequence accounting, jitter, histograms, clocks, percentiles and means with their confidence,
//! spread, the warm-up cut, responsiveness.

pub mod batch_means;
pub mod bins;
pub mod centered;
pub mod clock;
pub mod compare;
pub mod distribution;
pub mod exact;
pub mod histogram;
pub mod jitter;
pub mod moments;
pub mod percentile;
pub mod quantile;
#[cfg(test)]
mod random;
pub mod responsiveness;
pub mod rfc8219;
pub mod search;
pub mod sequence;
pub mod shift;
pub mod spread;
pub mod steady;
pub mod student;
pub mod trend;
