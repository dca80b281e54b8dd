//! What a benchmark asks of its tester, one order after the other, and what it is told.

use super::Test;
use crate::framing::{Imix, Network, RFC2544_SIZES};
use crate::plan::{Direction, Directions};
use crate::search::{Load, Trial, TrialResult};
use crate::stats::distribution::Distribution;
use crate::units::{Bytes, Nanos};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The frames of a stream: of one size, or a mix in a fixed sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Frames {
    /// The size in bytes, or the name of the mix: `imix`, or a genome of RFC 6985.
    pub name: String,
    /// Sizes with the FCS, sent in turn, bytes.
    pub sizes: Vec<Bytes>,
}

/// What is sent through a device in one row of the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
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
pub struct Order {
    /// For which test.
    pub test: Test,
    /// What is sent.
    pub stream: Stream,
    /// How.
    pub action: Action,
}

/// How frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// As fast as the generator can for so long, one way after the other: what it reaches, and that the device forwards at all.
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

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Summed over the ways. Of a flood `intended` is what was sent.
    pub result: TrialResult,
    /// Each way.
    #[serde(rename = "ways")]
    pub directions: Vec<DirectionObservation>,
}

/// What came of an order in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DirectionObservation {
    /// From the first port to the second, or back.
    #[serde(rename = "way")]
    pub direction: Direction,
    /// What was sent and came.
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
    /// How long it is, without pauses.
    #[must_use]
    pub fn time(&self, stream: &Stream) -> Nanos {
        match self {
            Action::Flood(time) => time.saturating_mul(stream.way_count()),
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
    /// A row for each of these sizes.
    #[must_use]
    pub fn of_sizes(network: Network, sizes: &[Bytes], directions: Directions) -> Vec<Stream> {
        sizes.iter().map(|size| Stream { network, frames: Frames::for_payload(*size), directions }).collect()
    }

    /// The frame sizes of RFC 2544 section 9.1; of IPv6 (RFC 5180 section 5.1) the least is 78, for the test's signature.
    #[must_use]
    pub fn standard_sizes(network: Network) -> Vec<Bytes> {
        let least = least_frame(network);
        RFC2544_SIZES.iter().map(|size| (*size).max(least)).collect()
    }

    /// The ways at once: 1 or 2.
    #[must_use]
    pub fn way_count(&self) -> u64 {
        if self.directions == Directions::Both { 2 } else { 1 }
    }
}

/// What a row is called: `IPv4 64`, `IPv6 imix`.
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
