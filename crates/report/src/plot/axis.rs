//! Axes, linear from zero and logarithmic: round ticks, and numbers as people read them.

/// An axis from zero to a round number, or over powers of ten.
pub(super) struct Axis {
    /// From the least to the most.
    ticks: Vec<f64>,
    logarithmic: bool,
}

impl Axis {
    /// The axis from zero that holds values up to `most`.
    pub(super) fn to(most: f64) -> Axis {
        let most = if most.is_finite() && most > 0.0 { most.min(LARGEST) } else { 1.0 };
        let rough = most / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let count = (most / step).ceil() as u32;
        Axis { ticks: (0..=count).map(|tick| f64::from(tick) * step).collect(), logarithmic: false }
    }

    /// The logarithmic axis that holds these values, those above zero: ticks at 1, 2 and 5 of each power of ten, or at the
    /// powers alone where there are many.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>) -> Axis {
        let known = values.filter(|value| value.is_finite() && *value > 0.0);
        let known = known.map(|value| value.clamp(1.0 / LARGEST, LARGEST));
        let (least, most) = known.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), value| {
            (least.min(value), most.max(value))
        });
        let (least, most) = if most > 0.0 { (least, most) } else { (1.0, 1.0) };
        let [low, high] = [least.log10().floor(), most.log10().ceil()].map(|power| power as i32);
        let steps: &[f64] = if high - low <= FEW_POWERS { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all = (low..=high).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        let all: Vec<f64> = all.collect();
        let first = all.iter().rposition(|tick| *tick <= least).unwrap_or(0);
        // A second tick even where all values are the first one.
        let last = all.iter().position(|tick| *tick >= most).unwrap_or(all.len() - 1).max(first + 1);
        let ticks = all.get(first..=last.min(all.len() - 1)).unwrap_or(&all).to_vec();
        Axis { ticks, logarithmic: true }
    }

    /// The last tick.
    pub(super) fn end(&self) -> f64 {
        self.ticks.last().copied().unwrap_or(1.0)
    }

    /// Every tick, of an axis from zero that among them.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        self.ticks.iter().copied()
    }

    /// How far along the axis a value is, 0 to 1; `None` of what a logarithm has no place for.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        if !self.logarithmic {
            return Some(value / self.end());
        }
        let first = self.ticks.first().copied().unwrap_or(1.0);
        (value > 0.0).then(|| (value / first).ln() / (self.end() / first).ln())
    }
}

/// A round number above it is still a number.
const LARGEST: f64 = 1e300;
/// About so many ticks.
const TICKS: f64 = 5.0;
/// Over so many powers of ten there is room for ticks between them.
const FEW_POWERS: i32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_hold_the_value() {
        for (most, end, count) in
            [(9_410.0, 10_000.0, 6), (23_000.0, 25_000.0, 6), (0.7, 0.8, 5), (1.0, 1.0, 6)]
        {
            let axis = Axis::to(most);
            assert!((axis.end() - end).abs() < 1e-9, "{most}: {}", axis.end());
            assert_eq!(axis.ticks().count(), count, "{most}");
        }
        assert!(Axis::to(f64::NAN).end() >= 1.0);
    }

    #[test]
    fn powers_of_ten_hold_the_values() {
        for (values, ticks) in [
            (vec![1.5, 40.0], vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0]),
            (vec![3.0, 12_000.0, 0.0], vec![1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0]),
            (vec![5.0], vec![5.0, 10.0]),
            (vec![100.0], vec![100.0, 200.0]),
            (vec![], vec![1.0, 2.0]),
        ] {
            let axis = Axis::logarithmic(values.iter().copied());
            let same = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
            assert_eq!(axis.ticks().count(), ticks.len(), "{values:?}: {:?}", axis.ticks);
            assert!(axis.ticks().zip(&ticks).all(|(one, other)| same(one, *other)), "{:?}", axis.ticks);
        }
        let axis = Axis::logarithmic([1.0, 100.0].into_iter());
        assert!((axis.share(10.0).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(axis.share(0.0), None);
        assert_eq!(Axis::to(10.0).share(5.0), Some(0.5));
    }
}
