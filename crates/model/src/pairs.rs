//! Several pairs of client and server that ran at once, on purpose, as one measurement.

use crate::time::WallTime;
use crate::units::{BitRate, Nanos, PacketRate};
use serde::{Deserialize, Serialize};

/// The sum of the pairs of a run; each pair is one of its tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pairs {
    /// Requested pairs.
    pub asked: u64,
    /// The sum over the time in which all of them ran; absent when fewer than two did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Share of that time in the time from the first begin to the last end.
    pub overlap_share: f64,
    /// Pairs that ended early or never began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenPair>,
    /// Attempts with fewer pairs, where the number was searched for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PairStep>,
    /// Why no more were tried, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The common start of pairs of several hosts; absent: all are of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_start: Option<CommonStart>,
}

/// A start at the same time on several hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommonStart {
    /// When all were to begin, clock of the coordinator.
    pub at: WallTime,
    /// From the first pair's first data to the last one's.
    #[serde(rename = "skew_ns")]
    pub skew: Nanos,
    /// Error of the skew: the two largest errors of the clocks' offsets.
    #[serde(rename = "skew_error_ns")]
    pub skew_error: Nanos,
    /// The time in which all ran, as a share of the longest pair.
    pub overlap_share: f64,
    /// Every requested pair.
    pub members: Vec<HostPair>,
    /// Why the sum must not be trusted; absent: it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
}

/// A pair of two hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostPair {
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Which of them measured.
    pub agent: String,
    /// Its run, among the tests; absent: it has no result.
    pub run: Option<String>,
    /// The fencing token of its lease; 0: it held none.
    pub lease_token: u64,
    /// Offset of the agent's clock from the coordinator's, in nanoseconds; positive: it is ahead.
    pub clock_ahead_ns: i64,
    /// Error of that offset.
    pub clock_error_ns: Nanos,
}

/// A pair that did not do its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BrokenPair {
    /// Its number, from 1.
    pub pair: u64,
    /// The reason.
    pub reason: String,
}

/// A number of pairs, and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairStep {
    /// Number of pairs.
    pub pairs: u64,
    /// Payload per second, both directions.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
}

impl Pairs {
    /// Payload per second of both directions together.
    pub fn goodput(&self) -> BitRate {
        let directions = self.together.iter().flat_map(|sum| [sum.up, sum.down]);
        BitRate(directions.flatten().map(|direction: PairsDirection| direction.goodput.0).sum())
    }
}

/// Several runs as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Together {
    /// Number of runs.
    pub runs: u64,
    /// The time that all of them ran; zero when there was none.
    #[serde(rename = "overlap_ns")]
    pub overlap: Nanos,
    /// From the first begin to the last end.
    #[serde(rename = "whole_ns")]
    pub whole: Nanos,
    /// Whether every run has its begin; otherwise all are assumed to have begun at once.
    pub clocked: bool,
    /// Client to server.
    pub up: Option<PairsDirection>,
    /// Server to client.
    pub down: Option<PairsDirection>,
}

/// The sum of one direction over the overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairsDirection {
    /// Runs that carried data in this direction.
    pub runs: u64,
    /// Payload per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// On the wire; absent when the packets of one are not known.
    #[serde(rename = "wire_bps")]
    pub wire: Option<BitRate>,
    /// Frames per second, likewise.
    pub packets_per_second: Option<PacketRate>,
    /// Share of the link's line rate.
    pub line_rate_share: Option<f64>,
}
