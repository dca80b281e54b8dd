//! Times in one unit, so that a column can be compared by eye.

use model::units::{Nanos, grouped};

/// A unit for a whole table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) struct Unit {
    nanos: u64,
    /// `ns`, `µs`, `ms` or `s`.
    pub(in crate::format) name: &'static str,
}

impl Unit {
    /// The one in which this time has one to three digits before the point.
    pub(in crate::format) fn for_time(time: Nanos) -> Unit {
        let fits = UNITS.iter().rev().find(|unit| time.0 >= unit.nanos);
        *fits.unwrap_or(&UNITS[0])
    }

    /// How many of it a time is.
    pub(in crate::format) fn of_time(self, time: Nanos) -> f64 {
        time.0 as f64 / self.nanos as f64
    }

    /// The number without its unit: two decimals, none of nanoseconds and of thousands, which are set apart.
    pub(in crate::format) fn print(self, time: Nanos) -> String {
        let value = self.of_time(time);
        match self.nanos {
            _ if value >= 999.995 => grouped(value.round() as u64),
            1 => time.0.to_string(),
            _ => format!("{value:.2}"),
        }
    }
}

const UNITS: [Unit; 4] = [
    Unit { nanos: 1, name: "ns" },
    Unit { nanos: 1_000, name: "µs" },
    Unit { nanos: 1_000_000, name: "ms" },
    Unit { nanos: 1_000_000_000, name: "s" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_serves_a_table() {
        let unit = Unit::for_time(Nanos::from_nanos(383_300_799));
        assert_eq!((unit.name, unit.print(Nanos::from_nanos(975_994_156)).as_str()), ("ms", "975.99"));
        assert_eq!(Unit::for_time(Nanos::from_nanos(999)).print(Nanos::from_nanos(12_345)), "12\u{a0}345");
        assert_eq!((Unit::for_time(Nanos::ZERO).name, Unit::for_time(Nanos::MAX).name), ("ns", "s"));
    }
}
