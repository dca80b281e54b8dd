//! Frames that TCP can fill: the MSS of a frame, with and without timestamps, and the limit of Linux.

use super::{Encaps, Framing, FramingError, Network, Transport};
use crate::Bytes;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// The smallest MSS that Linux lets a socket request (`TCP_MIN_MSS` in `include/net/tcp.h`): `TCP_MAXSEG` with less fails with
/// `EINVAL`.
pub const LINUX_MIN_MSS: Bytes = Bytes(88);

/// The room left for payload, or the missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// This many bytes are left.
    Fits(Bytes),
    /// The headers exceed the frame by this many bytes: there is no such segment.
    Missing(Bytes),
}

/// Can TCP on Linux send such frames?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TcpReach {
    /// `TCP_MAXSEG` or the MTU makes Linux send them.
    Reachable,
    /// The MSS would be below [`LINUX_MIN_MSS`]; measure with UDP.
    BelowLinuxMinimum,
    /// The headers leave no byte of payload.
    NoRoom,
}

/// A TCP segment in a frame of a certain size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpSegment {
    /// The IP packet, which is the MTU that leads to such frames.
    pub mtu: Bytes,
    /// Payload without options, as announced by the MSS option (RFC 6691).
    pub mss: Room,
    /// Payload with timestamps, 12 bytes less: Linux's default.
    pub mss_timestamps: Room,
    /// Can Linux send it?
    pub reach: TcpReach,
}

impl TcpSegment {
    /// The segment that fills an inner frame of this size.
    ///
    /// # Errors
    /// When there is no such frame.
    pub fn of_frame(network: Network, inner_frame: Bytes) -> Result<TcpSegment, FramingError> {
        let raw = Framing { network, transport: Transport::Raw, encaps: Encaps::NONE, link_mtu: None };
        Ok(TcpSegment::of_mtu(network, raw.of_frame(inner_frame)?.inner_packet))
    }

    /// The segment that fills a packet of this size.
    #[must_use]
    pub fn of_mtu(network: Network, mtu: Bytes) -> TcpSegment {
        let room = |transport: Transport| {
            let headers = Bytes(network.header()) + transport.header();
            match mtu.0.checked_sub(headers.0) {
                Some(left) => Room::Fits(Bytes(left)),
                None => Room::Missing(headers.saturating_sub(mtu)),
            }
        };
        let mss = room(Transport::TCP);
        let reach = match mss {
            Room::Fits(mss) if mss >= LINUX_MIN_MSS => TcpReach::Reachable,
            Room::Fits(Bytes(1..)) => TcpReach::BelowLinuxMinimum,
            Room::Fits(_) | Room::Missing(_) => TcpReach::NoRoom,
        };
        TcpSegment { mtu, mss, mss_timestamps: room(Transport::TCP_TIMESTAMPS), reach }
    }
}

impl Room {
    /// The bytes left, none when they are missing.
    #[must_use]
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Room::Fits(bytes) => Some(bytes),
            Room::Missing(_) => None,
        }
    }
}

impl Display for Room {
    /// Prints a plain number, negative when bytes are missing.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Room::Fits(bytes) => bytes.0.fmt(f),
            Room::Missing(bytes) => write!(f, "-{}", bytes.0),
        }
    }
}
