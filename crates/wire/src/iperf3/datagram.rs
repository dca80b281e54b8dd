//! The header of an iPerf3 datagram: seconds and microseconds of the sender's monotonic clock, then the number.

use crate::{Datagram, Stamp};
use model::time::MonoTime;

/// 12 bytes, 32-bit numbers: iPerf3's default. Numbers wrap to 0 after 2^32 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow;

/// 16 bytes, 64-bit numbers: `--udp-counters-64bit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide;

impl Datagram for Narrow {
    const MIN_LEN: usize = 12;

    fn write(self, stamp: Stamp, buf: &mut [u8]) {
        buf[..8].copy_from_slice(&time_bytes(stamp.sent));
        buf[8..12].copy_from_slice(&(stamp.sequence as u32).to_be_bytes());
    }

    fn read(self, buf: &[u8]) -> Option<Stamp> {
        let (time, rest) = buf.split_first_chunk()?;
        let sequence = u32::from_be_bytes(*rest.first_chunk()?);
        stamp(u64::from(sequence), *time)
    }
}

impl Datagram for Wide {
    const MIN_LEN: usize = 16;

    fn write(self, stamp: Stamp, buf: &mut [u8]) {
        buf[..8].copy_from_slice(&time_bytes(stamp.sent));
        buf[8..16].copy_from_slice(&stamp.sequence.to_be_bytes());
    }

    fn read(self, buf: &[u8]) -> Option<Stamp> {
        let (time, rest) = buf.split_first_chunk()?;
        let sequence = u64::from_be_bytes(*rest.first_chunk()?);
        (sequence <= i64::MAX as u64).then(|| stamp(sequence, *time))?
    }
}

fn time_bytes(time: MonoTime) -> [u8; 8] {
    let seconds = (time.0 / NANOS_PER_SECOND) as u32;
    let micros = (time.0 % NANOS_PER_SECOND / 1000) as u32;
    (u64::from(seconds) << 32 | u64::from(micros)).to_be_bytes()
}

/// Numbers start at 1, and a second has fewer than 10^6 microseconds: any other header is not iPerf3's.
fn stamp(sequence: u64, time: [u8; 8]) -> Option<Stamp> {
    let time = u64::from_be_bytes(time);
    let (seconds, micros) = (time >> 32, time & 0xffff_ffff);
    let valid = sequence > 0 && micros < 1_000_000;
    valid.then_some(Stamp { sequence, sent: MonoTime(seconds * NANOS_PER_SECOND + micros * 1000) })
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_iperf3() {
        let stamp = Stamp { sequence: 7, sent: MonoTime(0x38b * NANOS_PER_SECOND + 5_000) };
        let mut narrow = [0xaa; 12];
        Narrow.write(stamp, &mut narrow);
        assert_eq!(narrow, [0, 0, 3, 0x8b, 0, 0, 0, 5, 0, 0, 0, 7]);
        let mut wide = [0xaa; 16];
        Wide.write(stamp, &mut wide);
        assert_eq!(wide, [0, 0, 3, 0x8b, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7]);
    }

    #[test]
    fn what_is_no_datagram_is_not_read() {
        assert_eq!(Narrow.read(&[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]), None, "number 0");
        assert_eq!(
            Narrow.read(&[0, 0, 0, 1, 0, 0x0f, 0x42, 0x40, 0, 0, 0, 1]),
            None,
            "a million microseconds"
        );
        assert_eq!(Narrow.read(&[1; 11]), None, "too short");
        assert_eq!(Wide.read(&[0; 15]), None, "too short");
        assert_eq!(Wide.read(b"\0\0\0\x01\0\0\0\x01\xff\0\0\0\0\0\0\0"), None, "a negative number");
    }

    proptest! {
        #[test]
        fn stamps_survive_the_wire(sequence in 1..u64::from(u32::MAX), seconds: u32, micros in 0_u64..1_000_000) {
            let sent = MonoTime(u64::from(seconds) * NANOS_PER_SECOND + micros * 1000);
            let stamp = Stamp { sequence, sent };
            let mut buf = [0; 64];
            Narrow.write(stamp, &mut buf);
            prop_assert_eq!(Narrow.read(&buf), Some(stamp));
            Wide.write(stamp, &mut buf);
            prop_assert_eq!(Wide.read(&buf), Some(stamp));
        }

        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>) {
            let _ = (Narrow.read(&bytes), Wide.read(&bytes));
        }
    }
}
