//! The headers of IP: IPv4 (RFC 791), IPv6 with its extension and fragment headers (RFC 8200).

use super::{be16, be32, header};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The fields of the headers of one IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Length of the whole packet in its header, bytes; 0: more than the field holds (super-packets above 65,535).
    pub length: u32,
    /// All headers of IP, options and extension headers included, bytes.
    pub header: u32,
    /// The protocol of the payload: 6 TCP, 17 UDP, 1 and 58 ICMP.
    pub protocol: u8,
    /// Set for a fragment of a datagram.
    pub fragment: Option<Fragment>,
    /// TTL or hop limit.
    pub ttl: u8,
    /// The headers include that of a jumbogram (RFC 2675), which the kernel adds to super-packets above 65,535 bytes of IPv6 and
    /// which is never on the wire.
    pub jumbo: bool,
}

/// The place of a fragment in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of the datagram: 16 bits with IPv4, 32 with IPv6.
    pub id: u32,
    /// Offset of its payload in the datagram, bytes.
    pub offset: u32,
    /// More fragments follow.
    pub more: bool,
}

/// The protocol in an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PacketProtocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP or ICMPv6.
    Icmp,
    /// Any other.
    Other,
}

impl Ip {
    /// Number of IPv4 within IP (RFC 2003).
    pub const IPV4: u8 = 4;
    /// Number of the header of a fragment of IPv6.
    pub const FRAGMENT: u8 = 44;
    /// Number of TCP among the protocols.
    pub const TCP: u8 = 6;
    /// Number of UDP.
    pub const UDP: u8 = 17;
    /// Number of ICMP.
    pub const ICMP: u8 = 1;
    /// Number of ICMPv6.
    pub const ICMP6: u8 = 58;

    /// Reads the headers at the front of a packet; `None` when it is not an IP packet or they are cut.
    pub fn parse(bytes: &[u8]) -> Option<Ip> {
        match bytes.first()? >> 4 {
            4 => v4(bytes),
            6 => v6(bytes),
            _ => None,
        }
    }

    /// Does the header of TCP, UDP or ICMP follow? It does not in the second and later fragments.
    pub fn begins_transport(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.offset == 0)
    }
}

impl PacketProtocol {
    /// The protocol of this number (IANA "Protocol Numbers").
    pub const fn from_number(number: u8) -> PacketProtocol {
        match number {
            Ip::TCP => PacketProtocol::Tcp,
            Ip::UDP => PacketProtocol::Udp,
            Ip::ICMP | Ip::ICMP6 => PacketProtocol::Icmp,
            _ => PacketProtocol::Other,
        }
    }

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            PacketProtocol::Tcp => "tcp",
            PacketProtocol::Udp => "udp",
            PacketProtocol::Icmp => "icmp",
            PacketProtocol::Other => "other",
        }
    }
}

fn v4(bytes: &[u8]) -> Option<Ip> {
    let length = u32::from(bytes.first()? & 0x0f) * 4;
    if length < header::IPV4 as u32 || bytes.len() < length as usize {
        return None;
    }
    let flags = be16(bytes, 6)?;
    let (more, offset) = (flags & 0x2000 != 0, u32::from(flags & 0x1fff) * 8);
    let id = u32::from(be16(bytes, 4)?);
    let address = |at| be32(bytes, at).map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
    Some(Ip {
        source: address(12)?,
        destination: address(16)?,
        length: u32::from(be16(bytes, 2)?),
        header: length,
        protocol: *bytes.get(9)?,
        fragment: (more || offset > 0).then_some(Fragment { id, offset, more }),
        ttl: *bytes.get(8)?,
        jumbo: false,
    })
}

fn v6(bytes: &[u8]) -> Option<Ip> {
    let address =
        |at: usize| bytes.get(at..)?.first_chunk().copied().map(|octets| IpAddr::V6(Ipv6Addr::from(octets)));
    let payload = u32::from(be16(bytes, 4)?);
    let fixed = header::IPV6 as u32;
    let mut ip = Ip {
        source: address(8)?,
        destination: address(24)?,
        length: if payload == 0 { 0 } else { payload + fixed },
        header: fixed,
        protocol: *bytes.get(6)?,
        fragment: None,
        ttl: *bytes.get(7)?,
        jumbo: false,
    };
    ip.jumbo = payload == 0 && ip.protocol == HOP_BY_HOP && bytes.get(42) == Some(&JUMBO_OPTION);
    while let Some(length) = extension(&mut ip, bytes)? {
        ip.header += length;
    }
    Some(ip)
}

/// Reads the extension header at `ip.header`, if there is one, and returns its length.
fn extension(ip: &mut Ip, bytes: &[u8]) -> Option<Option<u32>> {
    let at = ip.header as usize;
    let length = match ip.protocol {
        // The bytes behind the fragment header of a later fragment are not a header, whatever its number.
        _ if !ip.begins_transport() => return Some(None),
        HOP_BY_HOP | ROUTING | DESTINATION => 8 + u32::from(*bytes.get(at + 1)?) * 8,
        AUTHENTICATION => 8 + u32::from(*bytes.get(at + 1)?) * 4,
        Ip::FRAGMENT => {
            let word = be16(bytes, at + 2)?;
            let (offset, more) = (u32::from(word & 0xfff8), word & 1 != 0);
            // Offset 0 and no more: an atomic fragment (RFC 6946), a whole packet.
            if more || offset > 0 {
                ip.fragment = Some(Fragment { id: be32(bytes, at + 4)?, offset, more });
            }
            8
        }
        _ => return Some(None),
    };
    ip.protocol = *bytes.get(at)?;
    Some(Some(length))
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const JUMBO_OPTION: u8 = 0xc2;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V6: [u8; 40] = {
        let mut header = [0; 40];
        header[0] = 0x60;
        header[5] = 16;
        header[6] = Ip::FRAGMENT;
        header[7] = 64;
        header[23] = 1;
        header[39] = 2;
        header
    };

    #[test]
    fn an_ipv4_fragment_is_read() {
        let bytes = [
            0x45, 0, 0x05, 0x78, 0x12, 0x34, 0x20, 0xb9, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, //
        ];
        let ip = Ip::parse(&bytes).unwrap();
        assert_eq!((ip.length, ip.header, ip.protocol, ip.ttl), (1400, 20, Ip::UDP, 63));
        assert_eq!(ip.fragment, Some(Fragment { id: 0x1234, offset: 1480, more: true }));
        assert_eq!(ip.destination, IpAddr::from([10, 0, 0, 2]));
        assert!(!ip.begins_transport());
    }

    #[test]
    fn an_ipv6_fragment_is_read_behind_other_extensions() {
        let mut bytes = V6.to_vec();
        bytes[6] = HOP_BY_HOP;
        bytes.extend([Ip::FRAGMENT, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend([Ip::UDP, 0, 0, 1, 0xde, 0xad, 0xbe, 0xef]);
        let ip = Ip::parse(&bytes).unwrap();
        assert_eq!((ip.length, ip.header, ip.protocol), (56, 56, Ip::UDP));
        assert_eq!(ip.fragment, Some(Fragment { id: 0xdead_beef, offset: 0, more: true }));
        assert!(ip.begins_transport());
    }

    #[test]
    fn an_atomic_fragment_is_a_whole_packet() {
        let mut bytes = V6.to_vec();
        bytes.extend([Ip::TCP, 0, 0, 0, 0, 0, 0, 1]);
        let ip = Ip::parse(&bytes).unwrap();
        assert_eq!((ip.fragment, ip.protocol, ip.header), (None, Ip::TCP, 48));
    }

    #[test]
    fn the_rest_of_a_later_fragment_is_not_taken_for_headers() {
        let mut bytes = V6.to_vec();
        bytes.extend([DESTINATION, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff]);
        let ip = Ip::parse(&bytes).unwrap();
        assert_eq!((ip.header, ip.protocol), (48, DESTINATION));
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Ip::parse(&bytes);
        }

        #[test]
        fn a_header_that_is_cut_is_refused(cut in 0usize..48) {
            let mut bytes = V6.to_vec();
            bytes.extend([Ip::UDP, 0, 0, 1, 0, 0, 0, 1]);
            prop_assert_eq!(Ip::parse(&bytes[..cut]), None);
        }
    }
}
