//! Durations and repetitions of the trials of a benchmark.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Durations and repetitions of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Times {
    /// Before and after each trial, in nanoseconds (RFC 2544 section 23): learning, residual frames, settling.
    #[serde(rename = "pause_ns")]
    pub pause: Nanos,
    /// Sending as fast as can be in each direction, before anything else, in nanoseconds.
    #[serde(rename = "flood_ns")]
    pub flood: Nanos,
    /// A step of frame loss, each part of recovery, reset, and a run of delay variation, in nanoseconds.
    #[serde(rename = "trial_ns")]
    pub trial: Nanos,
    /// One search for all rates at most, with its pauses, in nanoseconds. What is not found by then is unfinished.
    #[serde(rename = "search_ns")]
    pub search: Nanos,
    /// Repetitions of the search.
    pub search_repeats: u32,
    /// A stream whose latency is measured, in nanoseconds.
    #[serde(rename = "latency_ns")]
    pub latency: Nanos,
    /// Repetitions of the latency measurement at each load.
    pub latency_repeats: u32,
    /// Number of steps of frame loss from 0 to 100 %.
    pub loss_steps: u32,
    /// The longest burst, in nanoseconds.
    #[serde(rename = "burst_ns")]
    pub burst: Nanos,
    /// Repetitions of the search for the longest burst without loss.
    pub burst_repeats: u32,
    /// A burst fails when it lost frames this many times in a row (RFC 9004's loss verification).
    pub burst_verify: u32,
    /// Repetitions of recovery and reset.
    pub repeats: u32,
    /// A trial at the most load, in nanoseconds.
    #[serde(rename = "mrr_ns")]
    pub mrr: Nanos,
    /// Number of these trials.
    pub mrr_repeats: u32,
    /// Repetitions of the measurement of delay variation.
    pub variation_repeats: u32,
    /// A step of a service's configuration test, in nanoseconds.
    #[serde(rename = "service_step_ns")]
    pub service_step: Nanos,
    /// A service's performance test, in nanoseconds; 0 for none. It is run in pieces of [`SERVICE_PIECE`].
    #[serde(rename = "service_ns")]
    pub service: Nanos,
}

impl Times {
    /// The times that RFC 2544, RFC 9004, RFC 6201, RFC 8219 and ITU-T Y.1564 require.
    #[must_use]
    pub fn standard() -> Times {
        Times {
            pause: Nanos::from_secs(2 + 2 + 2 + 5),
            flood: Nanos::from_secs(1),
            trial: Nanos::from_secs(60),
            search: Nanos::from_secs(3600),
            search_repeats: 1,
            latency: Nanos::from_secs(120),
            latency_repeats: 20,
            loss_steps: 10,
            burst: Nanos::from_secs(2),
            burst_repeats: 50,
            burst_verify: 2,
            repeats: 10,
            mrr: Nanos::from_secs(1),
            mrr_repeats: 10,
            variation_repeats: 20,
            service_step: Nanos::from_secs(10),
            service: Nanos::from_secs(900),
        }
    }

    /// For a look: moments instead of minutes, and nearly nothing repeated. Not conforming to any standard.
    #[must_use]
    pub fn quick() -> Times {
        Times {
            pause: Nanos::from_millis(300),
            flood: Nanos::from_millis(300),
            trial: Nanos::from_millis(500),
            search: Nanos::from_secs(20),
            search_repeats: 1,
            latency: Nanos::from_secs(1),
            latency_repeats: 1,
            loss_steps: 10,
            burst: Nanos::from_millis(500),
            burst_repeats: 1,
            burst_verify: 1,
            repeats: 1,
            mrr: Nanos::from_millis(500),
            mrr_repeats: 3,
            variation_repeats: 1,
            service_step: Nanos::from_secs(1),
            service: Nanos::ZERO,
        }
    }

    /// The pieces of a service's performance test.
    #[must_use]
    pub fn service_pieces(&self) -> u32 {
        u32::try_from(self.service.0.div_ceil(SERVICE_PIECE.0)).unwrap_or(u32::MAX)
    }
}

/// A piece of a service's performance test: one sample of its availability, as long as what begins and ends unavailable
/// time (ITU-T Y.1563).
pub const SERVICE_PIECE: Nanos = Nanos::from_secs(10);
