//! Frames sent and counted on an interface of this host (native server).

pub use model::dut::{Burst, Pace, Sent};
pub use packet::frame::FrameSpec;

use super::Refusal;
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::units::{Bytes, Nanos};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::net::IpAddr;

/// Requests of the server's machine for an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortRequest {
    /// Open an interface for this session alone; the session's end closes it. Its name is unchecked input of the client. The
    /// numbers are in range; the driver decides whether the interface may be offered and may have these addresses.
    Open(FramesWish),
    /// Carry out this request; an answer follows, except to [`FramesAsk::Stop`]. The numbers are in range; the driver decides
    /// whether the addresses may be sent to.
    Ask {
        /// Number of the request.
        id: u32,
        /// The request.
        ask: FramesAsk,
    },
}

/// The outcome of a [`PortRequest`].
#[derive(Clone, Debug, PartialEq)]
pub enum PortAnswer {
    /// The interface is open.
    Open(Box<FramesPort>),
    /// The interface is not open: the session ends.
    Refused(Refusal),
    /// The reply to a request.
    Reply {
        /// Number of the request.
        id: u32,
        /// The reply.
        reply: FramesReply,
    },
}

/// The interface that a client requests, and its addresses for the test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesWish {
    /// The interface's name on the server.
    pub interface: String,
    /// Addressing that the interface gets in any case, until the session ends.
    #[serde(default)]
    pub addressing: Addressing,
    /// Addressing that it gets in a family in which it has no address.
    #[serde(default)]
    pub fallback: Addressing,
}

/// Addresses of an interface, and of the routers on its link behind which the other port is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Addressing {
    /// Each with the length of its network's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// One of each family at most.
    pub gateways: Vec<IpAddr>,
}

/// An interface of the server, open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesPort {
    /// Its properties.
    pub facts: PortFacts,
    /// Its Ethernet address: the source of its frames, whatever the client requests.
    #[serde(with = "packet::ethernet_address")]
    pub mac: [u8; 6],
    /// Its addresses, IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
    /// Sources of frames that it may support, the fastest first: not tried yet.
    #[serde(deserialize_with = "known")]
    pub sources: Vec<SourceKind>,
    /// Sinks of frames that it may support, the fastest first: not tried yet.
    #[serde(deserialize_with = "known")]
    pub sinks: Vec<SinkKind>,
    /// Changes made to it for the test, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A client's request for the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum FramesAsk {
    /// Report the Ethernet address to which frames for an IP address go.
    NextHop {
        /// The IP address.
        to: IpAddr,
    },
    /// Count frames from now on, and forget what was counted before.
    Count {
        /// The sink.
        sink: SinkKind,
        /// The frames.
        spec: FrameSpec,
        /// Number of frames: those with numbers below this are counted.
        frames: u64,
        /// Record their times of arrival, for delays, their variation and the longest silence; without them each frame costs
        /// less. Absent: record them.
        #[serde(default = "yes")]
        times: bool,
    },
    /// End the counting and report the counts.
    Counted {},
    /// Send frames.
    Send {
        /// The source.
        source: SourceKind,
        /// The frames; the interface's address is used in place of their sender's.
        spec: FrameSpec,
        /// Their number and rate.
        burst: Burst,
    },
    /// Report the frames sent, when all are.
    Sent {},
    /// Stop sending, for the rest of the session. This request has no answer; that for the frames sent has.
    Stop {},
}

/// The reply to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum FramesReply {
    /// Frames for this address go there.
    NextHop {
        /// The Ethernet address.
        #[serde(with = "packet::ethernet_address")]
        mac: [u8; 6],
    },
    /// The counting or sending has begun.
    Begun {},
    /// The counts.
    Counted(Box<FramesCounted>),
    /// The frames sent.
    Sent(Sent),
    /// The request cannot be carried out or is not allowed; the session goes on.
    Refused(Refusal),
}

/// Counts of the frames that arrived at the interface. One-way delays are not reported: sender and receiver have two clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesCounted {
    /// Frames of the trial, duplicates included.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: Bytes,
    /// Frames whose number had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames with numbers too high for the check for duplicates.
    pub unchecked: u64,
    /// Other frames.
    pub others: u64,
    /// The highest number among the frames to be counted that did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_missing: Option<u64>,
    /// Difference of each delay from the one before (RFC 3393), which needs no common clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<FramesVariation>,
    /// The longest time without a frame between two of the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<FramesSilence>,
}

/// A histogram of differences of delays: rows of nanoseconds and counts, ascending. The first and the last are exact, the others
/// to three digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesVariation {
    /// Differences below zero, without their sign.
    pub shorter: Vec<(u64, u64)>,
    /// The other differences.
    pub longer: Vec<(u64, u64)>,
}

/// A time without frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesSilence {
    /// Its length.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Time from its end to the end of the counting.
    #[serde(rename = "ago_ns")]
    pub ago: Nanos,
}

fn yes() -> bool {
    true
}

/// The items of a list that this software knows; a newer peer may have more.
fn known<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let given = Vec::<Value>::deserialize(deserializer)?;
    Ok(given.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect())
}
