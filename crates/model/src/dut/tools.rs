//! Senders and counters of a benchmark's frames.

use crate::plan::Direction;
use crate::units::{Bytes, Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Methods of sending frames, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// Made in the kernel by a program (`BPF_PROG_TEST_RUN` with live frames).
    LiveFrames,
    /// `AF_XDP` whose memory the driver uses itself.
    XskZeroCopy,
    /// `AF_XDP` with a copy of each frame.
    XskCopy,
    /// `AF_PACKET`, many frames a call.
    Packet,
}

/// Methods of counting frames, the fastest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SinkKind {
    /// In the driver, by a program (XDP).
    Xdp,
    /// The same in the stack (generic XDP), with any driver.
    XdpGeneric,
    /// `AF_XDP`.
    Xsk,
    /// `AF_PACKET` with a ring (`TPACKET_V3`).
    PacketRing,
    /// `AF_PACKET` with `recvmmsg`.
    Packet,
}

/// Sender and counter of one direction, and the rates that they were shown to reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tools {
    /// From the first port to the second, or back.
    #[serde(rename = "way")]
    pub direction: Direction,
    /// Method of sending frames.
    pub source: SourceKind,
    /// Method of counting them.
    pub sink: SinkKind,
    /// Every pair that was tried with a burst.
    pub tried: Vec<Tried>,
    /// The rate of the same source without the device; absent: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
}

/// The rate of a source over a cable of its own: two virtual interfaces with nothing between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Alone {
    /// The frame, FCS included, bytes.
    pub frame: Bytes,
    /// Frames as the device gets them.
    #[serde(rename = "same_pps")]
    pub same: PacketRate,
    /// Frames of one flow, as the benchmark of generators sends them.
    #[serde(rename = "one_flow_pps")]
    pub one_flow: PacketRate,
}

/// A burst that was sent to see whether a pair of tools works through this device, and how fast it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// Method of sending frames.
    pub source: SourceKind,
    /// Method of counting them.
    pub sink: SinkKind,
    /// The frame, FCS included, bytes.
    pub frame: Bytes,
    /// Frames sent.
    pub sent: u64,
    /// Frames counted.
    pub received: u64,
    /// From the first frame to the last, nanoseconds.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Sent per second, as fast as could be: what this source reaches here.
    pub ceiling_pps: Option<PacketRate>,
    /// Why it could not be used, in words; absent when it works.
    pub refused: Option<String>,
}

impl Display for SourceKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SourceKind::LiveFrames => "live frames (BPF)",
            SourceKind::XskZeroCopy => "AF_XDP without copies",
            SourceKind::XskCopy => "AF_XDP",
            SourceKind::Packet => "AF_PACKET",
        })
    }
}

impl Display for SinkKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SinkKind::Xdp => "XDP in the driver",
            SinkKind::XdpGeneric => "XDP in the stack",
            SinkKind::Xsk => "AF_XDP",
            SinkKind::PacketRing => "AF_PACKET ring",
            SinkKind::Packet => "AF_PACKET",
        })
    }
}
