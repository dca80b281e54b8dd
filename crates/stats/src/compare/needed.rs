//! The number of further runs that a judgement needs, from the spread of the runs.

use super::Comparison;
use super::normal::upper_quantile;
use std::f64::consts::FRAC_PI_3;

/// More runs on each side, from 1 to [`MOST_RUNS`], with which four of five comparisons would reach a judgement at this level of
/// significance: that the groups differ, if the shift is as estimated and counts, otherwise that they are the same.
///
/// `n = 2 (π/3) ((z(1 − level/2) + z(0.8)) · s / d)²` with the spread `s` of the runs and the distance `d` to resolve; π/3 is the
/// factor by which the rank test needs more runs than the t-test for normally distributed ones (Lehmann, Nonparametrics, 2.4).
pub(super) fn more_runs(row: &Comparison, percent: f64, level: f64) -> u64 {
    let far = percent.abs();
    let distance = if far > row.rules.threshold() { far } else { row.rules.margin() - far };
    let square = |group: &super::Group| group.variation().unwrap_or_default().powi(2);
    let spread = (square(&row.base).midpoint(square(&row.other))).sqrt() * 100.0;
    let factor = upper_quantile((level / 2.0).max(f64::MIN_POSITIVE)) + POWER_80;
    let needed = 2.0 * FRAC_PI_3 * (factor * spread / distance).powi(2);
    let have = row.base.runs.min(row.other.runs);
    // A distance of zero needs infinitely many; the conversion saturates.
    (needed.ceil() as u64).saturating_sub(have).clamp(1, MOST_RUNS)
}

/// A larger number is not reported.
pub const MOST_RUNS: u64 = 1000;
/// The 80 % quantile of the normal distribution.
const POWER_80: f64 = 0.841_621_233_572_914;
