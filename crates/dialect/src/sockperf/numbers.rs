//! Numbers as sockperf reads them: C's `strtol` with base 0, so `0x10` and `010` are numbers too. Where C passes over
//! what follows a number and takes a word for 0, this refuses both.

use super::Fault;

/// A whole number within bounds, or sockperf's complaint about this option.
pub(super) fn within(text: &str, least: i64, most: i64, option: &str, what: &str) -> Result<u32, Fault> {
    let number = whole(text).filter(|number| (least..=most).contains(number));
    let refused = || Fault::bad(format!("'{option}' Invalid {what}: {text} ({least} to {most})"));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(refused)
}

/// `strtol(text, NULL, 0)` of a text that is a number to its end.
pub(super) fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, base) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        None => (digits, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i64::from_str_radix(digits, base).ok().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_base() {
        for (text, number) in
            [("0", 0), ("12", 12), ("-3", -3), ("+4", 4), ("0x1F", 31), ("010", 8), ("-0x2", -2)]
        {
            assert_eq!(whole(text), Some(number), "{text}");
        }
        for text in ["", "x", "12k", "1.5", "08", "--1", "+-1", "0x", "99999999999999999999"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
