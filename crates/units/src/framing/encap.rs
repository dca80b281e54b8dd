//! The overhead of each encapsulation, its padding, and the packets it can carry.

use super::FramingError;
use serde::{Deserialize, Serialize};

/// The version of the Internet Protocol of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// IPv4 without options: 20 bytes (RFC 791 section 3.1).
    #[default]
    V4,
    /// IPv6 without extension headers: 40 bytes (RFC 8200 section 3).
    V6,
}

/// One layer of encapsulation. Its text form is that of [`std::str::FromStr`] on this type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encap {
    /// An 802.1Q tag: 4 bytes of frame, none of the MTU. `vlan`
    Vlan,
    /// Two tags, 802.1ad: 8 bytes of frame, none of the MTU. `qinq`
    Qinq,
    /// PPPoE and PPP: 8 bytes (RFC 2516). `pppoe`
    Pppoe,
    /// IPv4 in IPv4: 20 bytes (RFC 2003). `ipip`
    Ipip,
    /// IPv4 in IPv6, also DS-Lite: 40 bytes (RFC 2473, RFC 6333). `ipip6`, `ipip6:encaplimit`
    Ipip6 {
        /// With the tunnel encapsulation limit option, Linux's default: 8 bytes more (RFC 2473 section 4.1.1).
        encap_limit: bool,
    },
    /// IPv6 in IPv4: 20 bytes (RFC 4213). `sit`
    Sit,
    /// IPv6 in IPv6: 40 bytes (RFC 2473). `ip6ip6`, `ip6ip6:encaplimit`
    Ip6Ip6 {
        /// With the tunnel encapsulation limit option: 8 bytes more.
        encap_limit: bool,
    },
    /// GRE carrying IP: 4 bytes and the outer IP header (RFC 2784, RFC 2890). `gre`, `gre6:key:csum:seq`
    Gre(Gre),
    /// GRE carrying Ethernet: 14 bytes more, the inner FCS is not carried. `gretap`, `gretap6:key`
    Gretap(Gre),
    /// VXLAN: outer IP, UDP 8, VXLAN 8, inner Ethernet 14 (RFC 7348). `vxlan`, `vxlan6`
    Vxlan(Network),
    /// Geneve: as VXLAN, and options (RFC 8926). `geneve`, `geneve6:8`
    Geneve {
        /// The outer IP header.
        outer: Network,
        /// Bytes of options: a multiple of 4, at most 252.
        options: u8,
    },
    /// WireGuard: outer IP, UDP 8, header 16, tag 16; the packet is padded to 16 bytes but not beyond the tunnel's
    /// MTU (Linux `drivers/net/wireguard/send.c`, `calculate_skb_padding`). `wireguard`, `wireguard6`
    WireGuard(Network),
    /// IPsec ESP in tunnel mode (RFC 4303). `esp-gcm`, `esp6-cbc:natt`
    Esp {
        /// The outer IP header.
        outer: Network,
        /// Its encryption and authentication.
        suite: EspSuite,
        /// In UDP, as behind a NAT: 8 bytes (RFC 3948).
        nat_traversal: bool,
    },
    /// MPLS: 4 bytes per label (RFC 3032). `mpls`, `mpls:2`
    Mpls {
        /// Labels, 1 to 16.
        labels: u8,
    },
    /// SRv6: an IPv6 header of 40 bytes, a routing header of 8 and 16 per segment (RFC 8754). `srv6:2`
    Srv6 {
        /// Segments, 1 to 127.
        segments: u8,
        /// Reduced (RFC 8986 section 5.2): the first segment is the destination address alone, so that a single
        /// segment has no routing header. `srv6:1:reduced`
        reduced: bool,
    },
}

/// The variants of a GRE header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gre {
    /// The outer IP header.
    pub outer: Network,
    /// With a key: 4 bytes.
    pub key: bool,
    /// With a checksum: 4 bytes.
    pub checksum: bool,
    /// With a sequence number: 4 bytes.
    pub sequence: bool,
    /// With the tunnel encapsulation limit option of an outer IPv6 header: 8 bytes.
    pub encap_limit: bool,
}

/// A combination of algorithms of ESP, which sets IV, alignment and integrity value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EspSuite {
    /// AES-GCM with a 16-byte tag (RFC 4106): IV 8, alignment 4, tag 16.
    AesGcm128,
    /// AES-CBC with HMAC-SHA-1-96 (RFC 3602, RFC 2404): IV 16, alignment 16, tag 12.
    AesCbc128Sha1,
}

impl Network {
    /// Bytes of the plain header.
    #[must_use]
    pub const fn header(self) -> u64 {
        match self {
            Network::V4 => 20,
            Network::V6 => 40,
        }
    }
}

/// A layer reduced to the inputs of the arithmetic.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Bytes beside the addresses of the Ethernet frame around it.
    Tag(u64),
    /// A header in front of the packet.
    Around(Header),
}

/// A layer that turns one packet into a longer one.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Bytes added whatever the packet's length.
    bytes: u64,
    padding: Padding,
    /// The IP version of the header itself, when it begins with one.
    pub(super) outer: Option<Network>,
    /// The packets that may be inside.
    pub(super) carries: Carries,
}

#[derive(Clone, Copy)]
enum Padding {
    None,
    /// Packet, padding and the 2 bytes of pad length and next header fill whole blocks.
    Esp {
        block: u64,
    },
    /// Up to whole blocks of 16, but not beyond the tunnel's MTU.
    WireGuard,
}

/// The packets that may be inside a layer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carries {
    Ethernet,
    AnyPacket,
    Only(Network),
}

impl Header {
    /// The length around a packet of `length`, where the layer's own result may be `room` long at most.
    pub(super) fn wrap(self, length: u64, room: Option<u64>) -> u64 {
        self.bytes
            + match self.padding {
                Padding::None => length,
                Padding::Esp { block } => (length + ESP_TRAILER).next_multiple_of(block),
                Padding::WireGuard => {
                    let mtu = room.map_or(u64::MAX, |room| room.saturating_sub(self.bytes));
                    length.next_multiple_of(WIREGUARD_BLOCK).min(mtu).max(length)
                }
            }
    }

    /// The longest packet inside when the result may be `room` long; `None` when not even an empty one fits.
    pub(super) fn inner_room(self, room: u64) -> Option<u64> {
        let left = room.checked_sub(self.bytes)?;
        match self.padding {
            Padding::None | Padding::WireGuard => Some(left),
            Padding::Esp { block } => (left / block * block).checked_sub(ESP_TRAILER),
        }
    }
}

impl Encap {
    pub(super) fn shape(self) -> Shape {
        let Header { bytes, padding, outer, carries } = match self {
            Encap::Vlan => return Shape::Tag(4),
            Encap::Qinq => return Shape::Tag(8),
            Encap::Pppoe => plain(8),
            Encap::Mpls { labels } => plain(4 * u64::from(labels)),
            Encap::Ipip => ip(Network::V4, 0, Carries::Only(Network::V4)),
            Encap::Sit => ip(Network::V4, 0, Carries::Only(Network::V6)),
            Encap::Ipip6 { encap_limit } => ip(Network::V6, limit(encap_limit), Carries::Only(Network::V4)),
            Encap::Ip6Ip6 { encap_limit } => ip(Network::V6, limit(encap_limit), Carries::Only(Network::V6)),
            Encap::Gre(gre) => ip(gre.outer, gre.bytes(), Carries::AnyPacket),
            Encap::Gretap(gre) => ip(gre.outer, gre.bytes() + ETHERNET, Carries::Ethernet),
            Encap::Vxlan(outer) => ip(outer, UDP + 8 + ETHERNET, Carries::Ethernet),
            Encap::Geneve { outer, options } => {
                ip(outer, UDP + 8 + u64::from(options) + ETHERNET, Carries::Ethernet)
            }
            Encap::WireGuard(outer) => {
                Header { padding: Padding::WireGuard, ..ip(outer, UDP + 16 + 16, Carries::AnyPacket) }
            }
            Encap::Esp { outer, suite, nat_traversal } => esp(outer, suite, nat_traversal),
            Encap::Srv6 { segments, reduced } => {
                let listed = u64::from(segments).saturating_sub(u64::from(reduced));
                ip(Network::V6, if listed == 0 { 0 } else { 8 + 16 * listed }, Carries::AnyPacket)
            }
        };
        Shape::Around(Header { bytes, padding, outer, carries })
    }

    /// Does the layer need an Ethernet frame rather than a packet around it?
    pub(super) fn needs_ethernet(self) -> bool {
        matches!(self, Encap::Vlan | Encap::Qinq | Encap::Pppoe)
    }

    /// Refuses counts that no header can hold.
    pub(super) fn check(self) -> Result<(), FramingError> {
        let accepted = match self {
            Encap::Geneve { options, .. } if options % 4 != 0 => {
                "options of a multiple of 4 bytes, at most 252"
            }
            Encap::Mpls { labels } if !(1..=16).contains(&labels) => "1 to 16 labels",
            Encap::Srv6 { segments, .. } if !(1..=127).contains(&segments) => "1 to 127 segments",
            _ => return Ok(()),
        };
        Err(FramingError::Parameter { encap: format!("{self:?}"), accepted })
    }
}

impl Gre {
    fn bytes(self) -> u64 {
        let optional = [self.key, self.checksum, self.sequence].into_iter().map(u64::from).sum::<u64>();
        let limit = limit(self.encap_limit && self.outer == Network::V6);
        4 + 4 * optional + limit
    }
}

fn plain(bytes: u64) -> Header {
    Header { bytes, padding: Padding::None, outer: None, carries: Carries::AnyPacket }
}

fn ip(outer: Network, more: u64, carries: Carries) -> Header {
    Header { bytes: outer.header() + more, padding: Padding::None, outer: Some(outer), carries }
}

fn esp(outer: Network, suite: EspSuite, nat_traversal: bool) -> Header {
    let (iv, block, tag) = match suite {
        EspSuite::AesGcm128 => (8, 4, 16),
        EspSuite::AesCbc128Sha1 => (16, 16, 12),
    };
    let udp = if nat_traversal { UDP } else { 0 };
    let header = ip(outer, udp + ESP_HEADER + iv + tag, Carries::AnyPacket);
    Header { padding: Padding::Esp { block }, ..header }
}

fn limit(present: bool) -> u64 {
    if present { 8 } else { 0 }
}

const ETHERNET: u64 = 14;
const UDP: u64 = 8;
const ESP_HEADER: u64 = 8;
const ESP_TRAILER: u64 = 2;
const WIREGUARD_BLOCK: u64 = 16;
