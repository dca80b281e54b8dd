//! Statistics of what was measured: sequence accounting, jitter, histograms, clock offset, quantiles, spread.

pub mod batch_means;
pub mod clock;
pub mod histogram;
pub mod jitter;
pub mod one_way;
pub mod percentile;
pub mod quantile;
pub mod responsiveness;
pub mod sequence;
pub mod spread;
pub mod steady;
pub mod student;
