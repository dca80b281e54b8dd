//! A linear axis from zero: round ticks, and numbers as people read them.

/// An axis from zero to a round number.
pub(super) struct Axis {
    step: f64,
    ticks: u32,
}

impl Axis {
    /// The axis that holds values up to `most`.
    pub(super) fn to(most: f64) -> Axis {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let rough = most / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|of| of * power).find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        Axis { step, ticks: (most / step).ceil() as u32 }
    }

    /// The last tick.
    pub(super) fn end(&self) -> f64 {
        self.step * f64::from(self.ticks)
    }

    /// Every tick, zero among them.
    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        let step = self.step;
        (0..=self.ticks).map(move |tick| f64::from(tick) * step)
    }
}

/// Three significant digits at least, whole from 100 on, thousands apart.
pub(super) fn number(value: f64) -> String {
    let decimals = match value.abs() {
        v if v == 0.0 || v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    let (whole, rest) = text.split_once('.').map_or((text, String::new()), |(w, r)| (w, format!(".{r}")));
    let mut apart = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            apart.push('\u{a0}');
        }
        apart.push(digit);
    }
    apart + &rest
}

/// About so many ticks.
const TICKS: f64 = 5.0;

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
    fn numbers_are_read_at_a_glance() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (9.412, "9.41"),
            (94.12, "94.1"),
            (9_412.3, "9\u{a0}412"),
            (123_456.0, "123\u{a0}456"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
