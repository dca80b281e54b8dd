//! Statistics of what was measured: sequence accounting, jitter, histograms, clock offset, quantiles, spread.

mod clock;
mod histogram;
mod jitter;
mod quantile;
mod sequence;
mod spread;

pub use clock::{ClockFit, ClockSync, Exchange, OneWay};
pub use histogram::{Distribution, Histogram, HistogramError};
pub use jitter::Jitter;
pub use quantile::{median, nearest_rank, rank};
pub use sequence::{SequenceCounts, SequenceTotals, SequenceTracker};
pub use spread::{Moments, jain_fairness, median_absolute_deviation};
