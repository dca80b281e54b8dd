//! Writing capture files in the pcapng format (draft-ietf-opsawg-pcapng), little-endian, as Wireshark reads them.
//!
//! Each function appends one whole block, so that what has been written is a valid file at any time: first
//! [`section`], then [`interface`], then [`packet`]s of that interface, [`statistics`] at the end.

use units::time::WallTime;

/// The first header of a frame (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// An Ethernet header.
    Ethernet,
    /// The IP header.
    RawIp,
}

/// One packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Time of its capture.
    pub time: WallTime,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Its whole length.
    pub length: u32,
    /// Sent by this host, or received; absent: not known.
    pub outgoing: Option<bool>,
    /// A note for the reader.
    pub comment: Option<&'a str>,
}

/// The counts at the end of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Start of the capture.
    pub begin: WallTime,
    /// End of the capture.
    pub end: WallTime,
    /// Frames that arrived, dropped ones included.
    pub received: u64,
    /// Frames that the capture could not store.
    pub dropped: u64,
}

/// Begins a file: its application and system.
pub fn section(out: &mut Vec<u8>, application: &str, system: &str) {
    let mut body = Vec::new();
    body.extend(BYTE_ORDER.to_le_bytes());
    body.extend(1_u16.to_le_bytes());
    body.extend(0_u16.to_le_bytes());
    // The length of the section is not known.
    body.extend(u64::MAX.to_le_bytes());
    option(&mut body, 3, system.as_bytes());
    option(&mut body, 4, application.as_bytes());
    block(out, SECTION, body);
}

/// Describes the interface of the packets; `snap`: most bytes kept of each.
pub fn interface(out: &mut Vec<u8>, link: LinkType, name: &str, snap: u32) {
    let number: u16 = match link {
        LinkType::Ethernet => 1,
        LinkType::RawIp => 101,
    };
    let mut body = Vec::new();
    body.extend(number.to_le_bytes());
    body.extend(0_u16.to_le_bytes());
    body.extend(snap.to_le_bytes());
    option(&mut body, 2, name.as_bytes());
    // Times are in units of 10⁻⁹ s.
    option(&mut body, 9, &[9]);
    block(out, INTERFACE, body);
}

/// Appends a packet.
pub fn packet(out: &mut Vec<u8>, packet: &Packet<'_>) {
    let mut body = Vec::with_capacity(packet.bytes.len() + 64);
    body.extend(0_u32.to_le_bytes());
    time(&mut body, packet.time);
    let kept = u32::try_from(packet.bytes.len()).expect("a packet has far fewer than 4 GiB");
    body.extend(kept.to_le_bytes());
    body.extend(packet.length.max(kept).to_le_bytes());
    body.extend_from_slice(packet.bytes);
    pad(&mut body);
    if let Some(outgoing) = packet.outgoing {
        option(&mut body, 2, &(if outgoing { 2_u32 } else { 1 }).to_le_bytes());
    }
    if let Some(comment) = packet.comment {
        option(&mut body, 1, comment.as_bytes());
    }
    block(out, PACKET, body);
}

/// Ends a capture.
pub fn statistics(out: &mut Vec<u8>, statistics: &Statistics) {
    let mut body = Vec::new();
    body.extend(0_u32.to_le_bytes());
    time(&mut body, statistics.end);
    let mut moment = |code, at| {
        let mut value = Vec::new();
        time(&mut value, at);
        option(&mut body, code, &value);
    };
    moment(2, statistics.begin);
    moment(3, statistics.end);
    option(&mut body, 4, &statistics.received.to_le_bytes());
    option(&mut body, 5, &statistics.dropped.to_le_bytes());
    block(out, STATISTICS, body);
}

/// The upper half first.
fn time(body: &mut Vec<u8>, time: WallTime) {
    body.extend(((time.0 >> 32) as u32).to_le_bytes());
    body.extend((time.0 as u32).to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

/// Type, length, body, end of the options, length again.
fn block(out: &mut Vec<u8>, kind: u32, body: Vec<u8>) {
    let length = u32::try_from(body.len() + 16).expect("a block has far fewer than 4 GiB").to_le_bytes();
    out.extend(kind.to_le_bytes());
    out.extend(length);
    out.extend(body);
    out.extend([0; 4]);
    out.extend(length);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The kinds of the blocks that these bytes are.
    fn kinds(mut bytes: &[u8]) -> Vec<u32> {
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut kinds = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!((length % 4, word(bytes, length - 4) as usize), (0, length));
            kinds.push(word(bytes, 0));
            bytes = &bytes[length..];
        }
        kinds
    }

    proptest! {
        #[test]
        fn blocks_follow_one_another(
            packets in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..99), any::<Option<bool>>()), 0..9),
            comment in "[a-zé×]{0,9}",
        ) {
            let mut file = Vec::new();
            section(&mut file, "pathmeter", "Linux");
            interface(&mut file, LinkType::Ethernet, "eth0", 128);
            for (bytes, outgoing) in &packets {
                let comment = outgoing.is_some().then_some(comment.as_str());
                let (time, length) = (WallTime(u64::MAX), 1500);
                packet(&mut file, &Packet { time, bytes, length, outgoing: *outgoing, comment });
            }
            statistics(&mut file, &Statistics::default());
            let mut expected = vec![SECTION, INTERFACE];
            expected.extend(packets.iter().map(|_| PACKET));
            expected.push(STATISTICS);
            prop_assert_eq!(kinds(&file), expected);
        }
    }
}
