//! Numbers as C reads them for both iPerfs: `atoi`, `atof` and `strtol`.
//!
//! Text after a number is ignored, as there (`-t 10s` is 10). A text without any digit is not a number here: C would take it for
//! 0, which for most options means something else altogether.

use model::marks::Dscp;
use model::units::Nanos;

/// A whole number in decimal: `atoi`.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let end = text.char_indices().find(|&(i, c)| !(c.is_ascii_digit() || i == 0 && "+-".contains(c)));
    text[..end.map_or(text.len(), |(i, _)| i)].parse().ok()
}

/// A whole number in decimal, octal after `0`, or hexadecimal after `0x`: `strtol` with base 0.
pub(crate) fn any_base(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let (digits, base) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        _ if text.starts_with('0') => (text, 8),
        _ => return whole(text),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    i64::from_str_radix(&digits[..end], base).ok()
}

/// A code point by its name, or as a number of any base below 64 with nothing behind it.
pub(crate) fn code_point(text: &str) -> Option<Dscp> {
    let number = || {
        let (digits, base) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None if text.len() > 1 && text.starts_with('0') => (text, 8),
            None => (text, 10),
        };
        u8::from_str_radix(digits, base).ok().filter(|value| *value < 64).map(Dscp)
    };
    Dscp::named(text).or_else(number)
}

/// Seconds with decimals: `atof`.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    number(text).map(|(number, _)| number)
}

/// A span in nanoseconds; the seconds were checked to be few.
pub(crate) fn nanos(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

/// The decimal number that a text begins with, and what is left.
pub(crate) fn number(text: &str) -> Option<(f64, &str)> {
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
        assert_eq!(nanos(0.1), Nanos::from_millis(100));
    }
}
