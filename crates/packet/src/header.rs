//! Headers: their lengths in bytes, and those of IPv4 (RFC 791) and IPv6 (RFC 8200) in our own packets.

use crate::checksum::Sum;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Ethernet's header: two addresses and the type.
pub const ETHERNET: usize = 14;
/// The tag of a VLAN (IEEE 802.1Q).
pub const VLAN_TAG: usize = 4;
/// Frame check sequence behind a frame, which the kernel does not pass on.
pub const FCS: usize = 4;
/// IPv4's header without options.
pub const IPV4: usize = 20;
/// IPv6's fixed header.
pub const IPV6: usize = 40;
/// IPv6's fragment header.
pub const FRAGMENT: usize = 8;
/// TCP's header without options.
pub const TCP: usize = 20;
/// UDP's header.
pub const UDP: usize = 8;

/// EtherType of IPv4 (IEEE 802 numbers, in IANA's list).
pub const TYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const TYPE_IPV6: u16 = 0x86dd;
/// EtherType of a VLAN tag.
pub const TYPE_VLAN: u16 = 0x8100;

/// The first byte of an IPv4 header without options: version 4, five words.
pub const VERSION_IPV4: u8 = 0x45;
/// The first word of an IPv6 header without traffic class and flow label.
const VERSION_IPV6: u32 = 6 << 28;
/// DF among the flags of IPv4, which precede the fragment's offset.
pub const DONT_FRAGMENT: u16 = 0x4000;
/// MF among the flags of IPv4.
pub const MORE_FRAGMENTS: u16 = 0x2000;

/// Bytes of the IP header without options or extensions.
#[must_use]
pub const fn ip(is_ipv6: bool) -> usize {
    if is_ipv6 { IPV6 } else { IPV4 }
}

/// Bytes of the headers of a fragment.
#[must_use]
pub const fn of_fragment(is_ipv6: bool) -> u32 {
    if is_ipv6 { (IPV6 + FRAGMENT) as u32 } else { IPV4 as u32 }
}

/// Bytes of the headers of IP and TCP without options.
#[must_use]
pub const fn of_tcp(is_ipv6: bool) -> u32 {
    (ip(is_ipv6) + TCP) as u32
}

/// Bytes of the headers of IP and UDP.
#[must_use]
pub const fn of_udp(is_ipv6: bool) -> u32 {
    (ip(is_ipv6) + UDP) as u32
}

/// An IPv4 header without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// The whole packet, bytes.
    pub length: u16,
    /// Identification of the datagram that the fragment belongs to.
    pub id: u16,
    /// Flags, and the offset of the fragment in its datagram, in units of 8 bytes.
    pub place: u16,
    /// Its time to live.
    pub hops: u8,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

impl Ipv4 {
    /// Its bytes, with their checksum.
    #[must_use]
    pub fn bytes(&self) -> [u8; IPV4] {
        let mut bytes = [0; IPV4];
        bytes[0] = VERSION_IPV4;
        bytes[2..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.id.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.place.to_be_bytes());
        bytes[8..10].copy_from_slice(&[self.hops, self.protocol]);
        bytes[12..16].copy_from_slice(&self.source.octets());
        bytes[16..].copy_from_slice(&self.destination.octets());
        let sum = Sum::over(&bytes).checksum();
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// An IPv6 header without traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6 {
    /// Flow label, 20 bits.
    pub label: u32,
    /// Length of the payload, bytes.
    pub payload: u16,
    /// Type of the next header.
    pub next: u8,
    /// Its hop limit.
    pub hops: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
}

impl Ipv6 {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; IPV6] {
        let mut bytes = [0; IPV6];
        bytes[..4].copy_from_slice(&(VERSION_IPV6 | self.label & 0xf_ffff).to_be_bytes());
        bytes[4..6].copy_from_slice(&self.payload.to_be_bytes());
        bytes[6..8].copy_from_slice(&[self.next, self.hops]);
        bytes[8..24].copy_from_slice(&self.source.octets());
        bytes[24..].copy_from_slice(&self.destination.octets());
        bytes
    }
}
