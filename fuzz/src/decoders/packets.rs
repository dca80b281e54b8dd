//! Every captured packet, whatever its offloads are: its counts and the packets that it is split into agree, and the file of it
//! is whole blocks. And every SYN, the label stacks of ICMP messages, echoes, and packets too big.

use model::packets::{Observation, Tally};
use model::time::WallTime;
use packet::icmp::{Echo, Quote};
use packet::pcapng::{self, LinkType, Packet};
use packet::{Captured, Splitter, mpls_labels, syn_options};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let _ = (syn_options(data), Echo::of_request(data), Quote::too_big(data));
    if let Some((&at, quote)) = data.split_first() {
        // The quote is read as a message with the place of its extensions, and as one of an old router.
        assert!(mpls_labels(quote, Some(at.into()), 28).len() <= 16);
        assert!(mpls_labels(quote, None, at.into()).len() <= 16);
    }
    let Some((&[kind, flags, high, low, more, some], packet)) = data.split_first_chunk() else { return };
    let size = u16::from_be_bytes([high, low]);
    // The kernel makes no super-packet above 512 KiB.
    let length = packet.len() as u32 + u32::from(u16::from_be_bytes([more, some])) * 4;
    let Some(captured) = Captured::read(packet, length, kind, size) else { return };

    let mut tally = Tally::default();
    let observed = Observation::from_capture(&captured, None);
    if let Some(observed) = &observed {
        tally.add(observed);
        assert_eq!(tally.up.packets, tally.up.sizes.packets());
        assert_eq!(tally.up.bytes.0, observed.pieces.bytes());
    }

    let (mut packets, mut bytes) = (0, 0);
    let mut file = Vec::new();
    Splitter::default().split(&captured, flags & 1 != 0, &mut |piece, length| {
        packets += 1;
        bytes += u64::from(length);
        if packets < 3 {
            let packet = Packet { time: WallTime(1), bytes: piece, length, outgoing: None, comment: None };
            pcapng::packet(&mut file, &packet);
        }
    });
    assert_eq!(file.len() % 4, 0);
    // A capture is too short to be split where the headers themselves are cut.
    if let Some(observed) = observed.filter(|_| packet.len() >= captured.headers as usize) {
        assert_eq!((packets, bytes), (observed.pieces.packets(), observed.pieces.bytes()));
    }
    let mut head = Vec::new();
    pcapng::section(&mut head, "fuzz", &String::from_utf8_lossy(data));
    pcapng::interface(&mut head, LinkType::RawIp, &String::from_utf8_lossy(packet), length);
    assert_eq!(head.len() % 4, 0);
}
