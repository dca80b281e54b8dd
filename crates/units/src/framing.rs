//! Frames on the wire: exact arithmetic between link rate, frame size, packets per second and goodput.
//!
//! A frame's size includes its 4-byte FCS and not the preamble (RFC 2544 section 9); on the wire it costs 20 bytes more:
//! preamble 7, start delimiter 1, gap 12 (IEEE 802.3). Software (pcap, XDP, `ip -s link`) sees 4 bytes less than the
//! frame's size. *Inner* is the packet as its sender made it, on plain Ethernet; *outer* is what crosses the link
//! measured, with every tag and tunnel header. See `docs/methods/framing.md`.

mod encap;
mod imix;
mod parse;
mod rates;
mod ratio;
mod stack;
mod tcp;

pub use encap::{Encap, EspSuite, Gre, Network};
pub use imix::{Imix, ImixError};
pub use parse::ENCAPSULATIONS;
pub use rates::Rates;
pub use ratio::Ratio;
pub use stack::Encaps;
pub use tcp::{LINUX_MIN_MSS, Room, TcpReach, TcpSegment};

use crate::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Frame sizes of RFC 2544 section 9.1, FCS included.
pub const RFC2544_SIZES: [Bytes; 7] =
    [Bytes(64), Bytes(128), Bytes(256), Bytes(512), Bytes(1024), Bytes(1280), Bytes(1518)];

/// Frame sizes of RFC 8219 section 5.1 beyond RFC 2544's, RFC 5180's among them, FCS included.
pub const RFC8219_FURTHER_SIZES: [Bytes; 6] =
    [Bytes(768), Bytes(1522), Bytes(2048), Bytes(4096), Bytes(8192), Bytes(9216)];

/// The smallest Ethernet frame, FCS included; shorter ones are padded (IEEE 802.3).
pub const MIN_FRAME: Bytes = Bytes(64);

/// The largest value of IP's length field: the whole packet of IPv4 (RFC 791), the payload of IPv6 (RFC 8200).
pub const LARGEST_PACKET: u32 = u16::MAX as u32;

/// The largest payload of a UDP datagram over IPv4: [`LARGEST_PACKET`] less the headers of IPv4 and UDP, 20 and 8 bytes.
pub const LARGEST_UDP_PAYLOAD: u32 = LARGEST_PACKET - 20 - 8;

/// Bytes of a frame on the wire beyond its own: preamble, start delimiter and the least gap.
pub const WIRE_OVERHEAD: Bytes = Bytes(20);

/// The headers and the encapsulation of packets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// The inner IP header.
    pub network: Network,
    /// The transport header.
    pub transport: Transport,
    /// The encapsulation of the inner packet.
    #[serde(default)]
    pub encaps: Encaps,
    /// The largest outer packet of the link; `None` for no limit. It limits WireGuard's padding.
    #[serde(default)]
    pub link_mtu: Option<Bytes>,
}

/// The header between IP and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP: 20 bytes and its options (RFC 9293 section 3.1).
    Tcp {
        /// With timestamps: 10 bytes, padded to 12 (RFC 7323 section 3.2 and its appendix A).
        timestamps: bool,
        /// Bytes of further options, padded to a multiple of 4.
        options: u8,
    },
    /// UDP: 8 bytes (RFC 768).
    Udp,
    /// The payload follows the IP header.
    Raw,
}

impl Transport {
    /// TCP without options.
    pub const TCP: Transport = Transport::Tcp { timestamps: false, options: 0 };
    /// TCP as Linux sends it by default.
    pub const TCP_TIMESTAMPS: Transport = Transport::Tcp { timestamps: true, options: 0 };

    /// Bytes of the header with its options.
    #[must_use]
    pub fn header(self) -> Bytes {
        Bytes(match self {
            Transport::Tcp { timestamps, options } => {
                20 + if timestamps { 12 } else { 0 } + u64::from(options).next_multiple_of(4)
            }
            Transport::Udp => 8,
            Transport::Raw => 0,
        })
    }
}

/// The sizes of one packet in transit, all in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layout {
    /// The application's data in it.
    pub payload: Bytes,
    /// From the inner IP header on.
    pub inner_packet: Bytes,
    /// The inner packet as a frame of plain Ethernet, FCS included, at least 64.
    pub inner_frame: Bytes,
    /// The payload of the link's Ethernet frame, tags not counted: to be compared with the link's MTU.
    pub outer_packet: Bytes,
    /// The frame on the link, FCS and tags included, at least 64.
    pub outer_frame: Bytes,
    /// The outer frame with preamble, start delimiter and gap.
    pub wire: Bytes,
    /// Excess of the outer packet over the link's MTU: such packets are fragmented or dropped.
    pub over_mtu: Bytes,
}

impl Framing {
    /// Checks that the parts belong together.
    ///
    /// # Errors
    /// When the stack does not carry this IP version, or TCP's options exceed 40 bytes (RFC 9293 section 3.1).
    pub fn check(&self) -> Result<(), FramingError> {
        self.encaps.check_inner(self.network)?;
        match self.transport {
            Transport::Tcp { .. } if self.transport.header() > Bytes(60) => {
                Err(FramingError::TcpOptions(self.transport.header().0 - 20))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of the inner IP and transport headers.
    #[must_use]
    pub fn headers(&self) -> Bytes {
        Bytes(self.network.header()) + self.transport.header()
    }

    /// The sizes of a packet with this payload.
    ///
    /// # Errors
    /// The same as [`Framing::check`], or when no IP packet is that large.
    pub fn of_payload(&self, payload: Bytes) -> Result<Layout, FramingError> {
        self.of_packet(payload + self.headers())
    }

    /// The sizes of an inner IP packet of this length.
    ///
    /// # Errors
    /// As [`Framing::of_payload`], or when the headers do not fit.
    pub fn of_packet(&self, packet: Bytes) -> Result<Layout, FramingError> {
        self.check()?;
        if packet > MAX_PACKET {
            return Err(FramingError::TooLarge { packet });
        }
        let needs = self.headers();
        let payload = packet.0.checked_sub(needs.0).ok_or(FramingError::NoRoom { packet, needs })?;
        let wrapped = self.encaps.wrap(packet.0, self.link_mtu.map(|mtu| mtu.0));
        let outer_frame = (wrapped.packet + wrapped.tags + ETHERNET).max(MIN_FRAME.0);
        let over = self.link_mtu.map_or(0, |mtu| wrapped.packet.saturating_sub(mtu.0));
        Ok(Layout {
            payload: Bytes(payload),
            inner_packet: packet,
            inner_frame: Bytes((packet.0 + ETHERNET).max(MIN_FRAME.0)),
            outer_packet: Bytes(wrapped.packet),
            outer_frame: Bytes(outer_frame),
            wire: Bytes(outer_frame) + WIRE_OVERHEAD,
            over_mtu: Bytes(over),
        })
    }

    /// The sizes of a packet that fills an inner frame of this size (FCS included) without padding.
    ///
    /// # Errors
    /// As [`Framing::of_packet`], or when Ethernet has no frame that small.
    pub fn of_frame(&self, inner_frame: Bytes) -> Result<Layout, FramingError> {
        if inner_frame < MIN_FRAME {
            return Err(FramingError::FrameTooSmall { frame: inner_frame });
        }
        self.of_packet(inner_frame.saturating_sub(Bytes(ETHERNET)))
    }

    /// The sizes of the largest packet that crosses a link of this MTU unfragmented.
    ///
    /// # Errors
    /// The same as [`Framing::of_packet`], or when the encapsulation alone exceeds the MTU.
    pub fn of_mtu(&self, link_mtu: Bytes) -> Result<Layout, FramingError> {
        let packet = self
            .encaps
            .inner_mtu(link_mtu)
            .ok_or(FramingError::NoRoom { packet: link_mtu, needs: self.headers() })?;
        let framing = Framing { link_mtu: Some(link_mtu), ..self.clone() };
        framing.of_packet(packet.min(MAX_PACKET))
    }
}

/// Why a frame is not possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FramingError {
    /// An unknown encapsulation.
    #[error(
        "read encapsulation `{0}`: unknown; there are vlan, qinq, pppoe, ipip, ipip6, sit, ip6ip6, gre, gretap, \
         vxlan, geneve, wireguard, esp-gcm, esp-cbc, mpls and srv6, with 6 for an outer IPv6 header as in vxlan6"
    )]
    UnknownEncap(String),
    /// A parameter that the encapsulation does not take.
    #[error("read encapsulation `{encap}`: a parameter does not fit; expected {accepted}")]
    Parameter {
        /// The encapsulation as it was given.
        encap: String,
        /// The accepted parameters.
        accepted: &'static str,
    },
    /// A layer that sits in Ethernet was put in a packet.
    #[error("stack encapsulations: {0} needs an Ethernet frame around it; the layer before carries packets")]
    NeedsEthernet(String),
    /// A layer carries only the other IP version.
    #[error("stack encapsulations: the layer around {inside} carries {network} only")]
    Family {
        /// The packet inside.
        inside: String,
        /// The version that is possible.
        network: Network,
    },
    /// More layers than any packet has.
    #[error("stack encapsulations: {0} layers are too many, the most is 16")]
    TooManyLayers(usize),
    /// TCP has room for 40 bytes of options.
    #[error("build TCP header: {0} bytes of options, the most is 40 (RFC 9293 section 3.1)")]
    TcpOptions(u64),
    /// Ethernet has no such frame.
    #[error("build frame of {} bytes: Ethernet's least is 64, FCS included", frame.0)]
    FrameTooSmall {
        /// The requested frame.
        frame: Bytes,
    },
    /// IP has no such packet.
    #[error("build packet of {} bytes: IP's most is {}", packet.0, MAX_PACKET.0)]
    TooLarge {
        /// The requested packet.
        packet: Bytes,
    },
    /// The headers alone are larger.
    #[error("build packet of {} bytes: its headers alone take {}", packet.0, needs.0)]
    NoRoom {
        /// The requested packet.
        packet: Bytes,
        /// The inner headers.
        needs: Bytes,
    },
    /// A rate of payload is meaningless for packets without payload.
    #[error("derive packet rate from goodput: the packets carry no payload")]
    NoPayload,
    /// A link needs a speed.
    #[error("derive share of the link: its rate is zero")]
    NoLink,
}

/// Bytes of addresses, type and FCS.
const ETHERNET: u64 = 14 + 4;
/// IPv6 without jumbograms: header and 65,535 bytes (RFC 8200 section 3).
const MAX_PACKET: Bytes = Bytes(40 + LARGEST_PACKET as u64);

#[cfg(test)]
mod tests;
