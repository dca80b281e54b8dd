//! One captured packet or super-packet: its flow, its size on the wire, and the number of packets it represents.

use super::{Ip, be16, header, icmp};

/// A captured packet, from its IP header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The bytes that the capture kept.
    pub bytes: &'a [u8],
    /// Its IP headers.
    pub ip: Ip,
    /// Source and destination port, for TCP and UDP; a later fragment has none.
    pub ports: Option<(u16, u16)>,
    /// All headers, those of TCP, UDP or ICMP included.
    pub headers: u32,
    /// Its whole length, without padding of the link.
    pub length: u32,
    /// Segmentation that the network card was to do.
    pub segments: Segments,
}

/// The segmentation of a super-packet (`struct virtio_net_hdr`, linux/virtio_net.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segments {
    /// An ordinary packet.
    #[default]
    Whole,
    /// Packets of this much TCP or UDP payload.
    Of(u16),
    /// Unknown segmentation: fragments made by the card, or packets within packets.
    Unknown,
}

/// The packets on the wire that a frame represents: all of one size but the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// Number of packets of the full size, without the last; 0 for an ordinary frame.
    pub full: u64,
    /// The full size, bytes of the IP packet.
    pub size: u32,
    /// Size of the last, or of the only packet.
    pub last: u32,
    /// The headers of each.
    pub headers: u32,
}

impl Segments {
    /// The segmentation given by `gso_type` and `gso_size` for a packet of this protocol.
    pub fn from_offload(kind: u8, size: u16, protocol: u8) -> Segments {
        match (kind & !ECN, protocol) {
            (0, _) => Segments::Whole,
            (TCP_V4 | TCP_V6, Ip::TCP) | (UDP_L4, Ip::UDP) if size > 0 => Segments::Of(size),
            _ => Segments::Unknown,
        }
    }
}

impl Pieces {
    /// One ordinary packet.
    pub const fn whole(size: u32, headers: u32) -> Pieces {
        Pieces { full: 0, size, last: size, headers }
    }

    /// Number of packets.
    pub const fn packets(&self) -> u64 {
        self.full.saturating_add(1)
    }

    /// All their bytes.
    pub fn bytes(&self) -> u64 {
        self.full.saturating_mul(self.size.into()).saturating_add(self.last.into())
    }

    /// Bytes behind their headers.
    pub fn payload(&self) -> u64 {
        let behind = |size: u32| u64::from(size.saturating_sub(self.headers));
        self.full.saturating_mul(behind(self.size)).saturating_add(behind(self.last))
    }

    /// Number of packets with bytes behind their headers.
    pub fn with_payload(&self) -> u64 {
        let full = if self.size > self.headers { self.full } else { 0 };
        full.saturating_add(u64::from(self.last > self.headers))
    }
}

impl<'a> Captured<'a> {
    /// Reads a packet of which `bytes` were kept and which had `length` with the link's padding; `kind` and `size` are its
    /// `gso_type` and `gso_size`. `None` when it is not an IP packet, or its IP headers are cut.
    pub fn read(bytes: &'a [u8], length: u32, kind: u8, size: u16) -> Option<Captured<'a>> {
        let ip = Ip::parse(bytes)?;
        let length = if ip.length == 0 { length } else { ip.length };
        if length < ip.header {
            return None;
        }
        let segments = Segments::from_offload(kind, size, ip.protocol);
        let behind = bytes.get(ip.header as usize..).filter(|_| ip.begins_transport()).unwrap_or_default();
        let transport = transport(ip.protocol, behind).unwrap_or(0);
        let ports = || Some((be16(behind, 0)?, be16(behind, 2)?));
        let has_ports = matches!(ip.protocol, Ip::TCP | Ip::UDP);
        let headers = (ip.header + transport).min(length);
        Some(Captured { bytes, ip, ports: ports().filter(|_| has_ports), headers, length, segments })
    }

    /// The packets on the wire; `None` when they cannot be known.
    pub fn pieces(&self) -> Option<Pieces> {
        let each = match self.segments {
            Segments::Whole => return Some(Pieces::whole(self.length, self.headers)),
            Segments::Of(each) => u32::from(each),
            Segments::Unknown => return None,
        };
        let payload = self.length - self.headers;
        let headers = self.wire_headers();
        let packets = payload.div_ceil(each).max(1);
        let last = payload - (packets - 1) * each;
        Some(Pieces { full: u64::from(packets - 1), size: headers + each, last: headers + last, headers })
    }

    /// The headers of each packet on the wire.
    pub(super) fn wire_headers(&self) -> u32 {
        self.headers - self.left_out()
    }

    /// Bytes behind the fixed IPv6 header that are never on the wire.
    pub(super) fn left_out(&self) -> u32 {
        let jumbo = self.ip.jumbo && matches!(self.segments, Segments::Of(_));
        if jumbo { JUMBO_HEADER } else { 0 }
    }
}

/// Length of the header of TCP, UDP or ICMP.
fn transport(protocol: u8, bytes: &[u8]) -> Option<u32> {
    match protocol {
        Ip::TCP => Some(u32::from(bytes.get(12)? >> 4) * 4).filter(|length| *length >= header::TCP as u32),
        Ip::UDP => Some(header::UDP as u32),
        Ip::ICMP | Ip::ICMP6 => Some(icmp::HEADER as u32),
        _ => None,
    }
}

/// `VIRTIO_NET_HDR_GSO_*`.
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP_L4: u8 = 5;
const ECN: u8 = 0x80;
/// The hop-by-hop header of a jumbogram.
const JUMBO_HEADER: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A TCP packet over IPv4 with timestamps, of this many bytes in all.
    pub(crate) fn tcp(length: u16) -> Vec<u8> {
        let [high, low] = length.to_be_bytes();
        let mut bytes = vec![0x45, 0, high, low, 0x10, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([0x9c, 0x40, 0x14, 0x5a, 0, 0, 1, 0, 0, 0, 0, 1, 0x80, 0x99, 1, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        bytes.resize(usize::from(length), 7);
        bytes
    }

    #[test]
    fn a_super_packet_of_tcp_is_its_segments() {
        let bytes = tcp(52 + 45 * 1448 - 48);
        // Only the headers were kept.
        let captured = Captured::read(&bytes[..60], 65_164, 1, 1448).unwrap();
        let expected = Pieces { full: 44, size: 1500, last: 1452, headers: 52 };
        assert_eq!(captured.pieces(), Some(expected));
        assert_eq!((captured.ports, captured.headers), (Some((40_000, 5210)), 52));
    }

    #[test]
    fn a_packet_that_just_fits_is_one() {
        let bytes = tcp(1500);
        let pieces = Captured::read(&bytes, 1500, 1, 1448).unwrap().pieces();
        assert_eq!(pieces, Some(Pieces { full: 0, size: 1500, last: 1500, headers: 52 }));
        let acknowledgement = tcp(52);
        let padded = Captured::read(&acknowledgement, 60, 0, 0).unwrap();
        assert_eq!(padded.pieces(), Some(Pieces::whole(52, 52)));
    }

    #[test]
    fn a_super_packet_larger_than_its_length_field_loses_the_jumbo_header() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
        bytes.extend([0; 32]);
        bytes.extend([6, 0, 0xc2, 4, 0, 2, 0, 0]);
        bytes.extend(&tcp(52)[20..]);
        let length = 48 + 32 + 100 * 1428;
        let captured = Captured::read(&bytes, length, 4, 1428).unwrap();
        let expected = Pieces { full: 99, size: 1500, last: 1500, headers: 72 };
        assert_eq!(captured.pieces(), Some(expected));
    }

    #[test]
    fn packets_within_packets_are_not_guessed_at() {
        let mut bytes = tcp(60);
        bytes[9] = Ip::UDP;
        assert_eq!(Captured::read(&bytes, 60, 1, 20).unwrap().pieces(), None);
    }

    proptest! {
        #[test]
        fn pieces_hold_all_of_the_payload(length in 53u16..=65_535, size in 1u16..=9000) {
            let bytes = tcp(length);
            let captured = Captured::read(&bytes, length.into(), 1, size).unwrap();
            let pieces = captured.pieces().unwrap();
            prop_assert_eq!(pieces.payload(), u64::from(length) - 52);
            prop_assert!(pieces.last <= pieces.size && pieces.last > 52);
            prop_assert_eq!(pieces.bytes(), pieces.payload() + 52 * pieces.packets());
        }

        #[test]
        fn any_bytes_do_no_harm(
            mut bytes in prop::collection::vec(any::<u8>(), 0..120),
            first in prop::sample::select(vec![0x45, 0x46, 0x60]),
            length in any::<u32>(),
            kind in any::<u8>(),
            size in any::<u16>(),
        ) {
            bytes.iter_mut().take(1).for_each(|byte| *byte = first);
            let pieces = Captured::read(&bytes, length, kind, size).and_then(|captured| captured.pieces());
            prop_assert!(pieces.is_none_or(|pieces| pieces.packets() > 0));
        }
    }
}
