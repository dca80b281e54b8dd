//! Printed figures: what was printed, and how far off the true one may be.

use model::framing::LARGEST_UDP_PAYLOAD;
use model::units::{Bytes, Nanos};

/// A figure as printed: the true one lies within half of the last digit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Printed {
    pub(super) value: f64,
    pub(super) half: f64,
}

impl Printed {
    /// Reads `1.02`, `1,02` (a locale's comma) or `-3`; nothing else, so neither `nan` nor `1e9`.
    pub(super) fn from_text(text: &str) -> Option<Printed> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (printed, length) = Printed::at_begin(digits);
        let printed = printed.filter(|_| length == digits.len())?;
        let value = if digits.len() < text.len() { -printed.value } else { printed.value };
        Some(Printed { value, ..printed })
    }

    /// Reads the number without a sign that a text begins with, and returns its length, too.
    pub(super) fn at_begin(text: &str) -> (Option<Printed>, usize) {
        let (mut mantissa, mut point, mut length) = (0_u64, None, 0);
        for byte in text.bytes() {
            match byte {
                b'0'..=b'9' => mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')),
                b'.' | b',' if point.is_none() => point = Some(length),
                _ => break,
            }
            length += 1;
        }
        let decimals = point.map_or(0, |at| length - at - 1);
        let value = match length - usize::from(point.is_some()) {
            _ if length > LONGEST => None,
            0 => None,
            // A quotient of exact numbers is rounded once, as the standard library rounds a decimal number.
            1..=EXACT_DIGITS => Some(mantissa as f64 / TENS[decimals]),
            _ => text[..length].replace(',', ".").parse().ok(),
        };
        (value.map(|value| Printed { value, half: 0.5 * TENTHS[decimals] }), length)
    }

    /// The figure as seconds of a test.
    pub(super) fn seconds(self) -> Option<Nanos> {
        (0.0..MOST_SECONDS).contains(&self.value).then(|| Nanos(rounded(self.value * 1e9)))
    }

    fn times(self, factor: f64) -> Printed {
        Printed { value: self.value * factor, half: self.half * factor }
    }

    /// An amount: `1.02 GBytes`, `128 KByte`, `0.00 Bytes`. Prefixes are powers of 1024, as both iPerfs print them.
    pub(super) fn bytes(number: &str, unit: &str) -> Option<Printed> {
        Printed::from_text(number)?.bytes_of(unit)
    }

    /// The amount of so many of a unit.
    pub(super) fn bytes_of(self, unit: &str) -> Option<Printed> {
        let factor = match unit {
            // Nearly every row has two of these.
            "KBytes" => 1024.0,
            "MBytes" => 1024.0 * 1024.0,
            "GBytes" => 1024.0 * 1024.0 * 1024.0,
            "Mbits" => 1e6 / 8.0,
            "Gbits" => 1e9 / 8.0,
            _ => factor(unit)?,
        };
        Some(self.times(factor)).filter(|printed| printed.value >= 0.0)
    }

    /// A rate in bits per second: `8.70 Gbits/sec` by powers of 1000, `1.02 GBytes/sec` by powers of 1024.
    pub(super) fn rate(number: &str, unit: &str) -> Option<Printed> {
        let unit = unit.strip_suffix("/sec").or_else(|| unit.strip_suffix("/s"))?;
        Printed::bytes(number, unit).map(|printed| printed.times(8.0))
    }

    pub(super) fn low(self) -> f64 {
        self.value - self.half
    }

    pub(super) fn high(self) -> f64 {
        self.value + self.half
    }
}

/// The ranges that a printed amount, rate and time allow together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) bytes: Bytes,
    pub(super) elapsed: Nanos,
    /// No amount, rate and time within what was rounded fit each other.
    pub(super) contradictory: bool,
}

/// The amount and the time that fit all three. A time that is rounded more than the others yields to them: a printed rate is
/// not overruled by it. `half`: half of the last digit of the time.
pub(super) fn agreed(bytes: Printed, rate: Option<Printed>, elapsed: Nanos, half: Nanos) -> Agreed {
    let plain = Agreed { bytes: refined(bytes, rate, elapsed), elapsed, contradictory: false };
    let Some(rate) = rate.filter(|rate| rate.value > 0.0 && bytes.value > 0.0 && elapsed.0 > 0) else {
        return plain;
    };
    let (time, half) = (elapsed.as_secs_f64(), half.as_secs_f64());
    let least = 8.0 * bytes.low().max(0.0) / rate.high();
    let most = if rate.low() > 0.0 { 8.0 * bytes.high() / rate.low() } else { f64::INFINITY };
    if (least..=most).contains(&time) {
        return plain;
    }
    let (least, most) = (least.max(time - half), most.min(time + half));
    if least > most {
        let off = bytes.value * 8.0 / time / rate.value;
        return Agreed { contradictory: !(1.0 - APART..=1.0 + APART).contains(&off), ..plain };
    }
    let elapsed = Nanos(rounded(f64::midpoint(least, most) * 1e9));
    Agreed { bytes: refined(bytes, Some(rate), elapsed), elapsed, contradictory: false }
}

/// The amount that fits both a printed amount and a printed rate over a time: narrower than either alone.
pub(super) fn refined(bytes: Printed, rate: Option<Printed>, elapsed: Nanos) -> Bytes {
    let eighth = elapsed.as_secs_f64() / 8.0;
    let by_rate = rate.filter(|rate| rate.value > 0.0 && eighth > 0.0).map(|rate| rate.times(eighth));
    let (mut low, mut high) = (bytes.low(), bytes.high());
    if let Some(other) = by_rate.filter(|other| other.low() < high && other.high() > low) {
        (low, high) = (low.max(other.low()), high.min(other.high()));
    }
    if bytes.value == 0.0 {
        return Bytes(0);
    }
    Bytes(rounded(f64::midpoint(low, high).max(0.0)))
}

/// The nearest whole number, as `round` has it, which is a call where it is compiled for every processor.
pub(super) fn rounded(value: f64) -> u64 {
    let whole = value as u64;
    whole.saturating_add(u64::from(value - whole as f64 >= 0.5))
}

/// A time of `10.17` seconds.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    Printed::from_text(text)?.seconds()
}

/// The whole number that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<u64> {
    text.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The size of each datagram, from what is known of amounts and counts: the sizes that fit all of them, and of these one
/// that people use, `likely` before others.
pub(super) fn datagram_size(pairs: &[(Printed, u64)], likely: u32) -> Option<u32> {
    let fits = pairs.iter().filter(|(bytes, count)| bytes.value > 0.0 && *count > 0);
    let bounds = fits.map(|(bytes, count)| (bytes.low() / *count as f64, bytes.high() / *count as f64));
    let (low, high) = bounds.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    // A count that is off by one or two moves the bounds a little.
    let (low, high) = ((low * (1.0 - SLACK)).ceil() as u32, (high * (1.0 + SLACK)).floor() as u32);
    let usual = std::iter::once(likely).chain(USUAL.iter().copied()).find(|size| (low..=high).contains(size));
    let power = low.max(1).checked_next_power_of_two().filter(|size| *size <= high && *size >= 64);
    let round = [1000, 100, 10].into_iter().map(|step| low.next_multiple_of(step)).find(|size| *size <= high);
    let found = power.or(usual).or(round).unwrap_or(u32::midpoint(low, high));
    (low <= high && (1..=LARGEST_UDP_PAYLOAD).contains(&found)).then_some(found)
}

/// Bytes of a unit.
fn factor(unit: &str) -> Option<f64> {
    match unit.trim_end_matches('s').strip_suffix("Byte") {
        Some(prefix) => power(prefix, 1024.0),
        None => Some(power(unit.trim_end_matches('s').strip_suffix("bit")?, 1000.0)? / 8.0),
    }
}

fn power(prefix: &str, base: f64) -> Option<f64> {
    let exponent = match prefix {
        "" => 0,
        "K" | "k" => 1,
        "M" | "m" => 2,
        "G" | "g" => 3,
        "T" | "t" => 4,
        _ => return None,
    };
    Some(base.powi(exponent))
}

/// The first powers of a number, as `powi` has them.
const fn powers(base: f64) -> [f64; LONGEST + 1] {
    let mut powers = [1.0; LONGEST + 1];
    let mut exponent = 0;
    while exponent <= LONGEST {
        let (mut left, mut square, mut power) = (exponent, base, 1.0);
        while left > 0 {
            if left % 2 == 1 {
                power *= square;
            }
            square *= square;
            left /= 2;
        }
        powers[exponent] = power;
        exponent += 1;
    }
    powers
}

const TENS: [f64; LONGEST + 1] = powers(10.0);
const TENTHS: [f64; LONGEST + 1] = powers(0.1);
const LONGEST: usize = 18;
/// Numbers of so many digits are exact.
const EXACT_DIGITS: usize = 15;
const MOST_SECONDS: f64 = 1e9;
const SLACK: f64 = 0.0002;
/// Tools cut times where they print them, and some reckon a rate by another clock: less is no contradiction.
const APART: f64 = 0.1;
/// Payloads that tools and people choose, likeliest first.
const USUAL: &[u32] =
    &[1472, 1470, 1460, 1448, 1450, 1452, 1400, 1280, 1440, 8972, 8948, 1500, 9000, 1000, 100];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_all_kinds() {
        let bytes = |number, unit| Printed::bytes(number, unit).map(|printed| printed.value);
        assert_eq!(bytes("1.50", "GBytes"), Some(1.5 * 1024.0 * 1024.0 * 1024.0));
        assert_eq!(bytes("128", "KByte"), Some(131_072.0));
        assert_eq!(bytes("0.00", "Bytes"), Some(0.0));
        assert_eq!(bytes("8,00", "Kbits"), Some(1000.0));
        assert_eq!(bytes("-1", "Bytes"), None);
        assert_eq!(bytes("1", "apples"), None);
        let rate = |number, unit| Printed::rate(number, unit).map(|printed| printed.value);
        assert_eq!(rate("9.41", "Gbits/sec"), Some(9.41e9));
        assert_eq!(rate("1.00", "MBytes/sec"), Some(8.0 * 1_048_576.0));
        assert_eq!(rate("1.00", "MBytes"), None);
        for text in ["nan", "-nan", "inf", "", ".", "-", "1e9", "1.2.3", "1,234,567", "99999999999999999999"]
        {
            assert_eq!(Printed::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn usual_units_are_what_any_unit_is() {
        for unit in ["KBytes", "MBytes", "GBytes", "Mbits", "Gbits"] {
            let value = Printed::bytes("1", unit).map(|printed| printed.value);
            assert_eq!(value, factor(unit), "{unit}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_the_standard_library() {
        let below_half = 0.5_f64.next_down();
        let large = [4_503_599_627_370_497.0, 9_007_199_254_740_993.0, 1e19, 1e300, f64::INFINITY];
        let small = [0.0, below_half, 0.5, 1.5, 2.5, 1e9 - 0.5, -0.5, -7.0, f64::NAN];
        for value in large.into_iter().chain(small) {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
        }
        let mut value = 0.37;
        while value < 1e19 {
            assert_eq!(rounded(value), value.round() as u64, "{value}");
            value *= 1.001;
        }
    }

    #[test]
    fn powers_are_those_of_the_standard_library() {
        for exponent in 0..=LONGEST {
            let power = |base: f64| base.powi(i32::try_from(exponent).unwrap());
            assert_eq!((TENS[exponent], TENTHS[exponent]), (power(10.0), power(0.1)), "{exponent}");
        }
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let (digits, decimals) = (seed % 10_u64.pow((seed % 17 + 1) as u32), (seed >> 40) as usize % 10);
            let text = format!("{digits:0width$}", width = decimals + 1);
            let (whole, fraction) = text.split_at(text.len() - decimals);
            let sign = if seed & 1 == 0 { "-" } else { "" };
            let text =
                if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") };
            let expected = text.parse::<f64>().ok().filter(|_| text.trim_start_matches('-').len() <= LONGEST);
            assert_eq!(Printed::from_text(&text).map(|printed| printed.value), expected, "{text}");
        }
    }

    #[test]
    fn two_printed_figures_narrow_each_other() {
        // 161 MBytes in 10.17 s would print 133 Mbit/s, were it not less than 161 by up to a half.
        let bytes = Printed::bytes("161", "MBytes").unwrap();
        let rate = Printed::rate("132", "Mbits/sec");
        let found = refined(bytes, rate, Nanos::from_millis(10_170)).0 as f64 * 8.0 / 10.17;
        assert!((132.38e6..132.5e6).contains(&found), "{found}");
    }

    #[test]
    fn sizes_of_datagrams() {
        let pair = |number, count| (Printed::bytes(number, "MBytes").unwrap(), count);
        assert_eq!(datagram_size(&[pair("881", 112_740)], 1472), Some(8192));
        assert_eq!(datagram_size(&[pair("528", 376_260), pair("529", 376_560)], 1472), Some(1472));
        assert_eq!(datagram_size(&[pair("528", 376_260), pair("1.00", 7)], 1472), None);
        assert_eq!(datagram_size(&[], 1472), None);
    }
}
