//! The two clocks, which the compiler keeps apart: monotonic time for intervals, wall time for dates.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use thiserror::Error;

/// An instant of `CLOCK_MONOTONIC` of one host, in nanoseconds since that clock's start.
///
/// On another host the value is meaningless, and it cannot be subtracted from wall time:
///
/// ```compile_fail,E0277
/// # use pathmeter_units::time::{MonoTime, WallTime};
/// let span = WallTime(5) - MonoTime(3);
/// ```
///
/// ```
/// # use pathmeter_units::{Nanos, time::MonoTime};
/// assert_eq!(MonoTime(5) - MonoTime(3), Nanos::from_nanos(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct MonoTime(pub u64);

/// An instant of `CLOCK_REALTIME`, in nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// Prints and reads RFC 3339 in UTC with milliseconds: `2026-08-01T12:30:00.250Z`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[must_use]
pub struct WallTime(pub u64);

/// The text is not an RFC 3339 date and time between 1970 and 2554.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("read time `{text}`: expected RFC 3339 from 1970 on, such as 2026-08-01T12:30:00.250Z")]
pub struct WallTimeError {
    /// The text as it was given.
    pub text: String,
}

impl MonoTime {
    /// The clock's start.
    pub const ZERO: MonoTime = MonoTime(0);

    /// The time since `earlier`; `None` when `earlier` is in fact later.
    #[must_use]
    pub fn checked_since(self, earlier: MonoTime) -> Option<Nanos> {
        self.0.checked_sub(earlier.0).map(Nanos)
    }

    /// The time since `earlier`; zero when `earlier` is in fact later.
    pub const fn saturating_since(self, earlier: MonoTime) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturating at zero.
impl Sub for MonoTime {
    type Output = Nanos;
    fn sub(self, earlier: MonoTime) -> Nanos {
        self.saturating_since(earlier)
    }
}

/// Saturating at the end of time.
impl Add<Nanos> for MonoTime {
    type Output = MonoTime;
    fn add(self, span: Nanos) -> MonoTime {
        MonoTime(self.0.saturating_add(span.0))
    }
}

/// Saturating at the end of time.
impl AddAssign<Nanos> for MonoTime {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

/// Saturating at the clock's start.
impl Sub<Nanos> for MonoTime {
    type Output = MonoTime;
    fn sub(self, span: Nanos) -> MonoTime {
        MonoTime(self.0.saturating_sub(span.0))
    }
}

/// Saturating at zero.
impl Sub for WallTime {
    type Output = Nanos;
    fn sub(self, earlier: WallTime) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturating at the end of time.
impl Add<Nanos> for WallTime {
    type Output = WallTime;
    fn add(self, span: Nanos) -> WallTime {
        WallTime(self.0.saturating_add(span.0))
    }
}

impl Display for WallTime {
    /// RFC 3339 in UTC, cut (not rounded) to milliseconds.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let millis = self.0 / 1_000_000;
        let seconds = millis / 1000;
        let (year, month, day) = date_of_day(seconds / SECONDS_PER_DAY);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", millis % 1000)
    }
}

impl FromStr for WallTime {
    type Err = WallTimeError;

    /// Reads RFC 3339 section 5.6 with any offset and any number of fraction digits (nanoseconds are kept).
    /// A leap second `:60` reads as the first instant of the next minute.
    fn from_str(text: &str) -> Result<WallTime, WallTimeError> {
        read(text.as_bytes()).ok_or_else(|| WallTimeError { text: text.to_owned() })
    }
}

fn read(text: &[u8]) -> Option<WallTime> {
    let (date_time, rest) = text.split_at_checked("2026-08-01T12:30:00".len())?;
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, byte)| date_time[at] != byte)
        || !matches!(date_time[10], b'T' | b't' | b' ')
    {
        return None;
    }
    let field = |from: usize, len: usize| number(&date_time[from..from + len]);
    let (year, month, day) = (field(0, 4)?, field(5, 2)?, field(8, 2)?);
    let (hour, minute, second) = (field(11, 2)?, field(14, 2)?, field(17, 2)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = day_of_date(year, month, day)? * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    let (nanos, rest) = fraction(rest)?;
    let utc = i64::try_from(seconds).ok()?.checked_sub(offset_seconds(rest)?)?;
    u64::try_from(utc).ok()?.checked_mul(1_000_000_000)?.checked_add(nanos).map(WallTime)
}

/// The nanoseconds of an optional `.25`, and what follows it.
fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else { return Some((0, text)) };
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let kept = &digits[..digits.len().min(9)];
    let nanos = number(kept)? * 10_u64.pow(9 - kept.len() as u32);
    Some((nanos, rest))
}

/// Seconds east of UTC.
fn offset_seconds(zone: &[u8]) -> Option<i64> {
    let (sign, zone) = match zone {
        b"Z" | b"z" => return Some(0),
        [b'+', zone @ ..] => (1, zone),
        [b'-', zone @ ..] => (-1, zone),
        _ => return None,
    };
    let [h1, h2, b':', m1, m2] = *zone else { return None };
    let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as i64)
}

/// A decimal number of 1 to 18 digits.
fn number(digits: &[u8]) -> Option<u64> {
    let fits = (1..=18).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    fits.then(|| digits.iter().fold(0, |total, digit| total * 10 + u64::from(digit - b'0')))
}

/// The Gregorian date of a day counted from 1970-01-01.
///
/// Years start in March here, so that the leap day is the last day of a year and months follow one formula; a cycle
/// of 400 years has 146,097 days.
fn date_of_day(day: u64) -> (u64, u64, u64) {
    let day = day + DAYS_TO_EPOCH;
    let (cycle, day) = (day / DAYS_PER_CYCLE, day % DAYS_PER_CYCLE);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, carried) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + carried, month, day_of_month)
}

/// The day counted from 1970-01-01 of a Gregorian date; `None` when there is no such date or it is earlier.
fn day_of_date(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let (year_from_march, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year_from_march / 4 - year_from_march / 100 + year_from_march / 400;
    let count = year_from_march * 365 + leap_days + (153 * month_from_march + 2) / 5 + day - 1;
    let since_epoch = count.checked_sub(DAYS_TO_EPOCH)?;
    (date_of_day(since_epoch) == (year, month, day)).then_some(since_epoch)
}

const SECONDS_PER_DAY: u64 = 86_400;
const DAYS_PER_CYCLE: u64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: u64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_instants_print_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_000_000_000, "2001-09-09T01:46:40.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
            (1_785_587_400, "2026-08-01T12:30:00.000Z"),
        ] {
            assert_eq!(WallTime(seconds * 1_000_000_000).to_string(), text);
            assert_eq!(text.parse(), Ok(WallTime(seconds * 1_000_000_000)));
        }
        assert_eq!(WallTime(u64::MAX).to_string(), "2554-07-21T23:34:33.709Z");
    }

    #[test]
    fn offsets_fractions_and_leap_seconds_read() {
        let at = |text: &str| text.parse::<WallTime>().unwrap();
        assert_eq!(at("1970-01-01T02:00:00.25+01:30"), WallTime(1_800_250_000_000));
        assert_eq!(at("1970-01-01 00:00:00.1234567899z"), WallTime(123_456_789));
        assert_eq!(at("1970-01-01T00:00:00-01:00"), WallTime(3_600_000_000_000));
        assert_eq!(at("2016-12-31T23:59:60Z"), at("2017-01-01T00:00:00Z"));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00ZZ",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "9999-01-01T00:00:00Z",
            "２026-01-01T00:00:00Z",
        ] {
            assert!(text.parse::<WallTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn spans_saturate() {
        assert_eq!(MonoTime(1) - MonoTime(2), Nanos::ZERO);
        assert_eq!(MonoTime(1).checked_since(MonoTime(2)), None);
        assert_eq!(MonoTime(2).checked_since(MonoTime(1)), Some(Nanos::from_nanos(1)));
        assert_eq!(MonoTime(u64::MAX) + Nanos::from_nanos(1), MonoTime(u64::MAX));
        assert_eq!(MonoTime(1) - Nanos::from_nanos(2), MonoTime::ZERO);
    }

    proptest! {
        #[test]
        fn printing_and_reading_agree(nanos: u64) {
            let text = WallTime(nanos).to_string();
            prop_assert_eq!(text.parse(), Ok(WallTime(nanos / 1_000_000 * 1_000_000)));
        }

        #[test]
        fn every_day_follows_the_day_before(day in 0_u64..213_503) {
            let (year, month, date) = date_of_day(day);
            prop_assert_eq!(day_of_date(year, month, date), Some(day));
            prop_assert!(date_of_day(day + 1) > (year, month, date));
        }

        #[test]
        fn any_text_is_an_answer_and_no_panic(text in "\\PC*") {
            let _ = text.parse::<WallTime>();
        }
    }
}
