//! Numbers that print as a rounded number was printed: any value inside the rounding will do.

use std::ops::RangeInclusive;

/// A printed amount: `1.25 MBytes`, `10.5 Mbits/sec`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed {
    /// The least and the most bytes (or bytes per second) that print so.
    low: f64,
    high: f64,
}

impl Printed {
    /// Reads a number and its unit.
    pub(crate) fn read(number: &str, unit: &str) -> Printed {
        let value: f64 = number.parse().expect("a number stands before its unit");
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals(number)).expect("few decimals"));
        let bits = unit.contains("bit");
        let step: f64 = if bits { 1000.0 } else { 1024.0 };
        let power = "KMGT".find(unit.chars().next().expect("a unit is not empty")).map_or(0, |at| at + 1);
        let factor = step.powi(i32::try_from(power).expect("at most four")) / if bits { 8.0 } else { 1.0 };
        // Where a digit falls away, the numbers just below print with more: 9.99, then 10.0.
        let half_below = if [10.0, 100.0, 1000.0].contains(&value) { half / 10.0 } else { half };
        Printed { low: (value - half_below) * factor, high: (value + half) * factor }
    }

    /// The whole blocks of iPerf3's default size in it, if any, else the middle.
    pub(crate) fn bytes(self) -> u64 {
        let middle = ((self.low + self.high) / 2.0).max(0.0);
        let blocks = (middle / BLOCK).round() * BLOCK;
        // The ends of the rounding count: 1.125 prints as 1.12.
        if (self.low..=self.high).contains(&blocks) { blocks as u64 } else { middle.round() as u64 }
    }

    /// This rate is inside the rounding.
    pub(crate) fn holds(self, rate: f64) -> bool {
        (self.low * (1.0 + 1e-12)..self.high * (1.0 - 1e-12)).contains(&rate)
            || (rate == 0.0 && self.low <= 0.0)
    }

    /// The seconds in which so many bytes give this rate.
    fn seconds(self, bytes: u64) -> RangeInclusive<f64> {
        bytes as f64 / self.high..=bytes as f64 / self.low.max(1e-9)
    }
}

const BLOCK: f64 = 131_072.0;

fn decimals(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Nanoseconds close to `seconds` (printed with two decimals) in which every amount gives the rate beside it.
pub(crate) fn duration(seconds: f64, rows: &[(u64, Printed)]) -> u64 {
    let fits = |nanos: &u64| {
        let time = *nanos as f64 / 1e9;
        rows.iter().all(|(bytes, rate)| rate.holds(*bytes as f64 / time))
    };
    let middle = (seconds * 1e9).round() as i64;
    let near = (0..=4_990_i64).flat_map(|step| [step * 1000, -step * 1000]);
    let mut near = near.filter_map(|offset| u64::try_from(middle + offset).ok()).filter(|nanos| *nanos > 0);
    near.find(fits).unwrap_or_else(|| {
        // An interval too short for two decimals: only the rate shows how long it was.
        let (bytes, rate) = rows.first().expect("an interval has a row");
        let range = rate.seconds(*bytes);
        assert!(seconds < 0.01, "no duration near {seconds} s gives the printed rates {rows:?}");
        ((range.start() + range.end()) / 2.0 * 1e9) as u64
    })
}
