//! Frames sent and counted on an interface of this host (native server).

use super::{Refusal, WorkReply, WorkRequest};
use crate::hex::EthernetAddress;
use model::dut::{PortFacts, SinkKind, SourceKind};
use model::units::{Bytes, Nanos};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::net::{IpAddr, Ipv6Addr};

/// What the server's machine wants done with an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortRequest {
    /// Open an interface for this session alone; it is closed with the session. Its name is the client's word: no more than that. The numbers are in range;
    /// whether it may be offered, and have these addresses, the driver knows.
    Open(FramesWish),
    /// Do this with it; an answer follows, except to [`FramesAsk::Stop`]. The numbers are in range; whether the addresses may be sent to, the driver knows.
    Ask {
        /// Number of the question.
        id: u32,
        /// What.
        ask: FramesAsk,
    },
}

/// What came of a [`PortRequest`].
#[derive(Clone, Debug, PartialEq)]
pub enum PortAnswer {
    /// The interface is open.
    Open(Box<FramesPort>),
    /// It is not: the session ends.
    Refused(Refusal),
    /// What came of a question.
    Reply {
        /// Of the question.
        id: u32,
        /// What came of it.
        reply: FramesReply,
    },
}

/// The interface that a client wants, and what it is to have for the test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesWish {
    /// The interface as the server calls it.
    pub interface: String,
    /// What it is to have in any case, until the session ends.
    #[serde(default)]
    pub addressing: FramesAddressing,
    /// What it is given in a family of which it has no address.
    #[serde(default)]
    pub fallback: FramesAddressing,
}

/// Addresses of an interface, and of the routers on its link behind which the other port is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesAddressing {
    /// With the lengths of their networks' prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// One of each family at most.
    pub gateways: Vec<IpAddr>,
}

/// An interface of the server, open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesPort {
    /// What it is.
    pub facts: PortFacts,
    /// Its Ethernet address: what its frames come from, whatever the client wants.
    pub mac: EthernetAddress,
    /// Its addresses, IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
    /// What it can send with, the fastest first: not tried yet.
    #[serde(deserialize_with = "known")]
    pub sources: Vec<SourceKind>,
    /// What it can count with, the fastest first: not tried yet.
    #[serde(deserialize_with = "known")]
    pub sinks: Vec<SinkKind>,
    /// What was done to it for the test, in sentences.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a client wants done with the interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum FramesAsk {
    /// Say to which Ethernet address frames for an IP address go.
    NextHop {
        /// The IP address.
        to: IpAddr,
    },
    /// Count frames from now on, and forget what was counted before.
    Count {
        /// How.
        sink: SinkKind,
        /// Which.
        spec: FrameSpec,
        /// Those with numbers below this.
        frames: u64,
        /// And their times of arrival, for delays, their variation and the longest silence; without them each frame costs
        /// less. Absent: with them.
        #[serde(default = "yes")]
        times: bool,
    },
    /// End the counting and say what has come.
    Counted {},
    /// Send frames.
    Send {
        /// How.
        source: SourceKind,
        /// Which.
        spec: FrameSpec,
        /// How many and how fast.
        burst: FrameBurst,
    },
    /// Say what was sent, when all is.
    Sent {},
    /// Stop sending, for the rest of the session. Not answered; what was sent is.
    Stop {},
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum FramesReply {
    /// Frames for this address go there.
    NextHop {
        /// The Ethernet address.
        mac: EthernetAddress,
    },
    /// It counts, or sends.
    Begun {},
    /// What has come.
    Counted(Box<FramesCounted>),
    /// What was sent.
    Sent(FramesSent),
    /// It cannot, or will not; the session goes on.
    Refused(Refusal),
}

/// What the frames of a trial are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpec {
    /// Ethernet address of the sender; when the server sends, it is its interface's, whatever stands here.
    pub source_mac: EthernetAddress,
    /// Ethernet address of the next hop.
    pub destination_mac: EthernetAddress,
    /// From which address.
    pub source: IpAddr,
    /// To which address.
    pub destination: IpAddr,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// From and to which UDP port; absent: ports that change with each frame (RFC 4814 section 4.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<(u16, u16)>,
    /// The number of a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// From and to which end of a tunnel, of IPv4 in IPv6 (RFC 2473): the frames have its header, which their sizes leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<(Ipv6Addr, Ipv6Addr)>,
    /// Sizes with the FCS, sent in turn.
    pub sizes: Vec<Bytes>,
    /// Tells this trial's frames from any others.
    pub tag: u32,
}

/// How many frames, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameBurst {
    /// So many.
    pub frames: u64,
    /// From one to the next; 0: as fast as can be.
    pub interval_ps: u64,
    /// More frames at another pace, at once after these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<FramePace>,
    /// No frame is sent later than this after the first.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// Frames at a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramePace {
    /// How many.
    pub frames: u64,
    /// From one to the next; never 0.
    pub interval_ps: u64,
}

/// What came to the interface. One-way delays are not reported: sender and receiver have two clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesCounted {
    /// Frames of the trial, duplicates included.
    pub frames: u64,
    /// Their bytes without FCS.
    pub bytes: Bytes,
    /// Frames whose number had come before.
    pub duplicates: u64,
    /// Frames that came after one with a higher number.
    pub reordered: u64,
    /// Frames with numbers too high for it to be known whether they came twice.
    pub unchecked: u64,
    /// Frames of others.
    pub others: u64,
    /// The highest number of those to be counted that did not come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_missing: Option<u64>,
    /// How much each delay differs from the one before (RFC 3393), which needs no common clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation: Option<FramesVariation>,
    /// The longest time without a frame between two of the trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<FramesSilence>,
}

/// Differences of delays, counted: rows of nanoseconds and how many there were, from the least on. The first and the last
/// are exact, the others to three digits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesVariation {
    /// Of those below zero, without their sign.
    pub shorter: Vec<(u64, u64)>,
    /// Of the others.
    pub longer: Vec<(u64, u64)>,
}

/// A time without frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesSilence {
    /// How long it was.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// From its end to the end of the counting.
    #[serde(rename = "ago_ns")]
    pub ago: Nanos,
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesSent {
    /// Frames handed to the interface.
    pub frames: u64,
    /// From the first to the last.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// The most that one was behind the time it was due.
    #[serde(rename = "late_ns")]
    pub late: Nanos,
    /// By how much the schedule was moved, since the host held frames up: absent from ends that send those at once.
    #[serde(rename = "held_ns", default)]
    pub held: Nanos,
    /// How often the sending paused, since the host held it up.
    pub gaps: u32,
}

impl FrameBurst {
    /// All frames, of both paces.
    pub fn all_frames(&self) -> u64 {
        self.frames.saturating_add(self.then.map_or(0, |pace| pace.frames))
    }
}

fn yes() -> bool {
    true
}

/// The items of a list that this software knows; a newer peer may have more.
fn known<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let given = Vec::<Value>::deserialize(deserializer)?;
    Ok(given.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect())
}

impl From<PortRequest> for WorkRequest {
    fn from(order: PortRequest) -> WorkRequest {
        WorkRequest::Frames(order)
    }
}

impl From<PortAnswer> for WorkReply {
    fn from(answer: PortAnswer) -> WorkReply {
        WorkReply::Frames(answer)
    }
}
