//! Round trips under load: idle, then with streams up, down and both directions.

use crate::limit::Limit;
use crate::plan::{Direction, Directions};
use crate::stats::distribution::Distribution;
use crate::stats::responsiveness::Responsiveness;
use crate::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// The load put beside the round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The results of a run under load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadResult {
    /// Each phase, the idle one first.
    pub phases: Vec<LoadPhase>,
    /// RTT, loss and throughput on one time axis.
    pub series: Vec<LoadPoint>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Payload of a full segment of the load, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// The limit of the load in its direction, and thereby the place of its queue: only for a load in one direction, where a phase
    /// of UDP after it could show that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Box<Limit>>,
}

impl LoadPhase {
    /// The direction of its load, where it is one alone.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        match self.load? {
            Directions::Up => Some(Direction::Up),
            Directions::Down => Some(Direction::Down),
            Directions::Both => None,
        }
    }

    /// Goodput of its load in a direction.
    #[must_use]
    pub fn goodput(&self, direction: Direction) -> Option<BitRate> {
        direction.choose(self.up, self.down)
    }
}

impl LoadResult {
    /// The round trips of the idle phase.
    #[must_use]
    pub fn idle(&self) -> Option<Distribution> {
        self.phases.iter().find(|phase| phase.load.is_none())?.rtt.filter(|rtt| rtt.count > 0)
    }

    /// The phase with load in this direction alone.
    #[must_use]
    pub fn alone(&self, direction: Direction) -> Option<&LoadPhase> {
        self.phases.iter().find(|phase| phase.direction() == Some(direction))
    }
}

/// One moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
