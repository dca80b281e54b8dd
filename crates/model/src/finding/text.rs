//! Putting a finding together: its figures and its words.

use super::{Finding, Severity};
use crate::plan::Direction;
use crate::units::BitRate;
use serde_json::Value;
use std::collections::BTreeMap;

impl Finding {
    /// A finding without evidence and advice yet.
    pub(crate) fn new(id: &str, severity: Severity, direction: Direction, title: String) -> Finding {
        Finding {
            id: id.into(),
            severity,
            direction: Some(direction),
            way: None,
            title,
            evidence: BTreeMap::new(),
            advice: String::new(),
        }
    }

    /// The same about both directions or none.
    pub(crate) fn everywhere(mut self) -> Finding {
        self.direction = None;
        self
    }

    /// The same about one way of a latency run.
    pub(super) fn on(mut self, way: &str) -> Finding {
        self.way = Some(way.into());
        self
    }

    /// Adds a figure; the name ends with its unit.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Finding {
        self.evidence.insert(name.into(), value.into());
        self
    }

    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Finding {
        self.advice = advice.into();
        self
    }
}

/// A share, 0 to 1, in percent with three significant digits: `4.28 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = (share * 100.0).min(MOST_PERCENT);
    match value {
        99.95.. | 0.0 => format!("{value:.0} %"),
        9.995.. => format!("{value:.1} %"),
        0.9995.. => format!("{value:.2} %"),
        _ => format!("{value:.3} %"),
    }
}

/// `1 datagram`, `12 datagrams`.
pub(super) fn count(number: u64, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
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

/// With a capital letter first.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// For the middle of a sentence; names in capitals (TCP, UDP) stay.
pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => text.into(),
    }
}

/// A peer may report anything; more than ten thousand CPUs is nothing to be printed to the last digit.
const MOST_PERCENT: f64 = 1e6;

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
    fn shares_print_three_digits() {
        assert_eq!(percent(0.956), "95.6 %");
        assert_eq!(percent(0.0428), "4.28 %");
        assert_eq!(percent(0.000_12), "0.012 %");
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.0), "0 %");
    }
}
