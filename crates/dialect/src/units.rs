//! Numbers as both iPerfs print them: a value in its unit, and C's `%g`.

use model::units::without_zeros;

/// A number of bytes (per second) in the unit of a letter, and the unit's name: lower case for bits and steps of 1000,
/// upper case for bytes and steps of 1024; `b`, `k`, `m`, `g`, `t`, or anything else for the largest unit reached.
pub(crate) fn scaled(bytes: f64, letter: char) -> (f64, String) {
    let in_bytes = letter.is_ascii_uppercase();
    let (value, step, name) = if in_bytes { (bytes, 1024.0, "Byte") } else { (bytes * 8.0, 1000.0, "bit") };
    let power = match letter.to_ascii_lowercase() {
        'b' => 0,
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => (0..4).take_while(|power| value >= power_of(step, power + 1)).count(),
    };
    // Multiplied by the rounded factor and not divided, as iPerf does: the last digit can hang on it.
    let scaled = value * (0..power).fold(1.0, |factor: f64, _| factor / step);
    (scaled, format!("{}{name}", ["", "K", "M", "G", "T"][power]))
}

fn power_of(step: f64, power: usize) -> f64 {
    (0..power).fold(1.0, |value, _| value * step)
}

/// 100 × part ÷ whole, or nothing of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 }
}

/// C's `%.2g`: two significant digits, exponent below 0.0001 and from 100 on.
pub(crate) fn two_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    significant(value, 2)
}

/// C's `%.{digits}g`, of a finite number.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} always writes an e");
    let exponent: i32 = exponent.parse().expect("{:e} writes a decimal exponent");
    let last = i32::try_from(digits).expect("a double has 17 digits");
    if (-4..last).contains(&exponent) {
        let decimals = usize::try_from(last - 1 - exponent).expect("the exponent is below the digits");
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_as_c_prints_it() {
        for (value, text) in [
            (0.0, "0"),
            (0.001, "0.001"),
            (33.6, "34"),
            (99.4, "99"),
            (99.6, "1e+02"),
            (100.0, "1e+02"),
            (4.284, "4.3"),
            (0.05, "0.05"),
            (0.000_012_34, "1.2e-05"),
            (10.0, "10"),
            (9.96, "10"),
        ] {
            assert_eq!(two_digits(value), text, "{value}");
        }
    }
}
