//! Numbers as iPerf3 reads them: C's `atoi`, `atof` and `strtol`, and its own K, M, G and T.
//!
//! What follows a number is passed over, as there (`-t 10s` is 10). A text without any digit is refused: C would take
//! it for 0, which for most options means something else altogether.

use super::Fault;
use model::units::{BitRate, Nanos};

/// A whole number in decimal: `atoi`.
pub(super) fn whole(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let end = text.char_indices().find(|&(i, c)| !(c.is_ascii_digit() || i == 0 && "+-".contains(c)));
    text[..end.map_or(text.len(), |(i, _)| i)].parse().ok()
}

/// A whole number in decimal, octal after `0`, or hexadecimal after `0x`: `strtol` with base 0.
pub(super) fn any_base(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (digits, base) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        _ if text.starts_with('0') => (text, 8),
        _ => return whole(text),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    i64::from_str_radix(&digits[..end], base).ok()
}

/// A whole number within bounds, or iPerf3's sentence for the option.
pub(super) fn within(text: &str, least: i64, most: i64, refusal: &str) -> Result<u32, Fault> {
    let number = whole(text).filter(|number| (least..=most).contains(number));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| Fault::parameter(refusal))
}

/// Seconds with decimals: `atof`.
pub(super) fn seconds(text: &str) -> Option<f64> {
    number(text).map(|(number, _)| number)
}

/// A span in nanoseconds; the seconds were checked to be few.
pub(super) fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
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

/// The decimal number that a text begins with, and what is left.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let number: f64 = text[..end].parse().ok()?;
    Some((number, &text[end..]))
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

    #[test]
    fn whole_numbers_stop_where_c_stops() {
        for (text, value) in
            [("10", Some(10)), ("10s", Some(10)), ("1.5", Some(1)), ("-3", Some(-3)), ("", None), ("x", None)]
        {
            assert_eq!(whole(text), value, "{text}");
        }
        for (text, value) in [
            ("0x34", Some(52)),
            ("064", Some(52)),
            ("52", Some(52)),
            ("0", Some(0)),
            ("0x", None),
            ("é", None),
        ] {
            assert_eq!(any_base(text), value, "{text}");
        }
        assert_eq!(seconds("0.5"), Some(0.5));
        assert_eq!(nanos(0.1), Nanos(100_000_000));
    }
}
