//! The frames of a test: Ethernet, IPv4 or IPv6, UDP, and a signature with sequence number and time of sending.
//!
//! Signature, at the beginning of the payload, in network byte order: 4 bytes tag of the trial, 8 bytes sequence number from
//! 0 on, and where there is room 6 bytes of the sender's `CLOCK_MONOTONIC` in nanoseconds, modulo 2^48.

mod template;
mod writer;

pub use template::Template;
pub use writer::Writer;

use crate::header;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr};
use thiserror::Error;
use units::Bytes;
use units::framing::LARGEST_PACKET;

/// The frames of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpec {
    /// Ethernet address of the sender.
    #[serde(with = "crate::ethernet_address")]
    pub source_mac: [u8; 6],
    /// Ethernet address of the next hop.
    #[serde(with = "crate::ethernet_address")]
    pub destination_mac: [u8; 6],
    /// Source address; of the same family as `destination`.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// Source and destination UDP port of the one flow; absent: ports that change with each frame in no order, from 1024 to 65535
    /// and from 1 to 49151 (RFC 4814 section 4.5). The same sequence number has the same ports in every trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<(u16, u16)>,
    /// The VLAN tag (IEEE 802.1Q), if any: its number, without priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Source and destination of the IPv6 header around packets of IPv4, if any (RFC 2473, RFC 6333): the form of such a frame in
    /// a tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outer: Option<(Ipv6Addr, Ipv6Addr)>,
    /// Sizes with the FCS, which the kernel does not see, sent in turn: 64 and more, with IPv6 78 and more, with a tag 4 more.
    /// The outer header does not count: a frame has the same size before a tunnel and in it, where it is 40 bytes longer.
    pub sizes: Vec<Bytes>,
    /// Distinguishes the frames of this trial from any others.
    pub tag: u32,
}

impl FrameSpec {
    /// Are the frames IPv6?
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        self.destination.is_ipv6()
    }

    /// Is there room for the time of sending in every frame: 64 bytes with IPv4, 84 with IPv6, with a tag 4 more?
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.shortest() >= self.offsets().payload + TIMED
    }

    /// The sizes of the frames as they are sent, in turn, with FCS and outer header.
    pub fn whole_sizes(&self) -> impl Iterator<Item = Bytes> {
        let outer = if self.outer.is_some() { header::IPV6 as u64 } else { 0 };
        self.sizes.iter().map(move |size| Bytes(size.0.saturating_add(outer)))
    }

    /// Length of each frame without the FCS, in bytes.
    pub fn lengths(&self) -> impl Iterator<Item = usize> {
        self.whole_sizes()
            .map(|size| usize::try_from(size.0).unwrap_or(usize::MAX).saturating_sub(header::FCS))
    }

    /// Do frames differ in size?
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.sizes.iter().any(|size| *size != self.sizes[0])
    }

    /// Offsets of the parts of each frame.
    #[must_use]
    pub fn offsets(&self) -> Offsets {
        let packet = header::ETHERNET + if self.vlan.is_some() { header::VLAN_TAG } else { 0 };
        let ip = packet + if self.outer.is_some() { header::IPV6 } else { 0 };
        let udp = ip + header::ip(self.is_ipv6());
        Offsets { packet, ip, udp, payload: udp + header::UDP }
    }

    fn shortest(&self) -> usize {
        self.lengths().min().unwrap_or(0)
    }

    /// The EtherType of the frames.
    #[must_use]
    pub fn ether_type(&self) -> u16 {
        if self.is_ipv6() || self.outer.is_some() { header::TYPE_IPV6 } else { header::TYPE_IPV4 }
    }

    fn check(&self) -> Result<(), FrameError> {
        let Offsets { packet, ip, payload, .. } = self.offsets();
        let least = (payload + UNTIMED).max(LEAST + ip - packet);
        if self.source.is_ipv6() != self.destination.is_ipv6() {
            Err(FrameError::Families)
        } else if self.is_ipv6() && self.outer.is_some() {
            Err(FrameError::Tunnel)
        } else if self.sizes.is_empty() || self.sizes.len() > MOST_SIZES {
            Err(FrameError::Sizes)
        } else if self.shortest() < least {
            Err(FrameError::TooSmall)
        } else if self.lengths().any(|length| length > MOST) {
            Err(FrameError::TooLarge)
        } else if self.vlan.is_some_and(|vlan| vlan > 4094) {
            Err(FrameError::Vlan)
        } else {
            Ok(())
        }
    }
}

/// Why frames are not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Source and destination address are of different families.
    #[error("source and destination are of different families")]
    Families,
    /// An outer IPv6 header goes around packets of IPv4 only.
    #[error("the tunnel is one for IPv4")]
    Tunnel,
    /// There are no sizes, or too many.
    #[error("there must be 1 to {MOST_SIZES} sizes")]
    Sizes,
    /// Headers and signature, or Ethernet's smallest frame, take more.
    #[error("too small: the signature needs 64 bytes with IPv4, 78 with IPv6, 4 more with a tag")]
    TooSmall,
    /// The size exceeds the largest IP packet.
    #[error("too large: a packet holds {LARGEST_PACKET} bytes at most")]
    TooLarge,
    /// The number is outside of IEEE 802.1Q.
    #[error("no VLAN has a number above 4094")]
    Vlan,
}

/// Offsets of headers and payload in a frame.
#[derive(Clone, Copy, Debug)]
pub struct Offsets {
    /// The first IP header, which is the outer one where there are two.
    pub packet: usize,
    /// The IP header before UDP.
    pub ip: usize,
    /// The header of UDP.
    pub udp: usize,
    /// The payload of UDP: the signature.
    pub payload: usize,
}

/// Ports that change with each frame: sixteen bits of the product of its number and [`SCATTER`], spread over a range.
#[derive(Clone, Copy, Debug)]
pub struct PortRange {
    /// The bits of the product: those above this many.
    pub shift: u32,
    /// The first port of the range.
    pub first: u16,
    /// Number of ports.
    pub count: u32,
}

/// The source ports of frames.
pub const SOURCE_PORTS: PortRange = PortRange { shift: 48, first: 1024, count: 64_512 };
/// Their destination ports.
pub const DESTINATION_PORTS: PortRange = PortRange { shift: 32, first: 1, count: 49_151 };
/// An odd number without pattern: 2^64 divided by the golden ratio.
pub const SCATTER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes of the signature without time: tag and sequence number.
pub const UNTIMED: usize = 4 + 8;
/// The same with time.
pub const TIMED: usize = UNTIMED + 6;
/// Ethernet's smallest frame, without FCS.
const LEAST: usize = 60;
/// The largest IP packet, with an Ethernet header before it.
const MOST: usize = LARGEST_PACKET as usize + header::ETHERNET;
const MOST_SIZES: usize = 4096;

#[cfg(test)]
mod tests;
