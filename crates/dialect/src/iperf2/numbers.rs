//! Numbers as iPerf2 means them: k, m and g are powers of 1000, K, M and G of 1024, in rates too.

use super::Fault;
use crate::numbers::number;

/// A whole number of bytes, bits/s or the like. iPerf2 reads a suffix that it does not know as 0 or ignores it; here it is
/// refused.
pub(super) fn amount(option: &str, text: &str) -> Result<u64, Fault> {
    let refused = || Fault::value(option, text, "a number, with k, m, g (of 1000) or K, M, G (of 1024)");
    let (number, rest) = number(text).ok_or_else(refused)?;
    let factor: f64 = match rest {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(refused()),
    };
    let value = number * factor;
    if (0.0..9e18).contains(&value) { Ok(value as u64) } else { Err(refused()) }
}

/// The same within bounds.
pub(super) fn within(option: &str, text: &str, least: u32, most: u32) -> Result<u32, Fault> {
    let value = amount(option, text)?;
    let value = u32::try_from(value).ok().filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| Fault::value(option, text, &format!("{least} to {most}")))
}

/// Seconds, or another real number, to its end.
pub(super) fn real(option: &str, text: &str, least: f64, most: f64) -> Result<f64, Fault> {
    let value = number(text).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value);
    let refused = || Fault::value(option, text, &format!("a number from {least} to {most}"));
    value.filter(|value| (least..=most).contains(value)).ok_or_else(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_are_decimal_and_capitals_binary() {
        for (text, value) in [
            ("0", 0),
            ("100M", 104_857_600),
            ("100m", 100_000_000),
            ("1.5g", 1_500_000_000),
            ("2G", 2_147_483_648),
            ("64K", 65_536),
            ("8k", 8000),
        ] {
            assert_eq!(amount("-l", text), Ok(value), "{text}");
        }
        for text in ["", "x", "-1", "1x", "1T", "1Mb", "1e30", "nan", "inf"] {
            assert!(amount("-l", text).is_err(), "{text}");
        }
        assert!(within("-P", "129", 1, 128).is_err() && within("-P", "0", 1, 128).is_err());
        assert_eq!(real("-i", "0.5", 0.0, 1.0), Ok(0.5));
        assert!(real("-t", "10s", 0.0, 100.0).is_err());
    }
}
