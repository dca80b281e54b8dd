//! Printing units: a scaled decimal with three significant digits, rounded half up in integers.

use super::{BitRate, Bytes, Nanos, PacketRate};
use std::fmt::{Alignment, Display, Formatter, Result};

impl Display for BitRate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print(f, self.0, &DECIMAL, "bit/s")
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print(f, self.0, if f.alternate() { &BINARY } else { &DECIMAL }, "B")
    }
}

impl Display for PacketRate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print(f, self.0, &DECIMAL, "pps")
    }
}

impl Display for Nanos {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        print(f, self.0, &TIME, "s")
    }
}

type Steps = [(u64, &'static str)];

fn print(f: &mut Formatter<'_>, value: u64, steps: &Steps, unit: &str) -> Result {
    pad(f, &format!("{}{unit}", scaled(value, steps, f.precision())))
}

/// The number in the largest prefix it reaches once rounded, with its prefix: `9.41 G`.
fn scaled(value: u64, steps: &Steps, asked: Option<usize>) -> String {
    let reached = steps.iter().rposition(|&(size, _)| value >= size).unwrap_or(0);
    let (size, prefix) = steps[reached];
    let decimals = decimals_for(value, size, asked);
    let (rounded, factor) = rounded(value, size, decimals);
    if let Some(&(next, _)) = steps.get(reached + 1)
        && rounded * u128::from(size) >= u128::from(next) * factor
    {
        return scaled(next, steps, asked);
    }
    match decimals {
        0 => format!("{rounded} {prefix}"),
        _ => format!("{}.{:0decimals$} {prefix}", rounded / factor, rounded % factor),
    }
}

/// The requested decimals, or those that make three significant digits; none in the base unit, which is not divided.
fn decimals_for(value: u64, size: u64, asked: Option<usize>) -> usize {
    if size == 1 {
        return 0;
    }
    let three_digits =
        || (0..=2).rev().find(|&decimals| rounded(value, size, decimals).0 < 1000).unwrap_or(0);
    asked.map_or_else(three_digits, |asked| asked.min(MAX_DECIMALS))
}

/// `value` in units of `size` with this many decimals, as an integer and its divisor.
fn rounded(value: u64, size: u64, decimals: usize) -> (u128, u128) {
    let factor = (0..decimals).fold(1, |factor: u128, _| factor * 10);
    ((u128::from(value) * factor + u128::from(size) / 2) / u128::from(size), factor)
}

fn pad(f: &mut Formatter<'_>, text: &str) -> Result {
    let width = f.width().unwrap_or(0);
    match f.align() {
        Some(Alignment::Left) => write!(f, "{text:<width$}"),
        Some(Alignment::Center) => write!(f, "{text:^width$}"),
        Some(Alignment::Right) | None => write!(f, "{text:>width$}"),
    }
}

/// More decimals are meaningless for a 64-bit number, and would overflow.
const MAX_DECIMALS: usize = 9;

const DECIMAL: [(u64, &str); 5] =
    [(1, ""), (1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G"), (1_000_000_000_000, "T")];
const BINARY: [(u64, &str); 5] =
    [(1, ""), (1 << 10, "Ki"), (1 << 20, "Mi"), (1 << 30, "Gi"), (1 << 40, "Ti")];
const TIME: [(u64, &str); 4] = [(1, "n"), (1_000, "µ"), (1_000_000, "m"), (1_000_000_000, "")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        assert_eq!(BitRate(9_412_000_000).to_string(), "9.41 Gbit/s");
        assert_eq!(BitRate(0).to_string(), "0 bit/s");
        assert_eq!(BitRate(999).to_string(), "999 bit/s");
        assert_eq!(BitRate(94_149_999_999).to_string(), "94.1 Gbit/s");
        assert_eq!(PacketRate(1_942_334).to_string(), "1.94 Mpps");
        assert_eq!(Nanos::from_secs(10).to_string(), "10.0 s");
        assert_eq!(Nanos::from_micros(350).to_string(), "350 µs");
        assert_eq!(Nanos::from_nanos(5).to_string(), "5 ns");
        assert_eq!(Nanos::from_secs(3600).to_string(), "3600 s");
        assert_eq!(Bytes(1_342_177_280).to_string(), "1.34 GB");
        assert_eq!(format!("{:#}", Bytes(1_342_177_280)), "1.25 GiB");
    }

    #[test]
    fn rounding_carries_into_the_next_digit_and_prefix() {
        assert_eq!(BitRate(9_995_000).to_string(), "10.0 Mbit/s");
        assert_eq!(BitRate(9_994_999).to_string(), "9.99 Mbit/s");
        assert_eq!(BitRate(999_500).to_string(), "1.00 Mbit/s");
        assert_eq!(BitRate(999_499).to_string(), "999 kbit/s");
        assert_eq!(format!("{:#}", Bytes((1 << 20) - 1)), "1.00 MiB");
        assert_eq!(BitRate(u64::MAX).to_string(), "18446744 Tbit/s");
    }

    #[test]
    fn decimals_and_width_as_asked() {
        assert_eq!(format!("{:.2}", BitRate(23_537_061_118)), "23.54 Gbit/s");
        assert_eq!(format!("{:.30}", BitRate(u64::MAX)), "18446744.073709552 Tbit/s");
        assert_eq!(format!("{:>14}|", PacketRate(1_940_000)), "     1.94 Mpps|");
        assert_eq!(format!("{:<11}|", PacketRate(1_940_000)), "1.94 Mpps  |");
    }
}
