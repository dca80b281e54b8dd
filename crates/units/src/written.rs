//! Numbers as people read them: three significant digits, thousands separated. Every sentence, table and chart writes its numbers
//! with these functions or with the `Display` of a unit, which keeps the same digits.

/// A measured number with three significant digits: `0.0351`, `46.5`, `465`, `12 300`.
#[must_use]
pub fn significant(value: f64) -> String {
    if value.abs() < 999.5 {
        return three_digits(value);
    }
    let step = 10_f64.powf(value.abs().log10().floor() - 2.0);
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(((value.abs() / step).round() * step).round() as u64))
}

/// A number that was set, such as an offered load or the tick of an axis: three significant digits at least, all of those before
/// the point, and no needless zeros behind it: `0.5`, `46.5`, `12 345`.
#[must_use]
pub fn plain(value: f64) -> String {
    if value.abs() >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", grouped(value.abs().round() as u64));
    }
    without_zeros(&three_digits(value)).into()
}

/// A measured share, 0 to 1, in percent: `97.9 %`, `0.246 %`, `100 %`, `under 0.0001 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    match (share * 100.0).min(MOST_PERCENT) {
        few if few > 0.0 && few < LEAST_PERCENT => format!("under {LEAST_PERCENT} %"),
        value => format!("{} %", significant(value)),
    }
}

/// A share that is known to no more than a percent, such as CPU usage: `98 %`.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).min(MOST_PERCENT))
}

/// A share that was set or promised, 0 to 1, in percent, exact: `0.5 %`, `1 %`, `99.999 %`.
#[must_use]
pub fn plain_percent(share: f64) -> String {
    let text = format!("{:.MOST_DECIMALS_SET$}", share * 100.0);
    format!("{} %", without_zeros(&text))
}

/// A difference that is given in percent, with one decimal: it is no more exact for being small. `12.3 %`.
#[must_use]
pub fn difference(percent: f64) -> String {
    format!("{:.1} %", percent.abs())
}

/// The same with its sign: `+12.3 %`, `−0.4 %`.
#[must_use]
pub fn change(percent: f64) -> String {
    format!("{} %", signed(percent))
}

/// A change as the interval that holds it, in percent: `−0.4 to +2.1 %`.
#[must_use]
pub fn change_between(low: f64, high: f64) -> String {
    format!("{} to {} %", signed(low), signed(high))
}

fn signed(percent: f64) -> String {
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.1}", percent.abs())
}

/// A count with its thousands separated, by spaces that do not break a line: `374 973`.
#[must_use]
pub fn grouped(count: impl Into<u64>) -> String {
    let digits = count.into().to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 datagram`, `12 datagrams`.
#[must_use]
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A number below 999.5 with as many decimals as make three significant digits of it.
fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let fits = |text: &String| {
        let digits = text.chars().filter(char::is_ascii_digit);
        digits.skip_while(|digit| *digit == '0').count() <= 3
    };
    let mut texts = (0..=MOST_DECIMALS).rev().map(|decimals| format!("{value:.decimals$}"));
    texts.find(fits).unwrap_or_else(|| value.to_string())
}

/// A number without the zeros at the end of its decimals.
#[must_use]
pub fn without_zeros(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A peer may report anything; more than ten thousand CPUs need no exact figure.
const MOST_PERCENT: f64 = 1e6;
/// One in a million: fewer are few, but not none.
const LEAST_PERCENT: f64 = 0.000_1;
/// A number without three digits at this many decimals is practically zero.
const MOST_DECIMALS: usize = 9;
/// Percentages that were set have no more decimals; further ones come from the binary fraction.
const MOST_DECIMALS_SET: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn spaced(text: String) -> String {
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn measured_numbers_have_three_digits() {
        for (value, text) in [
            (465.445, "465"),
            (46.0, "46.0"),
            (0.035_125, "0.0351"),
            (0.998, "0.998"),
            (0.5, "0.500"),
            (99.96, "100"),
            (9.995, "9.99"),
            (999.6, "1 000"),
            (12_345.6, "12 300"),
            (99_960.0, "100 000"),
            (-2.5, "-2.50"),
            (-1164.9, "-1 160"),
            (0.0, "0"),
            (4.2e-12, "0.000000000"),
        ] {
            assert_eq!(spaced(significant(value)), text, "{value}");
        }
    }

    #[test]
    fn what_was_set_has_no_needless_digits() {
        for (value, text) in [
            (465.445, "465"),
            (50.0, "50"),
            (0.5, "0.5"),
            (0.035_125, "0.0351"),
            (100.0, "100"),
            (1500.0, "1 500"),
            (12_345.6, "12 346"),
            (-0.25, "-0.25"),
            (0.0, "0"),
        ] {
            assert_eq!(spaced(plain(value)), text, "{value}");
        }
    }

    #[test]
    fn shares_are_written_in_percent() {
        for (share, measured) in [
            (0.956, "95.6 %"),
            (0.5, "50.0 %"),
            (0.0428, "4.28 %"),
            (0.001, "0.100 %"),
            (0.000_999, "0.0999 %"),
            (0.000_12, "0.0120 %"),
            (0.000_001_2, "0.000120 %"),
            (0.000_000_9, "under 0.0001 %"),
            (0.9996, "100 %"),
            (1.0, "100 %"),
            (12.5, "1 250 %"),
            (1e9, "1 000 000 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(spaced(percent(share)), measured, "{share}");
        }
        for (share, set) in [
            (0.005, "0.5 %"),
            (0.07, "7 %"),
            (0.9999, "99.99 %"),
            (0.999_99, "99.999 %"),
            (1.0, "100 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(plain_percent(share), set, "{share}");
        }
        assert_eq!([whole_percent(0.978), whole_percent(1.5)], ["98 %", "150 %"]);
        assert_eq!([change(12.34), change(-0.4), change(0.0)], ["+12.3 %", "−0.4 %", "+0.0 %"]);
        assert_eq!(change_between(-0.42, 2.06), "−0.4 to +2.1 %");
    }

    #[test]
    fn thousands_are_set_apart() {
        let all = [0_u64, 999, 1_000, 374_973, 1_000_000].map(|count| spaced(grouped(count)));
        assert_eq!(all, ["0", "999", "1 000", "374 973", "1 000 000"]);
        assert_eq!(count(7_748_u32, "datagram"), "7\u{a0}748 datagrams");
        assert_eq!([count(1_u32, "stream"), count(0_u32, "stream")], ["1 stream", "0 streams"]);
    }
}
