//! The figures that RFC 8219 requires: typical and worst-case latency, delay variation, and the summary over runs.

use super::quantile::{median, nearest_rank};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Latency of the tagged frames of a run (RFC 8219 section 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Latency {
    /// Typical latency: the median, in nanoseconds.
    #[serde(rename = "typical_ns")]
    pub typical: Nanos,
    /// Worst-case latency: the 99.9th percentile, in nanoseconds.
    #[serde(rename = "worst_case_ns")]
    pub worst_case: Nanos,
    /// Number of frames; RFC 8219 requires 500 or more.
    pub frames: u64,
}

impl Latency {
    /// The latency from one-way delays in any order; `None` without delays.
    #[must_use]
    pub fn from_delays(delays: &[Nanos]) -> Option<Latency> {
        let sorted = sorted(delays);
        Some(Latency {
            typical: middle(&sorted)?,
            worst_case: nearest_rank(&sorted, WORST_CASE)?,
            frames: delays.len() as u64,
        })
    }
}

/// Packet delay variation (RFC 8219 section 7.3.1, RFC 5481): the 99.9th percentile of the delays less the least, over all frames
/// of a run of 60 seconds or more; `None` without delays.
#[must_use]
pub fn packet_delay_variation(delays: &[Nanos]) -> Option<Nanos> {
    let sorted = sorted(delays);
    Some(nearest_rank(&sorted, WORST_CASE)? - *sorted.first()?)
}

/// Inter-packet delay variation (RFC 8219 section 7.3.2, RFC 3393): each delay less the one before, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct InterPacketVariation {
    /// The least.
    pub min_ns: i64,
    /// The middle one, or the lower of the two in the middle.
    pub median_ns: i64,
    /// The most.
    pub max_ns: i64,
}

impl InterPacketVariation {
    /// The variation from delays in the order of sending; `None` with fewer than two.
    #[must_use]
    pub fn from_delays(delays: &[Nanos]) -> Option<InterPacketVariation> {
        let signed = |nanos: Nanos| i64::try_from(nanos.0).unwrap_or(i64::MAX);
        let mut steps: Vec<i64> = delays.windows(2).map(|pair| signed(pair[1]) - signed(pair[0])).collect();
        steps.sort_unstable();
        Some(InterPacketVariation {
            min_ns: *steps.first()?,
            median_ns: nearest_rank(&steps, 0.5)?,
            max_ns: *steps.last()?,
        })
    }
}

/// A figure over repeated runs: median, first and 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OverRuns {
    /// Number of runs.
    pub runs: u64,
    /// The middle run, or the mean of the two in the middle.
    pub median: f64,
    /// The first percentile; with fewer than 101 runs the least.
    pub p1: f64,
    /// The 99th percentile; with fewer than 100 runs the most.
    pub p99: f64,
    /// There were fewer runs than the 20 that RFC 8219 requires.
    pub too_few: bool,
}

impl OverRuns {
    /// The summary of one figure of each run, in any unit; `None` without runs.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<OverRuns> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(OverRuns {
            runs: values.len() as u64,
            median: median(values)?,
            p1: nearest_rank(&sorted, 0.01)?,
            p99: nearest_rank(&sorted, 0.99)?,
            too_few: values.len() < RUNS_NEEDED,
        })
    }
}

/// Repetitions that RFC 8219 requires.
pub const RUNS_NEEDED: usize = 20;

fn sorted(delays: &[Nanos]) -> Vec<Nanos> {
    let mut sorted = delays.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The middle of sorted values, or the mean of the two middle ones rounded down.
fn middle(sorted: &[Nanos]) -> Option<Nanos> {
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(lower + Nanos((upper - lower).0 / 2))
}

const WORST_CASE: f64 = 0.999;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn up_to(count: u64) -> Vec<Nanos> {
        (1..=count).rev().map(Nanos).collect()
    }

    /// The 99.9th percentile is the value with index `ceil(0.999 n) - 1` of the sorted ones.
    #[test]
    fn typical_and_worst_case_latency() {
        let latency = |count| Latency::from_delays(&up_to(count)).unwrap();
        assert_eq!(latency(500).worst_case, Nanos(500));
        assert_eq!(latency(1000).worst_case, Nanos(999));
        assert_eq!(latency(1001).worst_case, Nanos::from_micros(1));
        assert_eq!(latency(20_000).worst_case, Nanos(19_980));
        assert_eq!((latency(501).typical, latency(500).typical), (Nanos(251), Nanos(250)));
        assert_eq!(Latency::from_delays(&[]), None);
    }

    #[test]
    fn delay_variation_of_both_kinds() {
        assert_eq!(packet_delay_variation(&up_to(1000)), Some(Nanos(998)));
        assert_eq!(packet_delay_variation(&[]), None);
        let delays = [10, 14, 11, 11, 20].map(Nanos);
        let steps = InterPacketVariation { min_ns: -3, median_ns: 0, max_ns: 9 };
        assert_eq!(InterPacketVariation::from_delays(&delays), Some(steps));
        assert_eq!(InterPacketVariation::from_delays(&delays[..1]), None);
    }

    #[test]
    fn twenty_runs_have_their_ends_as_percentiles() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let summary = OverRuns::from_values(&values).unwrap();
        assert_eq!((summary.median, summary.p1, summary.p99, summary.too_few), (10.5, 1.0, 20.0, false));
        assert!(OverRuns::from_values(&values[..19]).unwrap().too_few);
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        let summary = OverRuns::from_values(&many).unwrap();
        assert_eq!((summary.p1, summary.p99), (2.0, 198.0));
        assert_eq!(OverRuns::from_values(&[]), None);
    }

    proptest! {
        #[test]
        fn the_formula_is_that_of_the_standard(delays in prop::collection::vec(any::<u64>(), 1..3000)) {
            let delays: Vec<Nanos> = delays.into_iter().map(Nanos).collect();
            let mut sorted = delays.clone();
            sorted.sort_unstable();
            let index = (999 * sorted.len()).div_ceil(1000) - 1;
            prop_assert_eq!(Latency::from_delays(&delays).unwrap().worst_case, sorted[index]);
            prop_assert_eq!(packet_delay_variation(&delays), Some(sorted[index] - sorted[0]));
            prop_assert_eq!(InterPacketVariation::from_delays(&delays).is_some(), delays.len() > 1);
        }
    }
}
