//! Time on the wire: NTP and PTPv2 timestamps, and the error of their clock.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;

/// One moment on both clocks. From there wall time advances with the monotonic clock, so a step of the wall clock during a test
/// does not change the times of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The monotonic clock then.
    pub mono: MonoTime,
    /// The wall clock then.
    pub wall: WallTime,
}

/// The format of timestamps (RFC 8762 section 4.2.1): the Z bit of the Error Estimate beside them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Z = 0: seconds since 1900 and a binary fraction (RFC 5905 section 6). Every STAMP and TWAMP end reads it.
    #[default]
    Ntp,
    /// Z = 1: seconds since 1970 and nanoseconds (IEEE 1588v2, truncated; RFC 8186). The standard counts TAI; here, as in other
    /// software, the time is UTC.
    Ptp,
}

/// A timestamp as sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp(pub u64);

/// An Error Estimate as sent (RFC 4656 section 4.1.2, RFC 8186 section 2.3): S, Z, Scale (6 bits), Multiplier (8 bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorEstimate(pub u16);

impl Clock {
    /// Wall time at a moment of the monotonic clock, before or after the known one.
    pub fn at(self, mono: MonoTime) -> WallTime {
        match mono.checked_since(self.mono) {
            Some(since) => self.wall + since,
            None => WallTime(self.wall.0.saturating_sub((self.mono - mono).0)),
        }
    }
}

impl Timestamp {
    /// Wall time in a format. Seconds wrap around: NTP's in 2036, PTP's in 2106.
    pub fn new(format: Format, time: WallTime) -> Timestamp {
        let (seconds, nanos) = (time.0 / SECOND, time.0 % SECOND);
        let (seconds, rest) = match format {
            Format::Ntp => (seconds + SECONDS_1900_TO_1970, ((nanos << 32) + SECOND / 2) / SECOND),
            Format::Ptp => (seconds, nanos),
        };
        Timestamp(seconds << 32 | rest)
    }

    /// The time since 1970, to the nearest nanosecond; `None` where the field is empty or out of range. NTP seconds are read as
    /// of the years 1970 to 2106.
    pub fn since_1970(self, format: Format) -> Option<Nanos> {
        let (seconds, rest) = (self.0 >> 32, self.0 & u64::from(u32::MAX));
        let (seconds, nanos) = match format {
            _ if self.0 == 0 => return None,
            Format::Ptp if rest >= SECOND => return None,
            Format::Ptp => (seconds, rest),
            Format::Ntp => {
                let era = if seconds < SECONDS_1900_TO_1970 { 1 << 32 } else { 0 };
                (seconds + era - SECONDS_1900_TO_1970, (rest * SECOND + (1 << 31)) >> 32)
            }
        };
        Some(Nanos(seconds * SECOND + nanos))
    }
}

impl ErrorEstimate {
    /// The estimate of a clock that is wrong by at most `error`, which is rounded up to the next value of the format; `synced`:
    /// the clock follows an external source of UTC. Multiplier is never 0, as the RFC demands.
    pub fn new(format: Format, synced: bool, error: Nanos) -> ErrorEstimate {
        let units = (u128::from(error.0) << 32).div_ceil(u128::from(SECOND)).max(1);
        let scale = (u128::BITS - units.leading_zeros()).saturating_sub(8);
        let multiplier = units.div_ceil(1 << scale);
        // Rounding up may give 256, one bit too many: the next scale's 128.
        let (scale, multiplier) = if multiplier > 255 { (scale + 1, 128) } else { (scale, multiplier) };
        let bits = if synced { SYNCED } else { 0 } | if format == Format::Ptp { PTP } else { 0 };
        ErrorEstimate(bits | (scale as u16) << 8 | multiplier as u16)
    }

    /// The format of the timestamps beside it.
    pub const fn format(self) -> Format {
        if self.0 & PTP == 0 { Format::Ntp } else { Format::Ptp }
    }
}

const SECOND: u64 = 1_000_000_000;
const SECONDS_1900_TO_1970: u64 = 2_208_988_800;
const SYNCED: u16 = 0x8000;
const PTP: u16 = 0x4000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_timestamps_are_written() {
        let half = WallTime(1_500_000_000);
        assert_eq!(Timestamp::new(Format::Ntp, half), Timestamp(0x83aa_7e81_8000_0000));
        assert_eq!(Timestamp::new(Format::Ptp, half), Timestamp(0x0000_0001_1dcd_6500));
        // RFC 5905 figure 4: the first day of NTP era 1 is 2036-02-08 (06:28:16 on the 7th).
        let era_1: WallTime = "2036-02-07T06:28:16Z".parse().unwrap();
        assert_eq!(Timestamp::new(Format::Ntp, era_1 + Nanos::from_nanos(1)).0 >> 32, 0);
        assert_eq!(
            Timestamp::new(Format::Ntp, era_1 + Nanos::from_nanos(1)).since_1970(Format::Ntp),
            Some(Nanos(era_1.0 + 1))
        );
    }

    #[test]
    fn empty_and_impossible_timestamps_say_nothing() {
        assert_eq!(Timestamp(0).since_1970(Format::Ntp), None);
        assert_eq!(Timestamp(0).since_1970(Format::Ptp), None);
        assert_eq!(Timestamp(1 << 32 | 1_000_000_000).since_1970(Format::Ptp), None);
        assert_eq!(
            Timestamp(1 << 32 | 999_999_999).since_1970(Format::Ptp),
            Some(Nanos::from_nanos(1_999_999_999))
        );
    }

    #[test]
    fn known_error_estimates() {
        // One unit is 2^-32 s; 2^-10 s is 128 * 2^15 units.
        assert_eq!(ErrorEstimate::new(Format::Ntp, false, Nanos::ZERO), ErrorEstimate(0x0001));
        assert_eq!(ErrorEstimate::new(Format::Ptp, true, Nanos::from_nanos(976_562)), ErrorEstimate(0xcf80));
    }

    #[test]
    fn wall_time_runs_with_the_monotonic_clock() {
        let clock = Clock { mono: MonoTime(100), wall: WallTime(1000) };
        assert_eq!(clock.at(MonoTime(103)), WallTime(1003));
        assert_eq!(clock.at(MonoTime(97)), WallTime(997));
    }

    proptest! {
        #[test]
        fn timestamps_keep_the_nanosecond(time in 1_u64..4_294_967_296 * SECOND, ptp: bool) {
            let format = if ptp { Format::Ptp } else { Format::Ntp };
            prop_assert_eq!(Timestamp::new(format, WallTime(time)).since_1970(format), Some(Nanos(time)));
        }

        #[test]
        fn any_timestamp_is_an_answer_and_no_panic(bits: u64, wall: u64) {
            for format in [Format::Ntp, Format::Ptp] {
                let _ = Timestamp(bits).since_1970(format);
                let _ = Timestamp::new(format, WallTime(wall));
            }
        }

        #[test]
        fn an_error_estimate_is_never_too_small_nor_a_hundredth_too_large(nanos: u64, synced: bool, ptp: bool) {
            let format = if ptp { Format::Ptp } else { Format::Ntp };
            let estimate = ErrorEstimate::new(format, synced, Nanos(nanos));
            let (scale, multiplier) = (estimate.0 >> 8 & 0x3f, u128::from(estimate.0 & 0xff));
            let read = ((multiplier << scale) * u128::from(SECOND)).div_ceil(1 << 32);
            let read = Nanos(u64::try_from(read).unwrap_or(u64::MAX));
            prop_assert!(read.0 >= nanos && read.0 - nanos <= nanos / 100 + 1, "{nanos} read as {read:?}");
            prop_assert_eq!((estimate.0 & SYNCED != 0, estimate.format()), (synced, format));
        }
    }
}
