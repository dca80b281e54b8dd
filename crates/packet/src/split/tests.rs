use super::*;
use proptest::prelude::*;

const FROM_V4: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

/// An IPv4 packet of this protocol, not yet with checksums.
fn v4(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let [high, low] = (transport.len() as u16 + 20).to_be_bytes();
    let header = [0x45, 0, high, low, 0xff, 0xfe, 0x40, 0, 64, protocol, 0, 0];
    [&header[..], &FROM_V4, transport].concat()
}

fn v6(protocol: u8, transport: &[u8]) -> Vec<u8> {
    let [high, low] = (transport.len() as u16).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, high, low, protocol, 64];
    packet.extend([0xfd; 32]);
    [&packet, transport].concat()
}

/// A TCP segment with CWR, PSH and FIN and the sequence number 0xffff_ff00.
fn tcp(payload: usize) -> Vec<u8> {
    let mut segment =
        vec![0x9c, 0x40, 0x14, 0x5a, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 0x50, 0x99, 1, 0, 0, 0, 0, 0];
    segment.extend((0..payload).map(|byte| byte as u8));
    segment
}

fn udp(payload: usize) -> Vec<u8> {
    let [high, low] = (payload as u16 + 8).to_be_bytes();
    let mut datagram = vec![0x9c, 0x40, 0x14, 0x5a, high, low, 0, 0];
    datagram.extend((0..payload).map(|byte| byte as u8));
    datagram
}

fn split(packet: &[u8], kept: usize, kind: u8, size: u16) -> Vec<(Vec<u8>, u32)> {
    let captured = Captured::read(&packet[..kept], packet.len() as u32, kind, size).unwrap();
    let mut pieces = Vec::new();
    Splitter::default().split(&captured, true, &mut |bytes, length| pieces.push((bytes.to_vec(), length)));
    let counted = captured.pieces().unwrap();
    assert_eq!(counted.packets(), pieces.len() as u64);
    assert_eq!(counted.bytes(), pieces.iter().map(|(_, length)| u64::from(*length)).sum::<u64>());
    pieces
}

/// The checksums of a whole packet hold: each sum comes out as all ones.
fn holds(packet: &[u8]) -> bool {
    let ip = Ip::parse(packet).unwrap();
    let (header, transport) = packet.split_at(ip.header as usize);
    let sum = Sum::pseudo_header(ip.source, ip.destination, ip.protocol, transport.len() as u32);
    let of_header = if packet[0] >> 4 == 4 { Sum::over(header).checksum() } else { 0 };
    of_header == 0 && (sum + Sum::over(transport)).checksum() == 0 && ip.length as usize == packet.len()
}

#[test]
fn segments_of_tcp_are_numbered_and_flagged() {
    let pieces = split(&v4(6, &tcp(3000)), 3040, 1, 1448);
    let flags: Vec<u8> = pieces.iter().map(|(bytes, _)| bytes[33]).collect();
    assert_eq!(flags, [0x90, 0x10, 0x19]);
    let ids: Vec<_> = pieces.iter().map(|(bytes, _)| be16(bytes, 4).unwrap()).collect();
    assert_eq!(ids, [0xfffe, 0xffff, 0]);
    let sequences: Vec<_> = pieces.iter().map(|(bytes, _)| be32(bytes, 24).unwrap()).collect();
    assert_eq!(sequences, [0xffff_ff00, 1192, 2640]);
    assert!(pieces.iter().all(|(bytes, length)| holds(bytes) && bytes.len() == *length as usize));
}

#[test]
fn datagrams_of_udp_have_their_own_length() {
    let pieces = split(&v6(17, &udp(2500)), 2548, 5, 1000);
    let lengths: Vec<_> = pieces.iter().map(|(bytes, _)| be16(bytes, 44).unwrap()).collect();
    assert_eq!(lengths, [1008, 1008, 508]);
    assert!(pieces.iter().all(|(bytes, _)| holds(bytes)));
}

#[test]
fn what_was_not_kept_is_not_made_up() {
    let pieces = split(&v4(6, &tcp(3000)), 100, 1, 1448);
    let kept: Vec<_> = pieces.iter().map(|(bytes, length)| (bytes.len(), *length)).collect();
    assert_eq!(kept, [(100, 1488), (40, 1488), (40, 144)]);
    assert!(pieces.iter().all(|(bytes, _)| bytes[36..38] == [0, 0]));
}

#[test]
fn the_checksum_left_to_the_card_is_made() {
    let pieces = split(&v4(6, &tcp(100)), 140, 0, 0);
    assert_eq!((pieces.len(), pieces[0].1, pieces[0].0[33]), (1, 140, 0x99));
    assert!(holds(&pieces[0].0));
}

#[test]
fn a_jumbo_header_is_left_out() {
    let mut packet = v6(0, &[&[6, 0, 0xc2, 4, 0, 0, 0, 0], &tcp(200)[..]].concat());
    packet[4..6].fill(0);
    let pieces = split(&packet, packet.len(), 4, 100);
    assert_eq!(pieces.len(), 2);
    assert!(pieces.iter().all(|(bytes, length)| holds(bytes) && *length == 160));
}

#[test]
fn fragments_are_left_alone() {
    let mut packet = v4(17, &udp(100));
    packet[6] = 0x20;
    assert_eq!(split(&packet, packet.len(), 0, 0), [(packet.clone(), packet.len() as u32)]);
}

proptest! {
    #[test]
    fn the_payload_is_the_same_in_pieces(payload in 1usize..9000, size in 1u16..2000, v6_too: bool) {
        let packet = if v6_too { v6(6, &tcp(payload)) } else { v4(6, &tcp(payload)) };
        let headers = packet.len() - payload;
        let pieces = split(&packet, packet.len(), 1, size);
        prop_assert!(pieces.iter().all(|(bytes, _)| holds(bytes)));
        let joined: Vec<u8> = pieces.iter().flat_map(|(bytes, _)| bytes[headers..].to_vec()).collect();
        prop_assert_eq!(&joined, &packet[headers..]);
    }

    #[test]
    fn any_bytes_do_no_harm(
        mut bytes in prop::collection::vec(any::<u8>(), 1..150),
        first in prop::sample::select(vec![0x45, 0x46, 0x60]),
        protocol in prop::sample::select(vec![0, 6, 17, 44]),
        length in 0u32..100_000,
        kind in 0u8..6,
        size in any::<u16>(),
    ) {
        bytes[0] = first;
        let at = if first == 0x60 { 6 } else { 9 };
        bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = protocol);
        if let Some(captured) = Captured::read(&bytes, length, kind, size) {
            let mut packets = 0;
            Splitter::default().split(&captured, true, &mut |bytes, length| {
                packets += 1;
                assert!(bytes.len() <= length as usize || packets == 1);
            });
            let pieces = captured.pieces();
            prop_assert!(packets == 1 || pieces.is_some_and(|pieces| pieces.packets() == packets));
        }
    }
}
