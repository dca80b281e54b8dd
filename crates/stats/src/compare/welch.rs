//! Welch's t-test (1947), for runs too few to compare without an assumption: that they are normally distributed.

use crate::spread::Moments;
use std::f64::consts::FRAC_PI_2;

/// The two-sided probability of means so far apart; `None` with fewer than two runs on a side.
pub(super) fn probability(base: &[f64], other: &[f64]) -> Option<f64> {
    let means = Means::between(base, other)?;
    if means.error > 0.0 {
        return Some(Student { degrees: means.degrees }.beyond(means.distance.abs() / means.error));
    }
    Some(if means.distance == 0.0 { 1.0 } else { 0.0 })
}

/// The 95 % interval of the ratio of the two groups, in percent of the base: computed on their logarithms, so that it is never
/// below −100 %. Absent with fewer than two runs on a side, or with a run that is zero.
pub(super) fn bounds(base: &[f64], other: &[f64]) -> [Option<f64>; 2] {
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (base, other) = (logs(base), logs(other));
    let Some(means) = Means::between(&base, &other).filter(|means| means.distance.is_finite()) else {
        return [None; 2];
    };
    let width = Student { degrees: means.degrees }.two_sided(MISS) * means.error;
    let percent = |log: f64| Some((log.exp() - 1.0) * 100.0).filter(|percent| percent.is_finite());
    [percent(means.distance - width), percent(means.distance + width)]
}

/// The difference of two means, its standard error and the degrees of freedom of that (Welch–Satterthwaite).
struct Means {
    distance: f64,
    error: f64,
    degrees: f64,
}

impl Means {
    fn between(base: &[f64], other: &[f64]) -> Option<Means> {
        let (base, other) = (Moments::from_values(base), Moments::from_values(other));
        let (few, many) = (base.count() as f64, other.count() as f64);
        let (one, two) = (base.variance()? / few, other.variance()? / many);
        let degrees = (one + two).powi(2) / (one * one / (few - 1.0) + two * two / (many - 1.0));
        // For two groups without any spread the quotient is not a number, and the error zero whatever the degrees.
        let degrees = if degrees.is_finite() { degrees.clamp(1.0, MOST_DEGREES) } else { 1.0 };
        Some(Means { distance: other.mean()? - base.mean()?, error: (one + two).sqrt(), degrees })
    }
}

/// Student's distribution with any number of degrees of freedom, from 1 on.
///
/// `t = √ν / tan φ` has the density of `sin^(ν−1) φ` over the angle: tails are integrals from 0, exact however small.
struct Student {
    degrees: f64,
}

impl Student {
    /// `P(|T| > t)`.
    fn beyond(&self, t: f64) -> f64 {
        self.integral((self.degrees.sqrt() / t).atan()) / self.integral(FRAC_PI_2)
    }

    /// The `t` with `P(|T| > t) = miss`.
    fn two_sided(&self, miss: f64) -> f64 {
        let wanted = miss * self.integral(FRAC_PI_2);
        let (mut low, mut high) = (0.0, FRAC_PI_2);
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if self.integral(middle) < wanted { low = middle } else { high = middle }
        }
        self.degrees.sqrt() / high.tan()
    }

    /// `∫ sin^(ν−1)` from 0 to an angle, by Simpson's rule over the square root of the angle, in which the power's corner
    /// at 0 is smooth.
    fn integral(&self, angle: f64) -> f64 {
        let at = |step: u32| {
            let part = f64::from(step) / f64::from(STEPS);
            2.0 * part * angle * (angle * part * part).sin().powf(self.degrees - 1.0)
        };
        let inner = (1..STEPS).map(|step| at(step) * if step % 2 == 1 { 4.0 } else { 2.0 });
        (at(0) + at(STEPS) + inner.sum::<f64>()) / (3.0 * f64::from(STEPS))
    }
}

const MISS: f64 = 0.05;
const MOST_DEGREES: f64 = 10_000.0;
const BISECTIONS: u32 = 50;
const STEPS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_quantiles_as_scipy_gives_them() {
        // 2 * scipy.stats.t.sf(t, df).
        for (t, degrees, tail) in [
            (1.0, 1.0, 0.5),
            (2.0, 2.5, 0.157_391_495_757_965_9),
            (3.3, 3.7, 0.033_606_316_651_204_35),
            (0.1, 10.2, 0.922_282_561_707_252_8),
            (12.0, 2.1, 0.005_725_194_704_594_916),
            (5.0, 58.5, 5.532_218_263_817_935e-6),
            (40.0, 4.0, 2.334_016_322_601_267_8e-6),
        ] {
            let found = Student { degrees }.beyond(t);
            assert!((found / tail - 1.0).abs() < 1e-6, "{t} {degrees}: {found}");
        }
        for (miss, degrees, t) in
            [(0.05, 2.5, 3.574_654_842), (0.05, 3.999, 2.776_718_939), (0.01, 7.3, 3.451_031_656)]
        {
            let found = Student { degrees }.two_sided(miss);
            assert!((found / t - 1.0).abs() < 1e-6, "{miss} {degrees}: {found}");
        }
    }

    #[test]
    fn the_interval_of_few_runs_is_wide_and_never_below_nothing() {
        // 11.6 and 10.7 Gbit/s against 1.17 and 1.19.
        let [low, high] = bounds(&[11.6, 10.7], &[1.17, 1.19]).map(Option::unwrap);
        assert!(low > -100.0 && low < -90.0 && high > -89.0 && high < -70.0, "{low} {high}");
        let [low, _] = bounds(&[100.0, 1.0], &[1.0, 2.0]).map(Option::unwrap);
        assert!(low >= -100.0, "{low}");
        assert_eq!(bounds(&[1.0], &[2.0, 3.0]), [None; 2]);
        assert_eq!(bounds(&[1.0, 0.0], &[2.0, 3.0]), [None; 2]);
    }

    #[test]
    fn runs_without_spread() {
        assert_eq!(probability(&[2.0; 3], &[2.0; 3]), Some(1.0));
        assert_eq!(probability(&[2.0; 3], &[3.0; 3]), Some(0.0));
        assert_eq!(probability(&[2.0], &[3.0; 3]), None);
    }
}
