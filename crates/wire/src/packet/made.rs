//! UDP datagrams as IP packets made by hand, whole or cut into fragments (RFC 791 section 3.2, RFC 8200 section 4.5).

use super::checksum::Sum;
use model::path::FragmentShape;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A datagram to be sent as packets made by hand.
#[derive(Clone, Copy, Debug)]
pub struct HandMade<'a> {
    /// Its sender.
    pub source: SocketAddr,
    /// Its receiver, of the same family; IPv4 as such, not mapped into IPv6.
    pub destination: SocketAddr,
    /// Its payload.
    pub payload: &'a [u8],
    /// Identification of its fragments; 16 bits of it with IPv4. A datagram of its own for each.
    pub id: u32,
    /// TTL or hop limit.
    pub hops: u8,
}

impl HandMade<'_> {
    /// One packet, fragments forbidden. `None`: the families differ, or it is longer than IP can say.
    pub fn whole(&self) -> Option<Vec<u8>> {
        let udp = self.udp()?;
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.v4(from, to, &udp, DONT_FRAGMENT),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.v6(from, to, UDP, &udp),
            _ => None,
        }
    }

    /// Fragments of at most `mtu` bytes, in this shape; see [`HandMade::whole`] for `None`.
    pub fn fragments(&self, mtu: u32, shape: FragmentShape) -> Option<Vec<Vec<u8>>> {
        let udp = self.udp()?;
        let headers = if self.source.is_ipv6() { V6_HEADER + FRAGMENT_HEADER } else { V4_HEADER };
        let piece = (mtu as usize).checked_sub(headers)? / 8 * 8;
        if piece == 0 {
            return None;
        }
        let last = udp.len().div_ceil(piece) - 1;
        let cut = udp.chunks(piece).enumerate();
        let all: Option<Vec<_>> =
            cut.map(|(index, bytes)| self.fragment(bytes, index * piece, index < last)).collect();
        let mut all = all?;
        match shape {
            FragmentShape::Reversed => all.reverse(),
            FragmentShape::FirstAlone => all.truncate(1),
            FragmentShape::RestAlone => drop(all.remove(0)),
            FragmentShape::InOrder | FragmentShape::ByKernel | FragmentShape::MayBeCut => {}
        }
        Some(all)
    }

    fn fragment(&self, bytes: &[u8], offset: usize, more: bool) -> Option<Vec<u8>> {
        let units = u16::try_from(offset / 8).ok().filter(|units| *units < 1 << 13)?;
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                self.v4(from, to, bytes, units | if more { MORE_FRAGMENTS } else { 0 })
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let place = units << 3 | u16::from(more);
                let header = [&[UDP, 0], &place.to_be_bytes()[..], &self.id.to_be_bytes()].concat();
                self.v6(from, to, FRAGMENT, &[&header, bytes].concat())
            }
            _ => None,
        }
    }

    fn v4(&self, from: Ipv4Addr, to: Ipv4Addr, content: &[u8], place: u16) -> Option<Vec<u8>> {
        let length = u16::try_from(V4_HEADER + content.len()).ok()?;
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend((self.id as u16).to_be_bytes());
        packet.extend(place.to_be_bytes());
        packet.extend([self.hops, UDP, 0, 0]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        let sum = Sum::default().add(&packet).checksum();
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend(content);
        Some(packet)
    }

    fn v6(&self, from: Ipv6Addr, to: Ipv6Addr, next: u8, content: &[u8]) -> Option<Vec<u8>> {
        let length = u16::try_from(content.len()).ok()?;
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([next, self.hops]);
        packet.extend(from.octets());
        packet.extend(to.octets());
        packet.extend(content);
        Some(packet)
    }

    /// Header and payload of UDP with its checksum (RFC 768; RFC 8200 section 8.1).
    fn udp(&self) -> Option<Vec<u8>> {
        let length = u16::try_from(8 + self.payload.len()).ok()?;
        let mut udp = [self.source.port(), self.destination.port(), length, 0].map(u16::to_be_bytes).concat();
        udp.extend(self.payload);
        let sum = Sum::pseudo_header(self.source.ip(), self.destination.ip(), UDP, length.into()).add(&udp);
        // 0 says that there is no checksum.
        let sum = match sum.checksum() {
            0 => u16::MAX,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
        Some(udp)
    }
}

const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const V4_HEADER: usize = 20;
const V6_HEADER: usize = 40;
const FRAGMENT_HEADER: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of parts, each but the last of an even length: 0 where theirs is in them and right.
    fn checksum(parts: &[&[u8]]) -> u16 {
        parts.iter().fold(Sum::default(), |sum, part| sum.add(part)).checksum()
    }

    fn packet<'a>(source: &str, destination: &str, payload: &'a [u8]) -> HandMade<'a> {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        HandMade { source, destination, payload, id: 0x1234_5678, hops: 64 }
    }

    #[test]
    fn a_whole_packet_sums_to_zero() {
        let v4 = packet("192.0.2.1:1000", "192.0.2.2:2000", b"odd").whole().unwrap();
        assert_eq!((v4.len(), &v4[..8]), (31, &[0x45, 0, 0, 31, 0x56, 0x78, 0x40, 0][..]));
        assert_eq!(checksum(&[&v4[..20]]), 0);
        assert_eq!(checksum(&[&v4[12..20], &[0, 17, 0, 11], &v4[20..]]), 0);
        let v6 = packet("[2001:db8::1]:1000", "[2001:db8::2]:2000", b"even").whole().unwrap();
        assert_eq!((v6.len(), &v6[4..8]), (52, &[0, 12, 17, 64][..]));
        assert_eq!(checksum(&[&v6[8..40], &[0, 17, 0, 12], &v6[40..]]), 0);
    }

    #[test]
    fn fragments_join_to_the_datagram_again() {
        let payload: Vec<u8> = (0..1000).map(|n| n as u8).collect();
        for (from, to, mtu, header) in
            [("192.0.2.1:1", "192.0.2.2:2", 524, 20), ("[2001:db8::1]:1", "[2001:db8::2]:2", 552, 48)]
        {
            let packet = packet(from, to, &payload);
            let all = packet.fragments(mtu, FragmentShape::InOrder).unwrap();
            assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [header + 504, header + 504]);
            let joined: Vec<u8> = all.iter().flat_map(|piece| piece[header..].to_vec()).collect();
            assert_eq!(joined, packet.udp().unwrap());
            let place =
                |piece: &[u8]| if header == 20 { [piece[6], piece[7]] } else { [piece[42], piece[43]] };
            let (first, second) = if header == 20 { ([0x20, 0], [0, 63]) } else { ([0, 1], [1, 0xf8]) };
            assert_eq!([place(&all[0]), place(&all[1])], [first, second]);
            let [a, b] = &all[..] else { panic!("two") };
            let shape = |shape| packet.fragments(mtu, shape).unwrap();
            assert_eq!(shape(FragmentShape::Reversed), [b.clone(), a.clone()]);
            assert_eq!(shape(FragmentShape::FirstAlone), std::slice::from_ref(a));
            assert_eq!(shape(FragmentShape::RestAlone), std::slice::from_ref(b));
        }
    }

    #[test]
    fn what_cannot_be_is_none() {
        assert!(packet("192.0.2.1:1", "[2001:db8::2]:2", b"").whole().is_none());
        assert!(packet("192.0.2.1:1", "192.0.2.2:2", &[0; 65_510]).whole().is_none());
        assert!(packet("192.0.2.1:1", "192.0.2.2:2", b"x").fragments(27, FragmentShape::InOrder).is_none());
    }
}
