//! The normal distribution: tails and quantiles.

use std::f64::consts::TAU;

/// The 97.5 % quantile.
pub(super) const Z_975: f64 = 1.959_963_984_540_054;

/// The probability of a value above `z`, to about twelve digits, tails included.
pub(super) fn upper_tail(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - upper_tail(-z);
    }
    let density = (-z * z / 2.0).exp() / TAU.sqrt();
    if z < SERIES_BELOW {
        // Abramowitz and Stegun, 26.2.11.
        let (mut term, mut sum) = (z, z);
        for odd in (3..).step_by(2) {
            term *= z * z / f64::from(odd);
            sum += term;
            if term <= sum * f64::EPSILON {
                break;
            }
        }
        return 0.5 - density * sum;
    }
    // Laplace's continued fraction, 26.2.14, from its end.
    density / (1..=FRACTIONS).rev().fold(z, |below, step| z + f64::from(step) / below)
}

/// The `z` above which lies the probability `tail`, which must be from 1e-300 to 0.5.
pub(super) fn upper_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle) > tail { low = middle } else { high = middle }
    }
    low
}

const SERIES_BELOW: f64 = 3.0;
const FRACTIONS: i32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_as_scipy_gives_them() {
        for (z, tail) in [
            (0.0, 0.5),
            (0.5, 0.308_537_538_725_986_9),
            (1.0, 0.158_655_253_931_457_07),
            (Z_975, 0.025),
            (2.5, 0.006_209_665_325_776_132),
            (3.0, 0.001_349_898_031_630_093_3),
            (4.0, 3.167_124_183_311_986e-5),
            (6.0, 9.865_876_450_376_946e-10),
            (20.0, 2.753_624_118_606_155_6e-89),
        ] {
            assert!((upper_tail(z) / tail - 1.0).abs() < 1e-11, "{z}: {}", upper_tail(z));
            assert!((upper_tail(-z) - (1.0 - tail)).abs() < 1e-12);
            assert!((upper_quantile(tail) - z).abs() < 1e-9, "{tail}");
        }
        assert_eq!(upper_tail(f64::INFINITY), 0.0);
    }
}
