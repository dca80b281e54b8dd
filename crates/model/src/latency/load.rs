//! Round trips under load: idle, then with streams up, down and both directions.

use crate::plan::Directions;
use crate::stats::distribution::Distribution;
use crate::stats::responsiveness::Responsiveness;
use crate::units::{BitRate, Nanos};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The load put beside the round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LoadResult {
    /// Each phase, the idle one first.
    pub phases: Vec<LoadPhase>,
    /// RTT, loss and throughput on one time axis.
    pub series: Vec<LoadPoint>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LoadPhase {
    /// The load; absent: idle.
    pub load: Option<Directions>,
    /// Round trips from the send call whose message was sent in the phase, its first moments (a quarter of it, at most a
    /// second, in which connections start and queues fill) not counted.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Messages sent in the same time.
    pub sent: u64,
    /// Those of them whose replies did not come in time.
    pub lost: u64,
    /// Payload received at the far end per second, in the same time.
    #[serde(rename = "up_bps")]
    pub up: Option<BitRate>,
    /// Payload received here per second, likewise.
    #[serde(rename = "down_bps")]
    pub down: Option<BitRate>,
    /// Round trips per minute in the phase, where both kinds of its probes were taken.
    #[serde(default)]
    pub responsiveness: Option<Responsiveness>,
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LoadPoint {
    /// End of the moment, since the start of the run. The first begins there, each other where the one before ends.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The load at that time, also when its last data only just arrives; absent: idle.
    pub load: Option<Directions>,
    /// Round trips whose message was sent in the moment.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Messages of the moment whose replies did not come in time.
    pub lost: u64,
    /// Payload received at the far end per second.
    #[serde(rename = "up_bps")]
    pub up: Option<BitRate>,
    /// Payload received here per second.
    #[serde(rename = "down_bps")]
    pub down: Option<BitRate>,
}
