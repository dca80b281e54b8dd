//! Messages of ICMP (RFC 792) and ICMPv6 (RFC 4443): echo requests and replies, and packet too big.

use crate::{Ip, header};
use std::net::SocketAddr;

/// Bytes of the header of an echo request, a reply, or an error.
pub const HEADER: usize = 8;
/// ICMP's type of an echo reply.
pub const ECHO_REPLY: u8 = 0;
/// ICMP's type of an echo request.
pub const ECHO_REQUEST: u8 = 8;
/// ICMPv6's type of an echo request.
pub const ECHO_REQUEST_V6: u8 = 128;
/// ICMPv6's type of an echo reply.
pub const ECHO_REPLY_V6: u8 = 129;
/// ICMP's type of a message that a packet's time to live has expired.
pub const TIME_EXCEEDED: u8 = 11;
/// ICMPv6's type of a message that a packet's hop limit was reached.
pub const TIME_EXCEEDED_V6: u8 = 3;
/// ICMPv6's type of a message that a packet is too big for the next link.
pub const PACKET_TOO_BIG_V6: u8 = 2;

/// An echo request or reply: its identifier and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Identifier of the sender.
    pub ident: u16,
    /// Sequence number.
    pub sequence: u16,
}

impl Echo {
    /// A request with this payload; its checksum is zero, to be filled in.
    #[must_use]
    pub fn request(&self, is_ipv6: bool, payload: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER + payload.len());
        message.extend([if is_ipv6 { ECHO_REQUEST_V6 } else { ECHO_REQUEST }, 0, 0, 0]);
        message.extend(self.ident.to_be_bytes());
        message.extend(self.sequence.to_be_bytes());
        message.extend(payload);
        message
    }

    /// Reads a request of either family, as an error quotes it, and its payload; `None` for anything else.
    #[must_use]
    pub fn of_request(message: &[u8]) -> Option<(Echo, &[u8])> {
        Echo::read(message, &[ECHO_REQUEST, ECHO_REQUEST_V6])
    }

    /// Reads a reply, and its payload; `None` for anything else.
    #[must_use]
    pub fn of_reply(is_ipv6: bool, message: &[u8]) -> Option<(Echo, &[u8])> {
        Echo::read(message, &[if is_ipv6 { ECHO_REPLY_V6 } else { ECHO_REPLY }])
    }

    fn read<'a>(message: &'a [u8], kinds: &[u8]) -> Option<(Echo, &'a [u8])> {
        let ([kind, _, _, _, a, b, c, d], payload) = message.split_first_chunk::<HEADER>()?;
        let echo = Echo { ident: u16::from_be_bytes([*a, *b]), sequence: u16::from_be_bytes([*c, *d]) };
        kinds.contains(kind).then_some((echo, payload))
    }
}

/// The packet that an ICMP error quotes, as it was where the error arose (RFC 792, RFC 4443 section 2.4 c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quote<'a> {
    /// The error's type.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// The MTU that a packet-too-big message reports.
    pub mtu: u32,
    /// TTL or hop limit of the quoted packet.
    pub hops: u8,
    /// The UDP socket that sent it.
    pub source: SocketAddr,
    /// Destination of the datagram.
    pub destination: SocketAddr,
    /// The front of its payload.
    pub payload: &'a [u8],
}

impl Quote<'_> {
    /// Reads an ICMPv6 message that a UDP datagram is too big for the next link (RFC 4443 section 3.2); `None` for another one.
    #[must_use]
    pub fn too_big(message: &[u8]) -> Option<Quote<'_>> {
        Quote::of_udp(true, message).filter(|quote| quote.kind == PACKET_TOO_BIG_V6)
    }

    /// Reads an error about a UDP datagram; `None` for another message, and for one that quotes no ports.
    #[must_use]
    pub fn of_udp(is_ipv6: bool, message: &[u8]) -> Option<Quote<'_>> {
        let ([kind, code, _, _, rest @ ..], packet) = message.split_first_chunk::<HEADER>()?;
        let ip = Ip::parse(packet)?;
        // Our own datagrams have no extension headers.
        let has_extensions = is_ipv6 && ip.header as usize > header::IPV6;
        if ip.protocol != Ip::UDP || ip.source.is_ipv6() != is_ipv6 || has_extensions {
            return None;
        }
        let udp = packet.get(ip.header as usize..)?;
        let ([a, b, c, d, ..], payload) = udp.split_first_chunk::<{ header::UDP }>()?;
        let source = SocketAddr::new(ip.source, u16::from_be_bytes([*a, *b]));
        let destination = SocketAddr::new(ip.destination, u16::from_be_bytes([*c, *d]));
        let word = u32::from_be_bytes(*rest);
        let mtu = if is_ipv6 { word } else { word & 0xffff };
        Some(Quote { kind: *kind, code: *code, mtu, hops: ip.ttl, source, destination, payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HandMade;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_as_it_was_made() {
        let echo = Echo { ident: 0x0102, sequence: 0x0304 };
        for is_ipv6 in [false, true] {
            let message = echo.request(is_ipv6, b"payload");
            assert_eq!(message[1..8], [0, 0, 0, 1, 2, 3, 4]);
            assert_eq!(Echo::of_request(&message), Some((echo, &b"payload"[..])));
            assert_eq!(Echo::of_reply(is_ipv6, &message), None);
            assert_eq!(Echo::of_request(&message[..7]), None);
        }
        assert_eq!(Echo::of_reply(false, &[0, 0, 0, 0, 1, 2, 3, 4]), Some((echo, &[][..])));
        assert_eq!(Echo::of_reply(true, &[129, 0, 0, 0, 1, 2, 3, 4, 5]), Some((echo, &[5][..])));
        assert_eq!(Echo::of_reply(true, &[0; 8]), None, "a reply of the other family");
    }

    #[test]
    fn an_error_quotes_its_datagram_as_it_was() {
        for (ends, is_ipv6) in
            [(["192.0.2.1:9", "192.0.2.2:33434"], false), (["[2001:db8::1]:9", "[2001:db8::2]:33434"], true)]
        {
            let [source, destination] = ends.map(|end| end.parse().unwrap());
            let made = HandMade { source, destination, payload: b"quoted", id: 0, hops: 7, label: 0 };
            let packet = made.whole().unwrap();
            let message = [&[3, 4, 0, 0, 0, 0, 0x05, 0x78], &packet[..]].concat();
            let quote = Quote::of_udp(is_ipv6, &message).unwrap();
            let payload = &b"quoted"[..];
            assert_eq!(quote, Quote { kind: 3, code: 4, mtu: 1400, hops: 7, source, destination, payload });
            let ports = crate::header::ip(is_ipv6) + HEADER + 8;
            assert_eq!(Quote::of_udp(is_ipv6, &message[..ports]).unwrap().payload, b"");
            assert_eq!(Quote::of_udp(is_ipv6, &message[..ports - 1]), None, "cut short");
            assert_eq!(Quote::of_udp(!is_ipv6, &message), None, "the other family");
        }
    }

    #[test]
    fn a_packet_too_big_identifies_its_datagram() {
        let ends = ["[2001:db8::1]:9", "[2001:db8::2]:5210"].map(|end| end.parse().unwrap());
        let [source, destination] = ends;
        let packet =
            HandMade { source, destination, payload: b"quoted", id: 0, hops: 64, label: 0 }.whole().unwrap();
        let message = [&[2, 0, 0, 0, 0, 0, 0x05, 0x78], &packet[..52]].concat();
        let payload = &b"quot"[..];
        let reported = Quote { kind: 2, code: 0, mtu: 1400, hops: 64, source, destination, payload };
        assert_eq!(Quote::too_big(&message), Some(reported));
        for (at, value) in [(0, 3), (8, 0x45), (14, 6)] {
            let mut other = message.clone();
            other[at] = value;
            assert_eq!(Quote::too_big(&other), None, "byte {at}");
        }
        assert_eq!(Quote::too_big(&message[..55]), None, "cut short");
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (Quote::too_big(&bytes), Echo::of_request(&bytes), Echo::of_reply(true, &bytes));
            let _ = (Quote::of_udp(false, &bytes), Quote::of_udp(true, &bytes));
        }
    }
}
