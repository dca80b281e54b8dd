//! Round trips under load: idle, then with streams up, down and both ways.

use crate::plan::Directions;
use crate::stats::histogram::Distribution;
use crate::stats::responsiveness::Responsiveness;
use crate::units::{BitRate, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load put beside the round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The phases after the idle one, in order.
    pub phases: Vec<Directions>,
    /// Length of each phase.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Parallel TCP streams in each direction.
    pub streams: u32,
    /// Congestion control of these streams; absent: the kernel's default.
    pub congestion: Option<String>,
}

/// What a run under load gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadResult {
    /// Each phase, the idle one first.
    pub phases: Vec<LoadPhase>,
    /// RTT, loss and throughput on one time axis.
    pub series: Vec<LoadPoint>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhase {
    /// The load; absent: idle.
    pub load: Option<Directions>,
    /// Round trips in the phase, its first moments (until the load stood) not counted.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Messages sent.
    pub sent: u64,
    /// Replies that never came.
    pub lost: u64,
    /// Payload received at the far end per second.
    #[serde(rename = "up_bps")]
    pub up: Option<BitRate>,
    /// Payload received here per second.
    #[serde(rename = "down_bps")]
    pub down: Option<BitRate>,
    /// Round trips per minute in the phase, where both kinds of its probes were taken.
    #[serde(default)]
    pub responsiveness: Option<Responsiveness>,
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPoint {
    /// End of the moment, since the start of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The load at that time; absent: idle.
    pub load: Option<Directions>,
    /// Round trips.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Replies that never came.
    pub lost: u64,
    /// Payload sent up per second.
    #[serde(rename = "up_bps")]
    pub up: Option<BitRate>,
    /// Payload received down per second.
    #[serde(rename = "down_bps")]
    pub down: Option<BitRate>,
}
