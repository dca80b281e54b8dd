//! Student's t distribution: the number of standard errors that contain a mean with a given confidence.

use std::f64::consts::FRAC_2_PI;

/// The two-sided quantile: `|t|` of `degrees` degrees of freedom is below it with probability `level`. At least six digits
/// are right for levels of 0.5 to 0.9999. Above 10,000 degrees it is that of 10,000, which is the normal one to
/// one part in 10,000.
///
/// # Panics
/// When `degrees` is 0 or `level` is not between 0 and 1, both exclusive.
#[must_use]
pub fn two_sided(level: f64, degrees: u64) -> f64 {
    assert!(degrees > 0 && level > 0.0 && level < 1.0, "t of {degrees} degrees at {level}");
    let degrees = degrees.min(MOST_DEGREES);
    // Bisection over the angle θ = atan(t/√ν), in which the probability grows from 0 to 1.
    let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if within(middle, degrees) < level { low = middle } else { high = middle }
    }
    low.tan() * (degrees as f64).sqrt()
}

/// `P(|t| < √ν tan θ)`, exactly as a finite series (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn within(theta: f64, degrees: u64) -> f64 {
    let (sine, cosine) = theta.sin_cos();
    let square = cosine * cosine;
    let odd = degrees % 2 == 1;
    // Odd: cos θ + 2/3 cos³ θ + …; even: 1 + 1/2 cos² θ + …; to the power ν − 2.
    let mut term = if odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut step = if odd { 3 } else { 2 };
    while step <= degrees {
        sum += term;
        term *= square * (step - 1) as f64 / step as f64;
        step += 2;
    }
    if odd { FRAC_2_PI * (theta + sine * sum) } else { sine * sum }
}

const MOST_DEGREES: u64 = 10_000;
const STEPS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_table() {
        // NIST/SEMATECH e-Handbook, 1.3.6.7.2, and R's qt.
        for (level, degrees, t) in [
            (0.95, 1, 12.706_204_74),
            (0.95, 2, 4.302_652_73),
            (0.95, 3, 3.182_446_31),
            (0.95, 4, 2.776_445_11),
            (0.95, 5, 2.570_581_84),
            (0.95, 10, 2.228_138_85),
            (0.95, 30, 2.042_272_46),
            (0.95, 120, 1.979_930_41),
            (0.90, 7, 1.894_578_61),
            (0.99, 1, 63.656_741_16),
            (0.99, 9, 3.249_835_54),
            (0.99, 100, 2.625_890_52),
            (0.5, 1, 1.0),
        ] {
            assert!((two_sided(level, degrees) / t - 1.0).abs() < 1e-7, "{level} {degrees}");
        }
    }

    #[test]
    fn many_degrees_are_the_normal_distribution() {
        assert!((two_sided(0.95, 10_000) / 1.959_964 - 1.0).abs() < 2e-4);
        assert!((two_sided(0.99, u64::MAX) / 2.575_829 - 1.0).abs() < 3e-4);
    }
}
