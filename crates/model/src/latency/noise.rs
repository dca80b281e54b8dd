//! What the host did to the measuring thread, and whose fault far round trips are.

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A round trip far from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// When its message was sent, since the start of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// How long it took.
    #[serde(rename = "rtt_ns")]
    pub rtt: Nanos,
    /// Time in it during which this host did not run the measuring thread or had the reply and did not hand it over.
    #[serde(rename = "host_ns")]
    pub host: Nanos,
    /// Whose fault.
    pub cause: Cause,
}

/// Whose fault a far round trip is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// This host: it held the measuring thread for most of the excess.
    Host,
    /// The path or the far end: this host did not.
    Path,
    /// It cannot be told: the measuring thread slept, and nothing saw when the reply came.
    Unknown,
}

/// What this host did to the measuring thread during the counted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
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
}
