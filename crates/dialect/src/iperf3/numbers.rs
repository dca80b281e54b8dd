//! Numbers as iPerf3 reads them: C's `atoi`, `atof` and `strtol`, and its own K, M, G and T.
//!
//! Text after a number is ignored, as there (`-t 10s` is 10). A text without any digit is refused: C would take it for 0, which
//! for most options means something else altogether.

pub(super) use crate::numbers::{any_base, nanos, seconds, whole};

use super::Fault;
use crate::numbers::number;
use model::units::BitRate;

/// A whole number within bounds, or iPerf3's sentence for the option.
pub(super) fn within(text: &str, least: i64, most: i64, refusal: &str) -> Result<u32, Fault> {
    let number = whole(text).filter(|number| (least..=most).contains(number));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| Fault::parameter(refusal))
}

/// Bytes, blocks, microseconds: K, M, G and T are powers of 1024.
pub(super) fn amount(text: &str) -> Result<u64, Fault> {
    scaled(text, 1024.0)
}

/// Bits per second: K, M, G and T are powers of 1000.
pub(super) fn rate(text: &str) -> Result<BitRate, Fault> {
    scaled(text, 1000.0).map(BitRate)
}

fn scaled(text: &str, base: f64) -> Result<u64, Fault> {
    let refused = || Fault::parameter(format!("invalid unit value or suffix: '{text}'"));
    let (number, rest) = number(text).ok_or_else(refused)?;
    let power = match rest.chars().next().map(|c| c.to_ascii_lowercase()) {
        None => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return Err(refused()),
    };
    let value = number * base.powi(power);
    if (0.0..18e18).contains(&value) { Ok(value as u64) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_decimal_for_rates_and_binary_for_amounts() {
        for (text, bits, bytes) in [
            ("0", 0, 0),
            ("100M", 100_000_000, 104_857_600),
            ("1.5g", 1_500_000_000, 1_610_612_736),
            ("2T", 2_000_000_000_000, 2_199_023_255_552),
            ("1e3", 1000, 1000),
            ("1e", 1, 1),
            ("10Kbit", 10_000, 10_240),
            (" 7", 7, 7),
        ] {
            if text == "1e" {
                assert!(rate(text).is_err() && amount(text).is_err());
                continue;
            }
            assert_eq!((rate(text), amount(text)), (Ok(BitRate(bits)), Ok(bytes)), "{text}");
        }
        for text in ["", "x", "-1", "1x", "1e30", "1e999", ".", "-", "+", "e", "1 0"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
