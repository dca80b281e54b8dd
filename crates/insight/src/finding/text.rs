//! Figures in words, for the sentences of findings.

use model::units::BitRate;

/// A share, 0 to 1, in percent with three significant digits: `4.28 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = (share * 100.0).min(MOST_PERCENT);
    match value {
        99.95.. | 0.0 => format!("{value:.0} %"),
        9.995.. => format!("{value:.1} %"),
        0.9995.. => format!("{value:.2} %"),
        0.09995.. => format!("{value:.3} %"),
        LEAST_PERCENT.. => {
            let zeros = -value.log10().floor();
            format!("{value:.*} %", 2 + zeros as usize)
        }
        _ => format!("under {LEAST_PERCENT} %"),
    }
}

/// How many times: three significant digits, one after the point at most: `2.5`, `72.7`, `727`, `1 160`.
pub(super) fn ratio(value: f64) -> String {
    match value {
        1000.0.. => significant(value),
        99.95.. => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

/// A count that was not counted one by one: three significant digits, thousands set apart.
#[must_use]
pub fn significant(value: f64) -> String {
    let step = 10_f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
    grouped(((value / step).round() * step) as u64)
}

/// `1 datagram`, `12 datagrams`.
pub(super) fn count(number: impl Into<u64>, of: &str) -> String {
    let number = number.into();
    if number == 1 { format!("1 {of}") } else { format!("{} {of}s", grouped(number)) }
}

/// A count with its thousands set apart, by spaces that break no line: `374 973`.
#[must_use]
pub fn grouped(count: impl Into<u64>) -> String {
    let digits = count.into().to_string();
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let parts = Some(head.to_owned()).into_iter().filter(|head| !head.is_empty()).chain(groups);
    parts.collect::<Vec<_>>().join("\u{a0}")
}

/// A rate as the options take it, rounded down to two digits: `4.2G`, `950K`.
pub(super) fn option(rate: BitRate) -> String {
    let digits = rate.0.max(1).ilog10();
    let step = 10_u64.pow(digits.saturating_sub(1));
    let rounded = rate.0 / step * step;
    let in_unit = |unit: u64, name: &str| format!("{}{name}", rounded as f64 / unit as f64);
    match digits {
        9.. => in_unit(1_000_000_000, "G"),
        6.. => in_unit(1_000_000, "M"),
        3.. => in_unit(1_000, "K"),
        _ => rounded.to_string(),
    }
}

/// For the beginning of a sentence; an address stays as it is.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !begins_with_a_name(text) => first.to_uppercase().chain(letters).collect(),
        _ => text.into(),
    }
}

/// For the middle of a sentence; names in capitals (TCP, UDP) and addresses stay.
pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() && !begins_with_a_name(text) => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => text.into(),
    }
}

/// Of a host: an address, or a name with a domain.
fn begins_with_a_name(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.trim_end_matches([':', '.', ',']).contains([':', '.'])
}

/// A peer may report anything; more than ten thousand CPUs is nothing to be printed to the last digit.
const MOST_PERCENT: f64 = 1e6;
/// One in a million: fewer are few, but not none.
const LEAST_PERCENT: f64 = 0.000_1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_print_as_options_take_them() {
        assert_eq!(option(BitRate(4_250_000_000)), "4.2G");
        assert_eq!(option(BitRate(12_400_000_000)), "12G");
        assert_eq!(option(BitRate(954_321)), "950K");
        assert_eq!(option(BitRate(7)), "7");
        assert_eq!(option(BitRate(0)), "0");
        assert_eq!(option(BitRate(4_250_000_000)).parse(), Ok(BitRate(4_200_000_000)));
    }

    #[test]
    fn thousands_are_set_apart() {
        let all = [0_u64, 999, 1_000, 374_973, 1_000_000].map(|count| grouped(count).replace('\u{a0}', " "));
        assert_eq!(all, ["0", "999", "1 000", "374 973", "1 000 000"]);
        assert_eq!(count(7_748_u32, "datagram"), "7\u{a0}748 datagrams");
    }

    #[test]
    fn addresses_are_no_words() {
        for text in ["fd77:4::2 limits it", "fe80::1%eth0: no answer", "far.example says so", "192.0.2.1 too"]
        {
            assert_eq!((capital(text), lower(text)), (text.to_owned(), text.to_owned()));
        }
        assert_eq!((capital("up: dead"), lower("Up: dead")), ("Up: dead".into(), "up: dead".into()));
        assert_eq!((capital("ended."), lower("TCP ended.")), ("Ended.".into(), "TCP ended.".into()));
    }

    #[test]
    fn ratios_print_three_digits() {
        let all = [2.54, 72.66, 99.96, 726.6, 1164.9, 99_960.0].map(ratio);
        assert_eq!(all, ["2.5", "72.7", "100", "727", "1\u{a0}160", "100\u{a0}000"]);
    }

    #[test]
    fn shares_print_three_digits() {
        assert_eq!(percent(0.956), "95.6 %");
        assert_eq!(percent(0.0428), "4.28 %");
        assert_eq!(percent(0.001), "0.100 %");
        assert_eq!(percent(0.000_999), "0.0999 %");
        assert_eq!(percent(0.000_12), "0.0120 %");
        assert_eq!(percent(0.000_001_2), "0.000120 %");
        assert_eq!(percent(0.000_000_9), "under 0.0001 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
