//! The results of trials at each load, and the load's class for a target that follows from them (RFC 9971, load classification).

use super::super::TrialResult;
use super::goal::Target;
use std::collections::BTreeMap;
use units::Nanos;

/// All trials, by the step of their load.
#[derive(Clone, Debug, Default)]
pub(super) struct Records(BTreeMap<i64, Vec<Record>>);

/// One trial.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Its intended duration: decides whether the trial is a full one.
    intended: Nanos,
    /// The duration it counts for.
    effective: Nanos,
    result: TrialResult,
}

/// The class of a load for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Undecided,
}

/// The relevant bounds, as steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// The highest lower bound below the upper bound.
    pub(super) lower: Option<i64>,
    /// The lowest upper bound.
    pub(super) upper: Option<i64>,
}

impl Records {
    pub(super) fn add(&mut self, step: i64, intended: Nanos, result: &TrialResult) {
        let record = Record { intended, effective: result.duration, result: *result };
        self.0.entry(step).or_default().push(record);
    }

    /// The relevant bounds: an upper bound hides every lower bound above it, as loss is not to shrink with load.
    pub(super) fn bounds(&self, target: &Target) -> Bounds {
        let mut bounds = Bounds { lower: None, upper: None };
        for (step, records) in &self.0 {
            match classify(records, target, TrialResult::loss_ratio) {
                Class::Lower => bounds.lower = Some(*step),
                Class::Upper => {
                    bounds.upper = Some(*step);
                    break;
                }
                Class::Undecided => {}
            }
        }
        bounds
    }

    /// Whether a load above this one is a lower bound.
    pub(super) fn has_lower_above(&self, step: i64, target: &Target) -> bool {
        let mut above = self.0.range(step + 1..);
        above.any(|(_, records)| classify(records, target, TrialResult::loss_ratio) == Class::Lower)
    }

    /// Whether a load is an upper bound by the device's own loss, without frames that the generator failed to send.
    pub(super) fn device_fails(&self, step: i64, target: &Target) -> bool {
        let records = self.0.get(&step);
        records
            .is_some_and(|records| classify(records, target, TrialResult::device_loss_ratio) == Class::Upper)
    }

    /// Whether a trial at this load gave more frames than it got.
    pub(super) fn has_duplicates(&self, step: i64) -> bool {
        let records = self.0.get(&step);
        records.is_some_and(|records| records.iter().any(|record| record.result.has_duplicates()))
    }

    /// The loss ratio that full trials at a load keep to for all but the exceed ratio of the time; missing time counts as lost
    /// completely. The conditional throughput follows from it.
    pub(super) fn quantile_loss(&self, step: i64, target: &Target) -> f64 {
        let full = |record: &&Record| record.intended >= target.trial_duration;
        let mut trials: Vec<(f64, Nanos)> = (self.0.get(&step).into_iter().flatten())
            .filter(full)
            .map(|record| (record.result.loss_ratio(), record.effective))
            .collect();
        trials.sort_by(|single, other| single.0.total_cmp(&other.0));
        let all: Nanos = trials.iter().map(|trial| trial.1).sum();
        let mut remaining = all.max(target.duration_sum).0 as f64 * (1.0 - target.exceed_ratio);
        for (loss, duration) in trials {
            remaining -= duration.0 as f64;
            if remaining <= 0.0 {
                return loss;
            }
        }
        1.0
    }
}

/// A load is a bound when even the opposite outcome of all missing trials could not change it.
fn classify(records: &[Record], target: &Target, loss: fn(&TrialResult) -> f64) -> Class {
    // Good and bad, of full length and shorter, in nanoseconds.
    let [mut good, mut bad, mut short_good, mut short_bad] = [0.0_f64; 4];
    for record in records {
        let full = record.intended >= target.trial_duration;
        let sum = match (full, loss(&record.result) <= target.loss_ratio) {
            (true, true) => &mut good,
            (true, false) => &mut bad,
            (false, true) => &mut short_good,
            (false, false) => &mut short_bad,
        };
        *sum += record.effective.0 as f64;
    }
    // Short bad trials count only beyond what short good ones balance.
    let balanced = short_good * target.exceed_ratio / (1.0 - target.exceed_ratio);
    let bad = bad + (short_bad - balanced).max(0.0);
    let whole = (good + bad).max(target.duration_sum.0 as f64);
    let allowed = whole * target.exceed_ratio;
    match (bad <= allowed, whole - good <= allowed) {
        (true, true) => Class::Lower,
        (false, false) => Class::Upper,
        _ => Class::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(loss_ratio: f64, exceed_ratio: f64, trial: u64, sum: u64) -> Target {
        Target {
            loss_ratio,
            exceed_ratio,
            width: 1,
            trial_duration: Nanos::from_secs(trial),
            duration_sum: Nanos::from_secs(sum),
            expansion: 2,
            fail_fast: false,
        }
    }

    /// Trials of so many seconds that lose so many of a thousand frames.
    fn records(trials: &[(u64, u64)]) -> Records {
        let mut records = Records::default();
        for (seconds, lost) in trials {
            let duration = Nanos::from_secs(*seconds);
            let result =
                TrialResult { intended: 1000, sent: 1000, received: 1000 - lost, duplicates: 0, duration };
            records.add(7, duration, &result);
        }
        records
    }

    fn class(trials: &[(u64, u64)], target: &Target) -> Class {
        classify(&records(trials).0[&7], target, TrialResult::loss_ratio)
    }

    #[test]
    fn half_of_21_seconds_decide() {
        let ndr = target(0.0, 0.5, 1, 21);
        assert_eq!(class(&[(1, 0); 10], &ndr), Class::Undecided);
        assert_eq!(class(&[(1, 0); 11], &ndr), Class::Lower);
        assert_eq!(class(&[(1, 1); 10], &ndr), Class::Undecided);
        assert_eq!(class(&[(1, 1); 11], &ndr), Class::Upper);
    }

    #[test]
    fn one_minute_decides_for_rfc_2544_and_two_for_tst_009() {
        let single = target(0.0, 0.0, 60, 60);
        assert_eq!(class(&[(60, 0)], &single), Class::Lower);
        assert_eq!(class(&[(60, 1)], &single), Class::Upper);
        let better = target(0.0, 0.5, 60, 120);
        assert_eq!(class(&[(60, 0)], &better), Class::Lower);
        assert_eq!(class(&[(60, 1)], &better), Class::Undecided);
        assert_eq!(class(&[(60, 1), (60, 0)], &better), Class::Lower);
        assert_eq!(class(&[(60, 1), (60, 1)], &better), Class::Upper);
    }

    #[test]
    fn short_trials_condemn_only_beyond_the_balance_and_never_acquit() {
        let goal = target(0.0, 0.5, 60, 60);
        assert_eq!(class(&[(1, 0); 100], &goal), Class::Undecided);
        assert_eq!(class(&[(10, 1); 3], &goal), Class::Undecided);
        assert_eq!(class(&[(10, 1); 4], &goal), Class::Upper);
        assert_eq!(class(&[(10, 1), (10, 1), (10, 1), (10, 1), (10, 0)], &goal), Class::Undecided);
    }

    #[test]
    fn the_conditional_throughput_is_of_the_worst_good_trial() {
        let goal = target(0.5, 0.5, 1, 4);
        assert_eq!(records(&[(1, 0), (1, 100)]).quantile_loss(7, &goal), 0.1);
        assert_eq!(records(&[(1, 100), (1, 0), (1, 900)]).quantile_loss(7, &goal), 0.1);
        assert_eq!(records(&[(1, 0)]).quantile_loss(7, &goal), 1.0);
        assert_eq!(records(&[(60, 0)]).quantile_loss(7, &target(0.0, 0.0, 60, 60)), 0.0);
    }

    #[test]
    fn the_relevant_lower_bound_is_below_every_upper_bound() {
        let goal = target(0.0, 0.0, 1, 1);
        let mut records = Records::default();
        for (step, received) in [(1, 10), (2, 10), (3, 9), (4, 10), (5, 8)] {
            let result = TrialResult {
                intended: 10,
                sent: 10,
                received,
                duplicates: 0,
                duration: Nanos::from_secs(1),
            };
            records.add(step, Nanos::from_secs(1), &result);
        }
        assert_eq!(records.bounds(&goal), Bounds { lower: Some(2), upper: Some(3) });
        assert!(records.has_lower_above(3, &goal) && !records.has_lower_above(4, &goal));
    }
}
