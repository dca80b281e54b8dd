//! The requests of a benchmark to its tester, one after the other, and the tester's observations.

use super::Test;
use crate::framing::{Imix, Network, RFC2544_SIZES};
use crate::plan::{Direction, Directions};
use crate::search::{Load, Trial, TrialResult};
use crate::stats::distribution::Distribution;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The frames of a stream: of one size, or a mix in a fixed sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frames {
    /// The size in bytes, or the name of the mix: `imix`, or a genome of RFC 6985.
    pub name: String,
    /// Sizes with the FCS, sent in turn, bytes.
    pub sizes: Vec<Bytes>,
}

/// The frames sent through a device in one row of the results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stream {
    /// The IP version.
    pub network: Network,
    /// The frames.
    pub frames: Frames,
    /// Up, down, or both at once at the same load each (RFC 2544 section 14).
    #[serde(rename = "ways")]
    pub directions: Directions,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRequest {
    /// For which test.
    pub test: Test,
    /// The frames to send.
    pub stream: Stream,
    /// The manner of sending.
    pub action: Action,
}

/// A manner of sending frames.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends as fast as the generator can for so long, one direction after the other: shows the generator's ceiling, and that the
    /// device forwards at all.
    Flood(Nanos),
    /// Frames at a load for a time.
    Trial(Trial),
    /// The first load, and at once the second one (RFC 2544 section 26.5).
    Overload {
        /// Too much.
        overload: Trial,
        /// Half of it.
        relief: Trial,
    },
    /// Frames at a load; in the middle of it the device is reset (RFC 2544 section 26.6).
    Reset(Trial),
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Sum over the directions. For a flood `intended` is the number of frames sent.
    pub result: TrialResult,
    /// Each direction.
    #[serde(rename = "ways")]
    pub directions: Vec<DirectionObservation>,
}

/// The result of a request in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionObservation {
    /// From the first port to the second, or back.
    #[serde(rename = "way")]
    pub direction: Direction,
    /// Frames sent and received.
    pub result: TrialResult,
    /// From the first frame sent to the last, nanoseconds.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Frames that came after one with a higher number.
    pub reordered: u64,
    /// One-way delays of all frames; absent where the two ends have two clocks, or a frame has no room for the time.
    pub delays: Option<Distribution>,
    /// RFC 3393's variation of them: least, median and most, nanoseconds.
    pub variation: Option<crate::stats::rfc8219::InterPacketVariation>,
    /// The number of the last frame that was lost.
    pub last_lost: Option<u64>,
    /// The longest time without a frame between two of the trial, nanoseconds.
    #[serde(rename = "silence_ns")]
    pub silence: Option<Nanos>,
    /// Frames came again after the reset. Always so where there was none.
    pub resumed: bool,
}

impl Action {
    /// Duration, without pauses.
    pub fn time(&self, stream: &Stream) -> Nanos {
        match self {
            Action::Flood(time) => time.saturating_mul(stream.direction_count()),
            Action::Trial(trial) | Action::Reset(trial) => trial.duration,
            Action::Overload { overload, relief } => overload.duration + relief.duration,
        }
    }

    /// The load in each direction, at first; `None` for as fast as can be.
    #[must_use]
    pub fn load(&self) -> Option<Load> {
        match self {
            Action::Flood(_) => None,
            Action::Trial(trial) | Action::Reset(trial) | Action::Overload { overload: trial, .. } => {
                Some(trial.load)
            }
        }
    }
}

impl Frames {
    /// All of one size.
    #[must_use]
    pub fn for_payload(size: Bytes) -> Frames {
        Frames { name: size.0.to_string(), sizes: vec![size] }
    }

    /// A mix by its name.
    #[must_use]
    pub fn mix(name: &str, mix: &Imix) -> Frames {
        Frames { name: name.to_owned(), sizes: mix.sequence().to_vec() }
    }

    /// Whether sizes differ.
    #[must_use]
    pub fn is_mix(&self) -> bool {
        self.sizes.iter().any(|size| *size != self.sizes[0])
    }

    /// The mean size, bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sizes.iter().map(|size| size.0 as f64).sum::<f64>() / self.sizes.len().max(1) as f64
    }
}

impl Stream {
    /// The frame sizes of RFC 2544 section 9.1; of IPv6 (RFC 5180 section 5.1) the least is 78, for the test's signature.
    #[must_use]
    pub fn standard_sizes(network: Network) -> Vec<Bytes> {
        let least = least_frame(network);
        RFC2544_SIZES.iter().map(|size| (*size).max(least)).collect()
    }

    /// Number of directions that are loaded at once: 1 or 2.
    #[must_use]
    pub fn direction_count(&self) -> u64 {
        if self.directions == Directions::Both { 2 } else { 1 }
    }
}

/// The name of a row: `IPv4 64`, `IPv6 imix`.
impl Display for Stream {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.network, self.frames.name)
    }
}

/// The least frame with headers and the test's signature, FCS included.
pub(super) fn least_frame(network: Network) -> Bytes {
    match network {
        Network::V4 => Bytes(64),
        Network::V6 => Bytes(78),
    }
}
