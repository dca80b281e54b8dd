//! The horizontal axis below lines: where each point stands, and what is written there.

use super::axis::Axis;
use model::units::plain;

/// The horizontal axis of a panel.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Across {
    /// The title below the numbers: `Frame, bytes`.
    pub title: String,
    /// The name of each point.
    pub names: Vec<String>,
    /// Where each point stands, from 0 to 1.
    places: Vec<f64>,
    /// Marks of its own along the axis; the names of the points where there are none.
    ticks: Vec<(f64, String)>,
}

impl Across {
    /// Points at equal distances.
    pub fn names(title: impl Into<String>, names: Vec<String>) -> Across {
        let count = names.len().max(1) as f64;
        let places = (0..names.len()).map(|index| (index as f64 + 0.5) / count).collect();
        Across { title: title.into(), names, places, ticks: Vec::new() }
    }

    /// Points at their values.
    pub fn values(title: impl Into<String>, names: Vec<String>, values: &[f64]) -> Across {
        Across::names(title, names).at(values, |value| value)
    }

    /// Sizes at the logarithms of their values; at equal distances when one is not a number, as a mix of sizes.
    pub fn sizes(title: impl Into<String>, names: Vec<String>) -> Across {
        let values: Option<Vec<f64>> =
            names.iter().map(|name| name.parse().ok().filter(|value| *value > 0.0)).collect();
        let across = Across::names(title, names);
        match values {
            Some(values) => across.at(&values, f64::ln),
            None => across,
        }
    }

    /// Points in time, in seconds from zero, below round numbers.
    pub fn seconds(ends: &[f64]) -> Across {
        let axis = Axis::to(ends.iter().copied().fold(0.0, f64::max));
        // Intervals end some milliseconds late.
        let names = ends.iter().map(|end| plain((end * 10.0).round() / 10.0)).collect();
        let place = |value: f64| value / axis.end();
        Across {
            title: "Seconds".into(),
            names,
            places: ends.iter().copied().map(place).collect(),
            ticks: axis.ticks().map(|tick| (place(tick), plain(tick))).collect(),
        }
    }

    /// Where a point stands.
    pub(super) fn place(&self, index: usize) -> f64 {
        self.places.get(index).copied().unwrap_or_default()
    }

    /// The texts along the axis, and their places.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, &str)> {
        let own = self.ticks.iter().map(|(place, text)| (*place, text.as_str()));
        let points = self.places.iter().copied().zip(self.names.iter().map(String::as_str));
        own.chain(points.filter(|_| self.ticks.is_empty()))
    }

    /// Room behind the last point, as a share of the width.
    pub(super) fn behind(&self) -> f64 {
        1.0 - self.places.iter().copied().fold(0.0, f64::max)
    }

    /// Moves the points to what `scale` makes of their values, where there are two different ones.
    fn at(mut self, values: &[f64], scale: fn(f64) -> f64) -> Across {
        let scaled = || values.iter().map(|value| scale(*value));
        let (least, most) = scaled().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        if most > least {
            let place = |value| EDGE + (1.0 - 2.0 * EDGE) * (value - least) / (most - least);
            self.places = scaled().map(place).collect();
        }
        self
    }
}

/// Room beside the outer points.
const EDGE: f64 = 0.04;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_at_their_values() {
        let near = |one: f64, other: f64| (one - other).abs() < 1e-9;
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let across = Across::values("bytes", names(&["0", "25", "100"]), &[0.0, 25.0, 100.0]);
        assert!(near(across.place(1) - across.place(0), 0.92 / 4.0));
        let across = Across::sizes("bytes", names(&["64", "128", "512"]));
        assert!(near((across.place(2) - across.place(1)) / (across.place(1) - across.place(0)), 2.0));
        let across = Across::sizes("bytes", names(&["64", "IMIX"]));
        assert!(near(across.place(0), 0.25) && near(across.place(1), 0.75));
        assert!(near(Across::values("bytes", names(&["7"]), &[7.0]).place(0), 0.5));
    }

    #[test]
    fn time_has_round_ticks_from_zero() {
        let across = Across::seconds(&[0.31, 0.62, 7.2]);
        let ticks: Vec<&str> = across.ticks().map(|(_, text)| text).collect();
        assert_eq!(ticks, ["0", "2", "4", "6", "8"]);
        assert!((across.place(2) - 0.9).abs() < 1e-9);
    }
}
