//! Number and time of a datagram.
//!
//! ```text
//! 0             4         8              12            16
//! | number, low | seconds | microseconds | number, high | header or digits ... |
//! ```
//!
//! Numbers are signed and start at 1; the time is the sender's wall clock. A negative number ends the flow (FIN). The high
//! half is valid only where the header has its flag: older clients have 32 bits.

use super::fields::{put, put_time, time, word};
use super::flags;
use crate::stamp::Clock;
use crate::{Datagram, Stamp};
use model::time::{MonoTime, WallTime};

/// Bytes of number and time.
pub const DATAGRAM_LEN: usize = 16;

/// How a flow numbers its datagrams: [`Datagram`] for the data path.
///
/// The time read is the sender's wall clock, in nanoseconds since 1970, put into a [`MonoTime`]: like any sender's clock it
/// serves for differences. Where both wall clocks are right, the one-way delay is the wall time of arrival ([`Clock::at`]) minus
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// This end's clocks.
    pub clock: Clock,
    /// Numbers have 64 bits.
    pub wide: bool,
}

/// A datagram's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Data.
    Data(u64),
    /// The end, and the number it counts as: one more than the last, incremented by each repetition.
    Fin(u64),
}

impl Datagram for Numbered {
    const MIN_LEN: usize = DATAGRAM_LEN;

    fn write(self, stamp: Stamp, buf: &mut [u8]) {
        put_number(buf, stamp.sequence as i64, self.clock.at(stamp.sent));
    }

    /// `None` also for the end: see [`number`].
    fn read(self, buf: &[u8]) -> Option<Stamp> {
        let Number::Data(sequence) = number(buf, self.wide)? else { return None };
        Some(Stamp { sequence, sent: MonoTime(time(buf, 4)?.0) })
    }

    fn ends(self, buf: &[u8]) -> bool {
        matches!(number(buf, self.wide), Some(Number::Fin(_)))
    }
}

/// The number of a datagram; `None`: too short, or numbered 0.
#[must_use]
pub fn number(datagram: &[u8], wide: bool) -> Option<Number> {
    let (low, high) = (word(datagram, 0)?, word(datagram, 12)?);
    let signed = if wide { (u64::from(high) << 32 | u64::from(low)) as i64 } else { i64::from(low as i32) };
    match signed {
        0 => None,
        1.. => Some(Number::Data(signed as u64)),
        _ => Some(Number::Fin(signed.unsigned_abs())),
    }
}

/// Are the numbers of the flow that this datagram begins 64 bits wide, by its header?
#[must_use]
pub fn is_wide(datagram: &[u8]) -> bool {
    let bits = flags::WIDE | flags::EXTEND;
    word(datagram, DATAGRAM_LEN).is_some_and(|first| first & bits == bits)
}

/// Makes a datagram the end of its flow; it counts as number `number`.
///
/// # Panics
/// When it is shorter than [`DATAGRAM_LEN`].
pub fn put_fin(datagram: &mut [u8], number: u64, sent: WallTime) {
    put_number(datagram, (number.min(i64::MAX as u64) as i64).wrapping_neg(), sent);
}

fn put_number(datagram: &mut [u8], number: i64, sent: WallTime) {
    put(datagram, 0, number as u32);
    put_time(datagram, 4, sent);
    put(datagram, 12, (number >> 32) as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(wide: bool) -> Numbered {
        Numbered { clock: Clock { mono: MonoTime(0), wall: WallTime(0) }, wide }
    }

    /// A datagram of `iperf -u -c 127.0.0.1 -t 1` of 2.1.8, and the FIN of ten datagrams as its server received it.
    #[test]
    fn the_layout_is_that_of_iperf() {
        let sent = MonoTime(0x6b01_4a74 * 1_000_000_000 + 0x000d_4ea1 * 1000);
        let mut bytes = [0xaa; 16];
        numbered(true).write(Stamp { sequence: 1, sent }, &mut bytes);
        assert_eq!(bytes, *b"\0\0\0\x01\x6b\x01\x4a\x74\0\x0d\x4e\xa1\0\0\0\0");
        assert_eq!(numbered(true).read(&bytes), Some(Stamp { sequence: 1, sent }));
        put_fin(&mut bytes, 12, WallTime(sent.0));
        assert_eq!(bytes, *b"\xff\xff\xff\xf4\x6b\x01\x4a\x74\0\x0d\x4e\xa1\xff\xff\xff\xff");
        assert_eq!(number(&bytes, true), Some(Number::Fin(12)));
        assert_eq!(number(&bytes, false), Some(Number::Fin(12)));
        assert_eq!(numbered(true).read(&bytes), None);
    }

    #[test]
    fn the_high_half_counts_where_it_is_meant() {
        let bytes = *b"\0\0\0\x02\x6b\x01\x4a\x74\0\0\0\0\0\0\0\x01";
        assert_eq!(number(&bytes, true), Some(Number::Data(0x1_0000_0002)));
        assert_eq!(number(&bytes, false), Some(Number::Data(2)));
        assert_eq!(number(&bytes[..15], true), None);
        assert_eq!(number(&[0; 16], true), None);
        assert!(is_wide(b"................\x48\x01\0\x98") && !is_wide(b"................6789"));
    }

    proptest! {
        #[test]
        fn stamps_survive_the_wire(sequence in 1..i64::MAX as u64, micros in 1_000_000..4_000_000_000_000_000_u64) {
            let stamp = Stamp { sequence, sent: MonoTime(micros * 1000) };
            let mut bytes = [0; 40];
            numbered(true).write(stamp, &mut bytes);
            prop_assert_eq!(numbered(true).read(&bytes), Some(stamp));
            put_fin(&mut bytes, sequence, WallTime(7));
            prop_assert_eq!(number(&bytes, true), Some(Number::Fin(sequence)));
        }

        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>, wide: bool) {
            let _ = (number(&bytes, wide), is_wide(&bytes), numbered(wide).read(&bytes));
        }
    }
}
