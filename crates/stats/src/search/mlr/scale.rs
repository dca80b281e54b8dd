//! Loads as whole steps of equal ratio, so that widening and halving an interval undo one another exactly.

use super::super::{Limits, SearchError};

/// The steps between the least and the most load.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    min: f64,
    max: f64,
    /// The natural logarithm of their ratio.
    span: f64,
    steps: i64,
}

impl Scale {
    /// A scale fine enough that every width is nearly a whole number of steps, and never more than it.
    pub(super) fn new(limits: &Limits, widths: &[f64]) -> Result<Scale, SearchError> {
        let (min, max) = (limits.min.0, limits.max.0);
        let span = max.ln() - min.ln();
        let widths: Vec<f64> = widths.iter().map(|width| -(-width).ln_1p()).collect();
        let mut steps = 1.0;
        while let Some(more) = more_steps(steps, span, &widths) {
            steps = more;
            if steps > MOST_STEPS {
                return Err(SearchError::Limits { min, max });
            }
        }
        Ok(Scale { min, max, span, steps: steps as i64 })
    }

    /// The step of the most load; the least load is step 0.
    pub(super) fn steps(&self) -> i64 {
        self.steps
    }

    /// The load of a step, in frames per second.
    pub(super) fn load(&self, step: i64) -> f64 {
        if step <= 0 {
            self.min
        } else if step >= self.steps {
            self.max
        } else {
            self.min * (self.span * step as f64 / self.steps as f64).exp()
        }
    }

    /// The highest step whose load is not above this one.
    pub(super) fn step(&self, load: f64) -> i64 {
        if load <= self.min {
            return 0;
        }
        if load >= self.max {
            return self.steps;
        }
        let near = (load.ln() - self.min.ln()) / self.span * self.steps as f64;
        let near = near.floor() as i64;
        // The logarithm may be off by its last digit.
        (near - 1..=near + 1).rev().find(|step| self.load(*step) <= load).unwrap_or(0).clamp(0, self.steps)
    }

    /// The steps of a relative width, at least one.
    pub(super) fn width(&self, width: f64) -> i64 {
        self.step(self.min / (1.0 - width)).max(1)
    }

    /// No width is larger than the whole scale.
    pub(super) fn limit(&self, width: i64) -> i64 {
        width.min(self.steps)
    }

    /// The step that is `width` above another.
    pub(super) fn up(&self, step: i64, width: i64) -> i64 {
        (step + width).min(self.steps)
    }

    /// The step that is `width` below another.
    pub(super) fn down(&self, step: i64, width: i64) -> i64 {
        (step - width).max(0)
    }

    /// A step at least `width` away from the bounds: measuring nearer would show nothing new. Without a bound on a side the scale
    /// ends there, and a step too near its end moves to the end. `None` when the bounds leave no room.
    pub(super) fn keep_away(
        &self,
        step: i64,
        width: i64,
        lower: Option<i64>,
        upper: Option<i64>,
    ) -> Option<i64> {
        if lower.is_some_and(|lower| step <= lower) || upper.is_some_and(|upper| step >= upper) {
            return None;
        }
        let (from, to) = (lower.unwrap_or(0), upper.unwrap_or(self.steps));
        let free_end = lower.is_none().then_some(from).or(upper.is_none().then_some(to));
        if width >= to - from {
            return free_end;
        }
        let (mut soft_from, mut soft_to) = (from + width, to - width);
        if soft_from > soft_to {
            soft_from = from + middle(to - from, width);
            soft_to = soft_from;
        }
        Some(if step < soft_from {
            if lower.is_some() { soft_from } else { from }
        } else if step > soft_to {
            if upper.is_some() { soft_to } else { to }
        } else {
            step
        })
    }
}

/// The place to split an interval that is wider than `goal`: the distance from its lower end.
///
/// One part becomes a power of two times the goal, so that later halves end exactly at the goal; of the two possible powers the
/// one that splits more evenly. The lower part is the smaller one, which prefers lower loads.
pub(super) fn middle(width: i64, goal: i64) -> i64 {
    if width == 2 * goal {
        return goal;
    }
    if width < 2 * goal {
        // Halves of a goal may still be whole goals of a later target.
        return if goal % 2 == 0 { middle(width, goal / 2) } else { width / 2 };
    }
    let mut part = goal;
    while width - 2 * part > 2 * part {
        part *= 2;
    }
    let rest = width - 2 * part;
    if i128::from(part) * i128::from(width - part) > i128::from(2 * part) * i128::from(rest) {
        part
    } else {
        rest
    }
}

/// A larger number of steps, when this one does not hold every width well enough.
fn more_steps(steps: f64, span: f64, widths: &[f64]) -> Option<f64> {
    let unit = span / steps;
    let mut next: Option<f64> = None;
    for width in widths {
        let units = width / unit;
        let whole = units.floor();
        if !(LEAST_QUALITY..=MOST_QUALITY).contains(&(whole / units)) {
            let better = (whole + 1.0) / MOST_QUALITY / units * steps;
            next = Some(next.unwrap_or(steps + 1.0).max(better));
        }
    }
    next.map(f64::ceil)
}

/// A width in whole steps is between these shares of the requested width: not much less, and never more, whatever the rounding of
/// logarithms does.
const LEAST_QUALITY: f64 = 0.99;
const MOST_QUALITY: f64 = 0.999_999;
/// Beyond this a step would be lost in the rounding of a double.
const MOST_STEPS: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::super::super::Load;
    use super::*;
    use proptest::prelude::*;

    fn scale(min: f64, max: f64, widths: &[f64]) -> Scale {
        Scale::new(&Limits { min: Load(min), max: Load(max) }, widths).unwrap()
    }

    #[test]
    fn splits_are_powers_of_two() {
        assert_eq!(middle(2, 1), 1);
        assert_eq!(middle(8, 1), 4);
        assert_eq!(middle(3, 1), 1);
        assert_eq!(middle(5, 1), 1 + 1);
        assert_eq!(middle(7, 4), 3);
        assert_eq!(middle(5, 3), 2);
    }

    #[test]
    fn a_step_too_near_goes_to_the_free_end_or_away() {
        let scale = scale(1.0, 2.0, &[0.005]);
        let end = scale.steps();
        assert_eq!(scale.keep_away(1, 2, None, Some(end)), Some(0));
        assert_eq!(scale.keep_away(1, 2, Some(0), Some(end)), Some(2));
        assert_eq!(scale.keep_away(end - 1, 2, Some(0), None), Some(end));
        assert_eq!(scale.keep_away(end - 1, 2, Some(0), Some(end)), Some(end - 2));
        assert_eq!(scale.keep_away(10, 2, Some(9), Some(11)), None);
        assert_eq!(scale.keep_away(10, 2, Some(10), Some(20)), None);
        assert_eq!(scale.keep_away(50, 2, Some(10), Some(90)), Some(50));
    }

    proptest! {
        #[test]
        fn steps_and_loads_are_inverse(
            min in 1.0..1e6_f64, ratio in 1.01..1e5_f64, width in 0.0005..0.5_f64, other in 0.0005..0.5_f64, at in 0.0..1.0_f64,
        ) {
            let scale = scale(min, min * ratio, &[width, other]);
            let step = (scale.steps() as f64 * at) as i64;
            prop_assert_eq!(scale.step(scale.load(step)), step);
            prop_assert!(scale.load(step) < scale.load(step + 1) || step == scale.steps());
            for width in [width, other] {
                let steps = scale.width(width);
                let above = scale.load(steps);
                prop_assert!((above - min) / above <= width || steps == 1);
            }
        }

        #[test]
        fn a_middle_is_inside(goal in 1_i64..1000, more in 1_i64..100_000) {
            let width = goal + more;
            let middle = middle(width, goal);
            prop_assert!(0 < middle && middle < width);
            prop_assert!(middle <= width - middle, "the lower part is the smaller one");
        }
    }
}
