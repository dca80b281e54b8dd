//! The server's acknowledgement of a test header over TCP: the server's version, and when it received the header.

use super::fields::{put, put_time, time, word};
use super::{Ack, AckTimes, Version};

/// The first bytes of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckRead {
    /// More bytes are needed.
    More,
    /// An acknowledgement, and its length in bytes.
    Ack(Ack, usize),
    /// Other bytes: an old server sends no acknowledgement, and one that sends data begins with the data.
    None,
}

impl Ack {
    /// Reads the front of the server's bytes.
    #[must_use]
    pub fn read(bytes: &[u8]) -> AckRead {
        if let Some(kind) = word(bytes, 0)
            && kind != KIND
        {
            return AckRead::None;
        }
        let Some(length) = word(bytes, 4) else { return AckRead::More };
        let length = length as usize;
        if !(LEN..=MAX_LEN).contains(&length) {
            return AckRead::None;
        }
        let Some(bytes) = bytes.get(..length) else { return AckRead::More };
        let field = |at| word(bytes, at).unwrap_or(0);
        let times = || {
            Some(AckTimes {
                sent: time(bytes, 28)?,
                received: time(bytes, 36)?,
                acknowledged: time(bytes, 44)?,
            })
        };
        let version = Version { upper: field(12), lower: field(16) };
        AckRead::Ack(Ack { version, times: times() }, length)
    }

    /// The acknowledgement as sent.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let length = if self.times.is_some() { TIMES_LEN } else { LEN };
        let mut bytes = vec![0; length];
        put(&mut bytes, 0, KIND);
        put(&mut bytes, 4, length as u32);
        put(&mut bytes, 12, self.version.upper);
        put(&mut bytes, 16, self.version.lower);
        if let Some(times) = &self.times {
            put_time(&mut bytes, 28, times.sent);
            put_time(&mut bytes, 36, times.received);
            put_time(&mut bytes, 44, times.acknowledged);
        }
        bytes
    }
}

const KIND: u32 = 2;
const LEN: usize = 28;
const TIMES_LEN: usize = 52;
/// Later versions may append fields.
const MAX_LEN: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::WallTime;
    use proptest::prelude::*;

    /// The reply of `iperf -s` 2.1.8 to a plain header.
    const PLAIN: &[u8] = b"\0\0\0\x02\0\0\0\x1c\0\0\0\0\0\x02\0\x01\0\x08\0\x03\0\0\0\0\0\0\0\0";
    /// The end of its reply to a header with trip times, sent at 0x6b014a94 s and 5 us.
    const TIMES: &[u8] =
        b"\x6b\x01\x4a\x94\0\0\0\x05\x6b\x01\x4a\x95\0\x04\x6c\xa0\x6b\x01\x4a\x95\0\x04\x6d\x22";

    #[test]
    fn acknowledgements_of_2_1_8() {
        let plain = Ack { version: Version::OURS, times: None };
        assert_eq!(Ack::read(PLAIN), AckRead::Ack(plain, 28));
        assert_eq!(plain.bytes(), PLAIN);
        let mut timed = [PLAIN, TIMES].concat();
        timed[7] = 52;
        let at = |seconds: u64, micros: u64| WallTime(seconds * 1_000_000_000 + micros * 1000);
        let times = AckTimes {
            sent: at(0x6b01_4a94, 5),
            received: at(0x6b01_4a95, 0x4_6ca0),
            acknowledged: at(0x6b01_4a95, 0x4_6d22),
        };
        let ack = Ack { version: Version::OURS, times: Some(times) };
        assert_eq!(Ack::read(&timed), AckRead::Ack(ack, 52));
        assert_eq!(ack.bytes(), timed);
    }

    #[test]
    fn other_bytes_are_not_an_acknowledgement() {
        for length in 0..28 {
            assert_eq!(Ack::read(&PLAIN[..length]), AckRead::More, "{length}");
        }
        assert_eq!(Ack::read(b"0123456789"), AckRead::None);
        assert_eq!(Ack::read(b"\0\0\0\x02\0\0\0\x1b"), AckRead::None, "too short a length");
        assert_eq!(Ack::read(b"\0\0\0\x02\xff\xff\xff\xff"), AckRead::None, "too long a length");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>) {
            if let AckRead::Ack(_, length) = Ack::read(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }
}
