//! Disturbances of the measuring thread by the host, and the causes of slow round trips.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A round trip far from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// When its message was sent, since the start of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Duration.
    #[serde(rename = "rtt_ns")]
    pub rtt: Nanos,
    /// Time in it during which this host did not run the measuring thread or had the reply and did not hand it over.
    #[serde(rename = "host_ns")]
    pub host: Nanos,
    /// The cause.
    pub cause: Cause,
}

/// The cause of a slow round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// This host: it held the measuring thread for most of the excess.
    Host,
    /// The path or the far end: this host did not.
    Path,
    /// Not known: the measuring thread slept, and no stamp has the reply's arrival.
    Unknown,
}

/// Disturbances of the measuring thread by this host during the counted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HostNoise {
    /// Times the thread was held for more than 50 µs while it meant to run (a spinning thread knows).
    pub hiccups: u64,
    /// All of them together.
    #[serde(rename = "hiccup_total_ns")]
    pub hiccup_total: Nanos,
    /// The longest.
    #[serde(rename = "hiccup_worst_ns")]
    pub hiccup_worst: Nanos,
    /// Involuntary context switches of the thread.
    pub involuntary_switches: u64,
    /// CPU time the hypervisor gave to others, as a share of all CPUs' time.
    pub steal_share: f64,
    /// CPU time that others than the measuring thread used, and the hypervisor took, as a share of all CPUs' time.
    #[serde(skip_serializing_if = "is_none")]
    pub others_share: f64,
    /// Threads that ran or waited for a CPU, for each CPU: the average of the last minute, or the count at the end if that
    /// is larger (`/proc/loadavg`).
    #[serde(skip_serializing_if = "is_none")]
    pub runnable_per_cpu: f64,
}

fn is_none(share: &f64) -> bool {
    *share <= 0.0
}

impl HostNoise {
    /// Other work keeps the CPUs busy: who waits for one waits for slices of the scheduler.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.others_share >= BUSY || self.steal_share >= STOLEN
    }

    /// How much longer a round trip may take because of other work, where the far end shares the CPUs or has as much of
    /// it: four threads wait for their turn, each behind the threads of its CPU.
    pub fn longest_wait(&self) -> Nanos {
        let queue = (TURNS * self.runnable_per_cpu * SLICE.0 as f64) as u64;
        Nanos(queue).max(ONE_WAIT)
    }

    /// The percentile from which on the round trips of a path are this host's, if there is one: at least that share of them was in
    /// flight when the host delayed the measuring thread for long enough to matter; and the host caused most of the slowest ones.
    #[must_use]
    pub fn spoils(&self, elapsed: Nanos, count: u64, median: Nanos, slowest: &[Outlier]) -> Option<f64> {
        let mean = self.hiccup_total.0 / self.hiccups.max(1);
        let far: Vec<&Outlier> = slowest.iter().filter(|one| one.rtt.0 / 2 >= median.0).collect();
        let by_host = far.iter().filter(|one| one.cause == Cause::Host).count();
        let is_borne_out = far.is_empty() || by_host * 2 > far.len();
        if self.hiccups == 0 || count == 0 || mean.saturating_mul(SHOWS) < median.0 || !is_borne_out {
            return None;
        }
        let in_flight = self.hiccup_total.0 as f64 + self.hiccups as f64 * median.0 as f64;
        let hit = (self.hiccups as f64 / count as f64).min(in_flight / elapsed.0.max(1) as f64);
        SPOILED.iter().find(|(share, _)| hit >= *share).map(|(_, percent)| *percent)
    }
}

/// Share of all CPUs' time.
const BUSY: f64 = 0.5;
const STOLEN: f64 = 0.05;
/// Both threads of both ends, and as many again for waits that are longer than the mean.
const TURNS: f64 = 8.0;
/// Linux runs a thread until the tick behind its slice: 4 ms at 250 Hz.
const SLICE: Nanos = Nanos::from_millis(4);
/// Several slices of the scheduler, as threads get them that wait for one another.
const ONE_WAIT: Nanos = Nanos::from_millis(100);
/// Hiccups whose mean is at least this part of the median show in a round trip.
const SHOWS: u64 = 10;
/// From which share of round trips hit on which percentile is the host's.
const SPOILED: [(f64, f64); 4] = [(0.1, 90.0), (0.01, 99.0), (0.001, 99.9), (0.000_1, 99.99)];
