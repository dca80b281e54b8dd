//! The four base packets of RFC 8762: of sender and reflector, open and authenticated, with the SSID of RFC 8972.
//!
//! Bytes, all big-endian; every byte not named is zero:
//!
//! ```text
//!                        open (44)   authenticated (112)
//! Sequence Number          0..4         0..4
//! Timestamp                4..12       16..24
//! Error Estimate          12..14       24..26
//! SSID                    14..16       26..28
//!   of the reflector only:
//! Receive Timestamp       16..24       32..40
//! Sender Sequence Number  24..28       48..52
//! Sender Timestamp        28..36       64..72
//! Sender Error Estimate   36..38       72..74
//! Sender TTL              40           80
//!   of both:
//! HMAC                                 96..112
//! ```
//!
//! Of a shorter packet the missing bytes are read as zero (RFC 8762 section 4.6): TWAMP-Light's are shorter.

use super::auth::{Key, MAC_AT, MAC_LEN};
use super::clock::{ErrorEstimate, Timestamp};
use crate::fixed::{get, put};

/// The two forms of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Without HMAC.
    Open,
    /// With HMAC.
    Authenticated,
}

/// The fields of a sender's packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderPacket {
    /// Sequence number, from 0, one more for each packet of a session.
    pub sequence: u32,
    /// The sender's clock at sending.
    pub timestamp: Timestamp,
    /// Error Estimate of the sender's clock.
    pub error: ErrorEstimate,
    /// The session's name, 0 for none.
    pub ssid: u16,
}

/// The fields of a reflector's packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReflectorPacket {
    /// The fields that a sender's packet has too, of the reflector: the sender's number again or its own count, its clock, and
    /// the session's name (0 from a reflector that does not know RFC 8972).
    pub own: SenderPacket,
    /// The reflector's clock when the sender's packet arrived.
    pub received: Timestamp,
    /// The number of the sender's packet.
    pub sender_sequence: u32,
    /// The timestamp of the sender's packet.
    pub sender_timestamp: Timestamp,
    /// The Error Estimate of the sender's packet.
    pub sender_error: ErrorEstimate,
    /// TTL or hop limit with which the sender's packet arrived.
    pub sender_ttl: u8,
}

impl Mode {
    /// The mode of an end that has this key.
    pub const fn for_key(key: Option<&Key>) -> Mode {
        if key.is_some() { Mode::Authenticated } else { Mode::Open }
    }

    /// Length of a base packet, bytes.
    pub const fn base_len(self) -> usize {
        match self {
            Mode::Open => 44,
            Mode::Authenticated => MAC_AT + MAC_LEN,
        }
    }

    const fn layout(self) -> Layout {
        match self {
            Mode::Open => OPEN,
            Mode::Authenticated => AUTHENTICATED,
        }
    }
}

impl SenderPacket {
    /// Fills the first [`Mode::base_len`] bytes of `packet`, which has them; the HMAC stays zero until [`Key::sign`].
    pub fn write(self, mode: Mode, packet: &mut [u8]) {
        let at = mode.layout();
        packet[..mode.base_len()].fill(0);
        put(packet, 0, self.sequence.to_be_bytes());
        put(packet, at.timestamp, self.timestamp.0.to_be_bytes());
        put(packet, at.error, self.error.0.to_be_bytes());
        put(packet, at.ssid, self.ssid.to_be_bytes());
    }

    /// Reads a packet of any length.
    pub fn read(mode: Mode, packet: &[u8]) -> SenderPacket {
        let at = mode.layout();
        SenderPacket {
            sequence: u32::from_be_bytes(get(packet, 0)),
            timestamp: Timestamp(u64::from_be_bytes(get(packet, at.timestamp))),
            error: ErrorEstimate(u16::from_be_bytes(get(packet, at.error))),
            ssid: u16::from_be_bytes(get(packet, at.ssid)),
        }
    }
}

impl ReflectorPacket {
    /// The same as [`SenderPacket::write`].
    pub fn write(self, mode: Mode, packet: &mut [u8]) {
        let at = mode.layout();
        self.own.write(mode, packet);
        put(packet, at.received, self.received.0.to_be_bytes());
        put(packet, at.sender_sequence, self.sender_sequence.to_be_bytes());
        put(packet, at.sender_timestamp, self.sender_timestamp.0.to_be_bytes());
        put(packet, at.sender_error, self.sender_error.0.to_be_bytes());
        put(packet, at.sender_ttl, [self.sender_ttl]);
    }

    /// Reads a packet of any length.
    pub fn read(mode: Mode, packet: &[u8]) -> ReflectorPacket {
        let at = mode.layout();
        ReflectorPacket {
            own: SenderPacket::read(mode, packet),
            received: Timestamp(u64::from_be_bytes(get(packet, at.received))),
            sender_sequence: u32::from_be_bytes(get(packet, at.sender_sequence)),
            sender_timestamp: Timestamp(u64::from_be_bytes(get(packet, at.sender_timestamp))),
            sender_error: ErrorEstimate(u16::from_be_bytes(get(packet, at.sender_error))),
            sender_ttl: u8::from_be_bytes(get(packet, at.sender_ttl)),
        }
    }
}

/// Is the packet a reflector's, which must not be reflected? Two reflectors, connected by one packet with a forged source
/// address, would otherwise answer each other for ever.
///
/// RFC 8762 has no type field, and zero bytes are to be ignored. A reflector's packet is recognised by its two other timestamps
/// and by the zeros after the TTL; of random TWAMP padding, one in 16 million has these.
pub(super) fn is_reflected(mode: Mode, packet: &[u8]) -> bool {
    let (at, read) = (mode.layout(), ReflectorPacket::read(mode, packet));
    let zeros = match mode {
        Mode::Open => at.sender_ttl + 1..mode.base_len(),
        Mode::Authenticated => at.sender_ttl + 1..MAC_AT,
    };
    let zero = packet.get(zeros).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    zero && read.received != Timestamp(0) && read.sender_timestamp != Timestamp(0)
}

/// Offsets of the fields, bytes.
#[derive(Clone, Copy)]
struct Layout {
    timestamp: usize,
    error: usize,
    ssid: usize,
    received: usize,
    sender_sequence: usize,
    sender_timestamp: usize,
    sender_error: usize,
    sender_ttl: usize,
}

/// RFC 8762 figures 2 and 5.
const OPEN: Layout = Layout {
    timestamp: 4,
    error: 12,
    ssid: 14,
    received: 16,
    sender_sequence: 24,
    sender_timestamp: 28,
    sender_error: 36,
    sender_ttl: 40,
};

/// RFC 8762 figures 4 and 6.
const AUTHENTICATED: Layout = Layout {
    timestamp: 16,
    error: 24,
    ssid: 26,
    received: 32,
    sender_sequence: 48,
    sender_timestamp: 64,
    sender_error: 72,
    sender_ttl: 80,
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SENT: SenderPacket = SenderPacket {
        sequence: 0x0102_0304,
        timestamp: Timestamp(0x1112_1314_1516_1718),
        error: ErrorEstimate(0x2122),
        ssid: 0x3132,
    };
    const REFLECTED: ReflectorPacket = ReflectorPacket {
        own: SenderPacket {
            sequence: 0x4142_4344,
            timestamp: Timestamp(0x5152_5354_5556_5758),
            error: ErrorEstimate(0x6162),
            ssid: SENT.ssid,
        },
        received: Timestamp(0x7172_7374_7576_7778),
        sender_sequence: SENT.sequence,
        sender_timestamp: SENT.timestamp,
        sender_error: SENT.error,
        sender_ttl: 0x81,
    };

    /// Bytes written by hand from the figures of RFC 8762: `..` stands for a zero byte.
    fn frame(text: &str) -> Vec<u8> {
        let byte = |byte: &str| if byte == ".." { 0 } else { u8::from_str_radix(byte, 16).unwrap() };
        text.split_whitespace().map(byte).collect()
    }

    #[test]
    fn the_open_packets_are_these_bytes() {
        let mut packet = [0xff; 46];
        SENT.write(Mode::Open, &mut packet);
        let expected = frame(
            "01 02 03 04  11 12 13 14 15 16 17 18  21 22 31 32
             .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. ff ff",
        );
        assert_eq!(packet, *expected);
        REFLECTED.write(Mode::Open, &mut packet);
        let expected = frame(
            "41 42 43 44  51 52 53 54 55 56 57 58  61 62 31 32  71 72 73 74 75 76 77 78  01 02 03 04
             11 12 13 14 15 16 17 18  21 22 .. ..  81 .. .. .. ff ff",
        );
        assert_eq!(packet, *expected);
    }

    #[test]
    fn the_authenticated_packets_are_these_bytes() {
        let mut packet = [0xff; 113];
        SENT.write(Mode::Authenticated, &mut packet);
        let rest = [vec![0; 112 - 28], vec![0xff]].concat();
        let head = "01 02 03 04 .. .. .. .. .. .. .. .. .. .. .. ..  11 12 13 14 15 16 17 18  21 22 31 32";
        assert_eq!(packet, *[frame(head), rest].concat());
        REFLECTED.write(Mode::Authenticated, &mut packet);
        let expected = frame(
            "41 42 43 44 .. .. .. .. .. .. .. .. .. .. .. ..  51 52 53 54 55 56 57 58  61 62 31 32 .. .. .. ..
             71 72 73 74 75 76 77 78 .. .. .. .. .. .. .. ..  01 02 03 04 .. .. .. .. .. .. .. .. .. .. .. ..
             11 12 13 14 15 16 17 18  21 22 .. .. .. .. .. ..  81 .. .. .. .. .. .. .. .. .. .. .. .. .. .. ..
             .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. .. ff",
        );
        assert_eq!(packet, *expected);
    }

    #[test]
    fn a_signature_covers_every_byte_before_it() {
        let key = Key::new(&[7; 16]).unwrap();
        let mut packet = [0; 120];
        REFLECTED.write(Mode::Authenticated, &mut packet);
        key.sign(&mut packet);
        assert!(key.has_signed(&packet));
        assert!(!Key::new(&[8; 16]).unwrap().has_signed(&packet));
        assert!(!key.has_signed(&packet[..111]));
        for at in 0..112 {
            let mut spoiled = packet;
            spoiled[at] ^= 1;
            assert!(!key.has_signed(&spoiled), "byte {at}");
        }
    }

    #[test]
    fn a_reflectors_packet_is_known_from_a_senders() {
        for mode in [Mode::Open, Mode::Authenticated] {
            let mut packet = vec![0; mode.base_len()];
            let short = mode.layout().sender_ttl + 1;
            REFLECTED.write(mode, &mut packet);
            assert!(is_reflected(mode, &packet));
            assert!(!is_reflected(mode, &packet[..short]));
            for silent in [
                ReflectorPacket { received: Timestamp(0), ..REFLECTED },
                ReflectorPacket { sender_timestamp: Timestamp(0), ..REFLECTED },
            ] {
                silent.write(mode, &mut packet);
                assert!(!is_reflected(mode, &packet));
            }
            SENT.write(mode, &mut packet);
            assert!(!is_reflected(mode, &packet));
            assert!(!is_reflected(mode, &vec![0xff; mode.base_len()]));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seed in any::<(u32, u64, u16, u16, u64, u32, u64, u16)>(), sender_ttl: u8) {
            let (sequence, timestamp, error, ssid, received, sender_sequence, sender_timestamp, sender_error) = seed;
            let own = SenderPacket {
                sequence, timestamp: Timestamp(timestamp), error: ErrorEstimate(error), ssid,
            };
            let packet = ReflectorPacket {
                own,
                received: Timestamp(received),
                sender_sequence,
                sender_timestamp: Timestamp(sender_timestamp),
                sender_error: ErrorEstimate(sender_error),
                sender_ttl,
            };
            for mode in [Mode::Open, Mode::Authenticated] {
                let mut bytes = vec![0xff; mode.base_len()];
                packet.write(mode, &mut bytes);
                prop_assert_eq!(ReflectorPacket::read(mode, &bytes), packet);
                prop_assert_eq!(SenderPacket::read(mode, &bytes), own);
            }
        }

        #[test]
        fn missing_bytes_are_zero(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            let mut whole = bytes.clone();
            whole.resize(120, 0);
            for mode in [Mode::Open, Mode::Authenticated] {
                prop_assert_eq!(ReflectorPacket::read(mode, &bytes), ReflectorPacket::read(mode, &whole));
                prop_assert_eq!(SenderPacket::read(mode, &bytes), SenderPacket::read(mode, &whole));
            }
        }
    }
}
