//! UDP datagrams as IP packets for raw sockets, whole or fragmented (RFC 791 section 3.2, RFC 8200 section 4.5).

use super::checksum::Sum;
use super::{Ip, header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A datagram to be sent as packets through a raw socket.
#[derive(Clone, Copy, Debug)]
pub struct HandMade<'a> {
    /// Its sender.
    pub source: SocketAddr,
    /// Its receiver, of the same family; IPv4 is not mapped into IPv6.
    pub destination: SocketAddr,
    /// Its payload.
    pub payload: &'a [u8],
    /// Identification of its fragments; 16 bits of it with IPv4. Each needs a datagram of its own.
    pub id: u32,
    /// TTL or hop limit.
    pub hops: u8,
    /// IPv6's flow label, 20 bits.
    pub label: u32,
}

impl HandMade<'_> {
    /// One packet, fragments forbidden. `None`: the families differ, or it is longer than an IP packet.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let udp = self.udp()?;
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.v4(from, to, &udp, header::DONT_FRAGMENT),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.v6(from, to, Ip::UDP, &udp),
            _ => None,
        }
    }

    /// Its fragments of at most `mtu` bytes, at least one, in ascending order; see [`HandMade::whole`] for `None`.
    pub fn fragments(&self, mtu: u32) -> Option<Vec<Vec<u8>>> {
        let udp = self.udp()?;
        let piece = mtu.checked_sub(header::of_fragment(self.source.is_ipv6()))? as usize / 8 * 8;
        if piece == 0 {
            return None;
        }
        let last = udp.len().div_ceil(piece) - 1;
        let cut = udp.chunks(piece).enumerate();
        cut.map(|(index, bytes)| self.fragment(bytes, index * piece, index < last)).collect()
    }

    fn fragment(&self, bytes: &[u8], offset: usize, more: bool) -> Option<Vec<u8>> {
        let units = u16::try_from(offset / 8).ok().filter(|units| *units < 1 << 13)?;
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                self.v4(from, to, bytes, units | if more { header::MORE_FRAGMENTS } else { 0 })
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let place = units << 3 | u16::from(more);
                let extension = [&[Ip::UDP, 0], &place.to_be_bytes()[..], &self.id.to_be_bytes()].concat();
                self.v6(from, to, Ip::FRAGMENT, &[&extension, bytes].concat())
            }
            _ => None,
        }
    }

    fn v4(&self, from: Ipv4Addr, to: Ipv4Addr, content: &[u8], place: u16) -> Option<Vec<u8>> {
        let length = u16::try_from(header::IPV4 + content.len()).ok()?;
        let (id, hops, protocol) = (self.id as u16, self.hops, Ip::UDP);
        let header = header::Ipv4 { length, id, place, hops, protocol, source: from, destination: to };
        Some([&header.bytes(), content].concat())
    }

    fn v6(&self, from: Ipv6Addr, to: Ipv6Addr, next: u8, content: &[u8]) -> Option<Vec<u8>> {
        let payload = u16::try_from(content.len()).ok()?;
        let header =
            header::Ipv6 { label: self.label, payload, next, hops: self.hops, source: from, destination: to };
        Some([&header.bytes(), content].concat())
    }

    /// Header and payload of UDP with its checksum (RFC 768; RFC 8200 section 8.1).
    fn udp(&self) -> Option<Vec<u8>> {
        let length = u16::try_from(header::UDP + self.payload.len()).ok()?;
        let mut udp = [self.source.port(), self.destination.port(), length, 0].map(u16::to_be_bytes).concat();
        udp.extend(self.payload);
        let pseudo = Sum::pseudo_header(self.source.ip(), self.destination.ip(), Ip::UDP, length.into());
        let sum = (pseudo + Sum::over(&udp)).of_udp();
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        Some(udp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Add;

    /// The checksum of parts, each but the last of an even length: 0 where theirs is included and right.
    fn checksum(parts: &[&[u8]]) -> u16 {
        parts.iter().map(|part| Sum::over(part)).fold(Sum::default(), Sum::add).checksum()
    }

    fn packet<'a>(source: &str, destination: &str, payload: &'a [u8]) -> HandMade<'a> {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        HandMade { source, destination, payload, id: 0x1234_5678, hops: 64, label: 0x1_2345 }
    }

    #[test]
    fn a_whole_packet_sums_to_zero() {
        let v4 = packet("192.0.2.1:1000", "192.0.2.2:2000", b"odd").whole().unwrap();
        assert_eq!((v4.len(), &v4[..8]), (31, &[0x45, 0, 0, 31, 0x56, 0x78, 0x40, 0][..]));
        assert_eq!(checksum(&[&v4[..20]]), 0);
        assert_eq!(checksum(&[&v4[12..20], &[0, 17, 0, 11], &v4[20..]]), 0);
        let v6 = packet("[2001:db8::1]:1000", "[2001:db8::2]:2000", b"even").whole().unwrap();
        assert_eq!((v6.len(), &v6[..8]), (52, &[0x60, 1, 0x23, 0x45, 0, 12, 17, 64][..]));
        assert_eq!(checksum(&[&v6[8..40], &[0, 17, 0, 12], &v6[40..]]), 0);
    }

    #[test]
    fn fragments_join_to_the_datagram_again() {
        let payload: Vec<u8> = (0..1000).map(|n| n as u8).collect();
        for (from, to, mtu, header) in
            [("192.0.2.1:1", "192.0.2.2:2", 524, 20), ("[2001:db8::1]:1", "[2001:db8::2]:2", 552, 48)]
        {
            let packet = packet(from, to, &payload);
            let all = packet.fragments(mtu).unwrap();
            assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [header + 504, header + 504]);
            let joined: Vec<u8> = all.iter().flat_map(|piece| piece[header..].to_vec()).collect();
            assert_eq!(joined, packet.udp().unwrap());
            let place =
                |piece: &[u8]| if header == 20 { [piece[6], piece[7]] } else { [piece[42], piece[43]] };
            let (first, second) = if header == 20 { ([0x20, 0], [0, 63]) } else { ([0, 1], [1, 0xf8]) };
            assert_eq!([place(&all[0]), place(&all[1])], [first, second]);
        }
    }

    #[test]
    fn what_cannot_be_is_none() {
        assert!(packet("192.0.2.1:1", "[2001:db8::2]:2", b"").whole().is_none());
        assert!(packet("192.0.2.1:1", "192.0.2.2:2", &[0; 65_510]).whole().is_none());
        assert!(packet("192.0.2.1:1", "192.0.2.2:2", b"x").fragments(27).is_none());
    }
}
