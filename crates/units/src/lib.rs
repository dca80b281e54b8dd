//! Numbers that carry their unit: bits per second, bytes, packets per second, nanoseconds.
//!
//! Reading is exact (integers, no floating point; the last digit is rounded half up) and printing keeps three
//! significant digits, or the decimals asked for (`{:.2}`). Shares, counts and bare numbers are written by the same rule, by
//! [`percent`] and the functions beside it.

pub mod framing;
mod parse;
mod print;
pub mod time;
mod written;

use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

pub use parse::UnitError;
pub use written::{
    change, change_between, count, difference, grouped, percent, plain, plain_percent, significant,
    whole_percent, without_zeros,
};

/// A data rate in bits per second.
///
/// Reads `10G`, `9.4Gbit/s`, `25Gbps`, `100M`, `1.25MB/s` (bytes, times 8), `8Mibit/s` (IEC), `0`.
/// Prefixes are decimal unless written `Ki`, `Mi`, `Gi`, `Ti`; their letter case does not matter, the case of `b`
/// (bits) and `B` (bytes) does. Prints `9.41 Gbit/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[must_use]
pub struct BitRate(pub u64);

/// An amount of data in bytes (octets).
///
/// Reads `1472`, `128KiB` and `128Ki` (1024), `128kB` (1000), and bare `128K`, which is 1024-based as in iPerf and
/// `dd`. Prints decimal `1.34 GB`, or with `{:#}` binary `1.25 GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A rate of packets, datagrams or frames per second.
///
/// Reads `1.2Mpps`, `1.2M`, `1000`. Prints `1.94 Mpps`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[must_use]
pub struct PacketRate(pub u64);

/// A span of time in nanoseconds.
///
/// Reads `10s`, `500ms`, `100us` or `100µs`, `5ns`, `2m` or `2min`, `1h`, and a bare number as seconds.
/// Prints `10.0 s`, `350 µs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
#[must_use]
pub struct Nanos(pub u64);

impl BitRate {
    /// The rate at which `amount` passed in `time`, rounded to the nearest bit per second; 0 when no time passed.
    pub fn from_bytes(amount: Bytes, time: Nanos) -> BitRate {
        BitRate(per_second(u128::from(amount.0) * 8, time))
    }

    /// The bytes this rate carries in `time`, rounded down.
    #[must_use]
    pub fn bytes_in(self, time: Nanos) -> Bytes {
        Bytes(clamp(u128::from(self.0) * u128::from(time.0) / (8 * NANOS_PER_SECOND)))
    }

    /// The time `amount` takes at this rate, rounded up; `None` at a rate of zero.
    #[must_use]
    pub fn time_for(self, amount: Bytes) -> Option<Nanos> {
        let bit_nanos = u128::from(amount.0) * 8 * NANOS_PER_SECOND;
        (self.0 > 0).then(|| Nanos(clamp(bit_nanos.div_ceil(u128::from(self.0)))))
    }

    /// The sum, or the largest rate there is.
    pub fn saturating_add(self, other: BitRate) -> BitRate {
        BitRate(self.0.saturating_add(other.0))
    }
}

impl PacketRate {
    /// The rate of `count` packets in `time`, rounded to the nearest packet per second; 0 when no time passed.
    pub fn from_count(count: u64, time: Nanos) -> PacketRate {
        PacketRate(per_second(u128::from(count), time))
    }

    /// The sum, or the largest rate there is.
    pub fn saturating_add(self, other: PacketRate) -> PacketRate {
        PacketRate(self.0.saturating_add(other.0))
    }
}

impl Bytes {
    /// No data.
    pub const ZERO: Bytes = Bytes(0);

    /// The sum, or the largest amount there is.
    #[must_use]
    pub fn saturating_add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    #[must_use]
    pub fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Nanos {
    /// No time.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest span, about 584 years.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// No time at all.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Whole seconds, saturating.
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Whole milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Whole microseconds, saturating.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// Nanoseconds: for spans that are no whole number of microseconds.
    pub const fn from_nanos(nanos: u64) -> Nanos {
        Nanos(nanos)
    }

    /// Seconds as a float: for printing and for formats that ask for float seconds, never for arithmetic.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The same span as the standard library's type.
    #[must_use]
    pub const fn to_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The span of a standard duration, saturating at [`Nanos::MAX`].
    pub fn from_duration(duration: Duration) -> Nanos {
        Nanos(clamp(duration.as_nanos()))
    }

    /// The sum, or [`Nanos::MAX`].
    pub const fn saturating_add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }

    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// The span taken `factor` times, or [`Nanos::MAX`].
    pub const fn saturating_mul(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

/// Adds amounts and spans, and sums them, saturating.
macro_rules! add_saturating {
    ($($unit:ident),*) => {$(
        impl Add for $unit {
            type Output = $unit;
            fn add(self, other: $unit) -> $unit {
                self.saturating_add(other)
            }
        }

        impl AddAssign for $unit {
            fn add_assign(&mut self, other: $unit) {
                *self = *self + other;
            }
        }

        impl Sum for $unit {
            fn sum<I: Iterator<Item = $unit>>(items: I) -> $unit {
                items.fold($unit::ZERO, $unit::saturating_add)
            }
        }
    )*};
}

add_saturating!(Bytes, Nanos);

/// Saturating.
impl Sum for BitRate {
    fn sum<I: Iterator<Item = BitRate>>(items: I) -> BitRate {
        items.fold(BitRate(0), BitRate::saturating_add)
    }
}

/// Saturating at zero.
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        self.saturating_sub(other)
    }
}

fn per_second(count: u128, time: Nanos) -> u64 {
    let nanos = u128::from(time.0);
    if nanos == 0 {
        return 0;
    }
    clamp((count * NANOS_PER_SECOND + nanos / 2) / nanos)
}

fn clamp(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_come_from_amounts_and_times() {
        assert_eq!(BitRate::from_bytes(Bytes(1_250_000), Nanos::from_millis(1)), BitRate(10_000_000_000));
        assert_eq!(BitRate::from_bytes(Bytes(1), Nanos::ZERO), BitRate(0));
        assert_eq!(BitRate::from_bytes(Bytes(u64::MAX), Nanos::from_nanos(1)), BitRate(u64::MAX));
        assert_eq!(PacketRate::from_count(3, Nanos::from_secs(2)), PacketRate(2));
        assert_eq!(PacketRate::from_count(u64::MAX, Nanos::from_secs(1)), PacketRate(u64::MAX));
    }

    #[test]
    fn amounts_and_times_come_from_rates() {
        assert_eq!(BitRate(8_000).bytes_in(Nanos::from_millis(1500)), Bytes(1500));
        assert_eq!(BitRate(3).time_for(Bytes(1)), Some(Nanos::from_nanos(2_666_666_667)));
        assert_eq!(BitRate(0).time_for(Bytes(1)), None);
        assert_eq!(BitRate(u64::MAX).bytes_in(Nanos::MAX), Bytes(u64::MAX));
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos::from_nanos(1) - Nanos::from_nanos(2), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos::from_nanos(1), Nanos::MAX);
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos::MAX);
        assert_eq!(Nanos::from_duration(Duration::MAX), Nanos::MAX);
        assert_eq!([Bytes(u64::MAX), Bytes(7)].into_iter().sum::<Bytes>(), Bytes(u64::MAX));
    }

    #[test]
    fn json_is_the_bare_number() {
        assert_eq!(serde_json::to_string(&BitRate(25_000_000_000)).unwrap(), "25000000000");
        assert_eq!(serde_json::from_str::<Nanos>("7").unwrap(), Nanos::from_nanos(7));
    }
}
