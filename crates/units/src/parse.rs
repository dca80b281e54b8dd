//! Reading units: a decimal number, then a prefix and a unit, in exact integer arithmetic.

use super::{BitRate, Bytes, Nanos, PacketRate};
use std::str::FromStr;
use thiserror::Error;

/// Why a text is not a number of the requested quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("read {quantity} `{text}`: {fault}")]
pub struct UnitError {
    /// The text as it was given.
    text: String,
    /// The requested quantity.
    quantity: &'static str,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum Fault {
    /// The text is not a decimal number followed by a known unit.
    #[error("expected a number with an optional unit, such as {accepted}")]
    Malformed { accepted: &'static str },
    /// The number is below zero.
    #[error("it cannot be negative; write it such as {accepted}")]
    Negative { accepted: &'static str },
    /// The number does not fit 64 bits in its base unit.
    #[error("too large, the most is {max} {base}", max = u64::MAX)]
    TooLarge { base: &'static str },
    /// The number is above zero but less than half of one base unit.
    #[error("too small, the least above zero is 1 {base}")]
    TooSmall { base: &'static str },
}

/// Reads each of the types as its quantity.
macro_rules! read_as {
    ($($unit:ident: $quantity:ident),*) => {$(
        impl FromStr for $unit {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<$unit, UnitError> {
                let failed = |fault| UnitError { text: text.to_owned(), quantity: $quantity.name, fault };
                read(text, &$quantity).map($unit).map_err(failed)
            }
        }
    )*};
}

read_as!(BitRate: RATE, Bytes: SIZE, PacketRate: PACKETS, Nanos: TIME);

struct Quantity {
    name: &'static str,
    base: &'static str,
    accepted: &'static str,
    factor: fn(&str) -> Option<u128>,
}

fn read(text: &str, quantity: &Quantity) -> Result<u64, Fault> {
    let Quantity { base, accepted, factor, .. } = *quantity;
    let malformed = Fault::Malformed { accepted };
    let trimmed = text.trim();
    if let Some(rest) = trimmed.strip_prefix('-') {
        let is_number = rest.starts_with(|first: char| first.is_ascii_digit() || first == '.');
        return Err(if is_number { Fault::Negative { accepted } } else { malformed });
    }
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(malformed);
    }
    let factor = factor(unit.trim_start()).ok_or(malformed)?;
    let value = scale(whole, fraction, factor).ok_or(Fault::TooLarge { base })?;
    let is_zero = number.bytes().all(|digit| digit == b'0' || digit == b'.');
    if value == 0 && !is_zero { Err(Fault::TooSmall { base }) } else { Ok(value) }
}

/// `whole.fraction` times `factor`, rounded half up; `None` when it does not fit.
fn scale(whole: &str, fraction: &str, factor: u128) -> Option<u64> {
    let mut total: u128 = 0;
    for digit in whole.bytes() {
        total = total.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
    }
    let whole = total.checked_mul(factor)?;
    let kept = &fraction[..fraction.len().min(FRACTION_DIGITS)];
    let mut numerator: u128 = 0;
    let mut denominator: u128 = 1;
    for digit in kept.bytes() {
        numerator = numerator * 10 + u128::from(digit - b'0');
        denominator *= 10;
    }
    let part = (numerator * factor + denominator / 2) / denominator;
    u64::try_from(whole.checked_add(part)?).ok()
}

fn rate_factor(unit: &str) -> Option<u128> {
    let (prefix, unit) = split_prefix(unit, 1000)?;
    match unit {
        "" | "b" | "bps" | "b/s" | "bit" | "bits" | "bit/s" | "bits/s" => Some(prefix),
        "B/s" | "Bps" => Some(prefix * 8),
        _ => None,
    }
}

fn size_factor(unit: &str) -> Option<u128> {
    let (bare, rest) = split_prefix(unit, 1024)?;
    match rest {
        "" => Some(bare),
        "B" => split_prefix(unit, 1000).map(|(decimal, _)| decimal),
        _ => None,
    }
}

fn packets_factor(unit: &str) -> Option<u128> {
    let (prefix, unit) = split_prefix(unit, 1000)?;
    matches!(unit, "" | "pps" | "p/s").then_some(prefix)
}

fn time_factor(unit: &str) -> Option<u128> {
    match unit {
        "ns" => Some(1),
        "us" | "µs" | "μs" => Some(1_000),
        "ms" => Some(1_000_000),
        "" | "s" => Some(1_000_000_000),
        "m" | "min" => Some(60_000_000_000),
        "h" => Some(3_600_000_000_000),
        _ => None,
    }
}

/// Takes `K`, `M`, `G`, `T` in either case off the front; an `i` behind it makes the prefix binary.
fn split_prefix(unit: &str, base: u128) -> Option<(u128, &str)> {
    let Some(first) = unit.chars().next() else { return Some((1, "")) };
    let power = match first.to_ascii_uppercase() {
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        _ => return Some((1, unit)),
    };
    let rest = &unit[1..];
    Some(match rest.strip_prefix('i') {
        Some(rest) => (1024_u128.pow(power), rest),
        None => (base.pow(power), rest),
    })
}

/// Digits of a fraction that are read: every factor is under 2^44, so the others amount to less than a millionth of a unit.
const FRACTION_DIGITS: usize = 20;

const RATE: Quantity = Quantity {
    name: "rate",
    base: "bit/s",
    accepted: "10G, 9.4Gbit/s, 25Gbps, 100M, 8Mibit/s, 1.25MB/s or 0",
    factor: rate_factor,
};
const SIZE: Quantity = Quantity {
    name: "size",
    base: "bytes",
    accepted: "1472, 128KiB, 128K (both 1024) or 128kB (1000)",
    factor: size_factor,
};
const PACKETS: Quantity = Quantity {
    name: "packet rate",
    base: "packet/s",
    accepted: "1.2Mpps, 500kpps or 1000",
    factor: packets_factor,
};
const TIME: Quantity = Quantity {
    name: "time",
    base: "ns",
    accepted: "10s, 500ms, 100us, 5ns, 2m, 1h or 10 (seconds)",
    factor: time_factor,
};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault<T: FromStr<Err = UnitError> + std::fmt::Debug>(text: &str) -> Fault {
        text.parse::<T>().unwrap_err().fault
    }

    #[test]
    fn rates() {
        for (text, bits) in [
            ("0", 0),
            ("10G", 10_000_000_000),
            ("9.4Gbit/s", 9_400_000_000),
            ("9.4 Gbits/s", 9_400_000_000),
            ("25Gbps", 25_000_000_000),
            ("100M", 100_000_000),
            ("100m", 100_000_000),
            ("64k", 64_000),
            ("1.25MB/s", 10_000_000),
            ("1MBps", 8_000_000),
            ("8Mibit/s", 8 << 20),
            ("1Ki", 1024),
            (" 1.5T ", 1_500_000_000_000),
            (".5k", 500),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(BitRate(bits)), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("1472", 1472),
            ("1472B", 1472),
            ("128KiB", 131_072),
            ("128Ki", 131_072),
            ("128K", 131_072),
            ("128k", 131_072),
            ("128kB", 128_000),
            ("128KB", 128_000),
            ("1.5M", 1_572_864),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn packet_rates_and_times() {
        for (text, rate) in [("1.2Mpps", 1_200_000), ("1.2M", 1_200_000), ("1000", 1000), ("5kp/s", 5000)] {
            assert_eq!(text.parse(), Ok(PacketRate(rate)), "{text}");
        }
        for (text, nanos) in [
            ("10s", 10_000_000_000),
            ("10", 10_000_000_000),
            ("0.1", 100_000_000),
            ("500ms", 500_000_000),
            ("2m", 120_000_000_000),
            ("2min", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("5ns", 5),
            ("1.5us", 1500),
            ("0.6ns", 1),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let malformed = [
            "", " ", "G", ".", "1.2.3", "1..", "fast", "10Q", "1e9", "1 0", "10Gb/h", "0x10", "-", "-G",
            "10µ", "1KiKi",
        ];
        for text in malformed {
            assert!(matches!(fault::<BitRate>(text), Fault::Malformed { .. }), "{text}");
        }
        assert!(matches!(fault::<BitRate>("-1G"), Fault::Negative { .. }));
        assert!(matches!(fault::<BitRate>("18446744073709551616"), Fault::TooLarge { .. }));
        assert!(matches!(fault::<Bytes>(&"9".repeat(400)), Fault::TooLarge { .. }));
        assert!(matches!(fault::<Nanos>("6000000h"), Fault::TooLarge { .. }));
        assert!(matches!(fault::<BitRate>("0.4"), Fault::TooSmall { .. }));
        let message = "10Q".parse::<Bytes>().unwrap_err().to_string();
        assert!(message.contains("`10Q`") && message.contains("128KiB"), "{message}");
    }

    proptest! {
        #[test]
        fn any_text_is_an_answer_and_no_panic(text in "\\PC*") {
            let _ = text.parse::<BitRate>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanos>();
        }

        #[test]
        fn every_whole_number_reads_back(value: u64) {
            prop_assert_eq!(format!("{value}bit/s").parse(), Ok(BitRate(value)));
            prop_assert_eq!(format!("{value}ns").parse(), Ok(Nanos(value)));
            let seconds = format!("{}.{:09}s", value / 1_000_000_000, value % 1_000_000_000);
            prop_assert_eq!(seconds.parse(), Ok(Nanos(value)));
        }

        #[test]
        fn what_is_printed_reads_back_within_its_digits(value: u64) {
            for printed in [BitRate(value).to_string(), format!("{:.3}", BitRate(value))] {
                let read: BitRate = printed.parse().unwrap();
                prop_assert!(read.0.abs_diff(value) <= value / 200, "{}", printed);
            }
        }
    }
}
