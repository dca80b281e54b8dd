//! Changes of level in a series of runs: found at the third run, reported once, and reported again when the level recovers.
//!
//! The method and its evaluation are in `docs/methods/trend.md`.

use super::compare::Rules;
use super::quantile::median;
use serde::{Deserialize, Serialize};

/// A lasting change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Index of the first run on the new level, from 0.
    pub begin: usize,
    /// Index of the run that confirmed it.
    pub confirmed: usize,
    /// The median before.
    pub before: f64,
    /// The median of the runs on the new level that confirmed it.
    pub after: f64,
    /// Distance of `after` from `before`, in percent of that; absent for a level of zero.
    pub percent: Option<f64>,
    /// Its direction.
    pub kind: ChangeKind,
}

/// The direction of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// Worse than before.
    Worse,
    /// Better than before.
    Better,
    /// After a worse level, as good as before that, or better.
    Recovered,
}

impl ChangeKind {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Worse => "worse",
            ChangeKind::Better => "better",
            ChangeKind::Recovered => "recovered",
        }
    }
}

/// The changes of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend {
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The level that the last one is compared with: the one before everything got worse; absent while all is well.
    pub lost: Option<f64>,
    /// The newest run is so bad that two more like it would be a change.
    pub is_suspicious: bool,
}

impl Trend {
    /// The changes of a series, one value of each run, the earliest first.
    #[must_use]
    pub fn from_values(values: &[f64], rules: &Rules) -> Trend {
        let (mut trend, mut start) = (Trend::default(), 0);
        for end in 1..=values.len() {
            let begin = start.max(end.saturating_sub(REACH));
            if let Some(step) = step(&values[begin..end], rules) {
                start = begin + step.begin;
                let change = trend.meaning(Change { begin: start, confirmed: end - 1, ..step }, rules);
                trend.changes.push(change);
            }
        }
        trend.is_suspicious = is_suspicious(&values[start.max(values.len().saturating_sub(REACH))..], rules);
        trend
    }

    /// The level is worse than it was, and has not recovered.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        self.lost.is_some()
    }

    /// Decides by the lost level whether a step is a recovery.
    fn meaning(&mut self, mut change: Change, rules: &Rules) -> Change {
        if is_worse(change.before, change.after, rules) {
            self.lost.get_or_insert(change.before);
            change.kind = ChangeKind::Worse;
        } else {
            let is_back = |lost: f64| {
                let allowed = lost * rules.threshold() / 100.0;
                (change.after - lost).abs() <= allowed || !is_worse(lost, change.after, rules)
            };
            change.kind = ChangeKind::Better;
            if self.lost.is_some_and(is_back) {
                self.lost = None;
                change.kind = ChangeKind::Recovered;
            }
        }
        change
    }
}

fn is_worse(before: f64, after: f64, rules: &Rules) -> bool {
    (after < before) == rules.higher_is_better
}

/// The level of the runs before the last `tail`, and their spread.
#[derive(Clone, Copy)]
struct Level {
    median: f64,
    spread: f64,
}

impl Level {
    /// A run is off its level when it lies further away than this.
    fn reach(&self, rules: &Rules) -> f64 {
        (OFF * self.spread).max(rules.threshold() / 100.0 * self.median)
    }
}

/// A change that the last run of a part of the series confirms.
fn step(values: &[f64], rules: &Rules) -> Option<Change> {
    let most = LONGEST.min(values.len().saturating_sub(BASE));
    // Most runs are on either side of the oldest ones, and the others cannot show a change.
    let oldest = median(&values[..values.len() - most])?;
    let last = &values[values.len() - most.min(CONFIRMING)..];
    if most < CONFIRMING
        || !(last.iter().all(|value| *value > oldest) || last.iter().all(|value| *value < oldest))
    {
        return None;
    }
    let spread = spread(values)?;
    let steps = (CONFIRMING..=most).filter_map(|tail| {
        let (base, tail) = values.split_at(values.len() - tail);
        let level = Level { median: median(base)?, spread };
        let after = median(tail)?;
        let separation = Some(separation(base, tail, level)).filter(|_| is_lasting(tail, level, rules))?;
        let percent = (level.median > 0.0).then(|| (after / level.median - 1.0) * 100.0);
        let kind = ChangeKind::Better;
        let change = Change { begin: base.len(), confirmed: 0, before: level.median, after, percent, kind };
        (separation > SURE).then_some((separation, change))
    });
    steps.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, change)| change)
}

/// The last runs are all off the level, on the same side.
fn is_lasting(tail: &[f64], level: Level, rules: &Rules) -> bool {
    let last = &tail[tail.len() - CONFIRMING..];
    let reach = level.reach(rules);
    last.iter().all(|value| *value > level.median + reach)
        || last.iter().all(|value| *value < level.median - reach)
}

/// Number of standard errors by which the means of two parts lie apart, with outliers limited: one failed run is not to weigh as
/// much as many.
fn separation(base: &[f64], tail: &[f64], level: Level) -> f64 {
    let (few, many) = (tail.len() as f64, base.len() as f64);
    let off = |value: &f64| match value - level.median {
        0.0 => 0.0,
        // Without any spread every difference is far.
        distance if level.spread == 0.0 => FAR * distance.signum(),
        distance => (distance / level.spread).clamp(-FAR, FAR),
    };
    let mean = |values: &[f64], count: f64| values.iter().map(off).sum::<f64>() / count;
    (mean(tail, few) - mean(base, many)).abs() * (few * many / (few + many)).sqrt()
}

/// The standard deviation of runs about their level, from the median distance of neighbours, which a step does not change.
fn spread(values: &[f64]) -> Option<f64> {
    let distances: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    Some(median(&distances)? * OF_NORMAL / std::f64::consts::SQRT_2)
}

/// The newest run is off the level of those before it, on the bad side.
fn is_suspicious(values: &[f64], rules: &Rules) -> bool {
    let Some((last, base)) = values.split_last().filter(|(_, base)| base.len() >= BASE) else { return false };
    let level = median(base).zip(spread(values));
    level.is_some_and(|(median, spread)| {
        let level = Level { median, spread };
        (last - median).abs() > level.reach(rules) && is_worse(median, *last, rules)
    })
}

/// Number of runs in a row that confirm a change.
const CONFIRMING: usize = 3;
/// Number of runs that make a level.
const BASE: usize = 8;
/// Largest number of runs after its beginning at which a slow change is found.
const LONGEST: usize = 15;
/// Number of past runs considered.
const REACH: usize = 75;
/// Standard deviations beyond which a run is off its level.
const OFF: f64 = 1.5;
/// Limit of the distance of an outlier, in standard deviations.
const FAR: f64 = 3.0;
/// Standard errors between two levels.
const SURE: f64 = 4.2;
/// The standard deviation of normal values over the median of their distances from the middle.
const OF_NORMAL: f64 = 1.4826;

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    fn rules() -> Rules {
        Rules::new(true)
    }

    fn kinds(values: &[f64]) -> Vec<(usize, usize, ChangeKind)> {
        let changes = Trend::from_values(values, &rules()).changes;
        changes.iter().map(|change| (change.begin, change.confirmed, change.kind)).collect()
    }

    #[test]
    fn a_step_is_confirmed_by_the_third_run_and_reported_once() {
        let mut random = Random(1);
        let runs =
            [random.runs(30, 1e9, 0.02), random.runs(20, 0.8e9, 0.02), random.runs(20, 1e9, 0.02)].concat();
        assert_eq!(kinds(&runs), [(30, 32, ChangeKind::Worse), (50, 52, ChangeKind::Recovered)]);
        assert!(Trend::from_values(&runs[..40], &rules()).is_worse());
        assert!(!Trend::from_values(&runs, &rules()).is_worse());
        assert!(Trend::from_values(&runs[..31], &rules()).is_suspicious, "measure again at once");
        assert!(!Trend::from_values(&runs[..30], &rules()).is_suspicious);
        // For a delay the directions are reversed.
        let delay = Trend::from_values(&runs, &Rules::new(false)).changes;
        assert_eq!([delay[0].kind, delay[1].kind], [ChangeKind::Better, ChangeKind::Worse]);
    }

    #[test]
    fn worse_twice_is_reported_twice_and_a_partial_recovery_is_none() {
        let levels: Vec<f64> =
            [100.0, 80.0, 60.0, 80.0, 100.0].iter().flat_map(|level| [*level; 12]).collect();
        let found: Vec<ChangeKind> = kinds(&levels).iter().map(|(.., kind)| *kind).collect();
        use ChangeKind::{Better, Recovered, Worse};
        assert_eq!(found, [Worse, Worse, Better, Recovered]);
    }

    #[test]
    fn single_runs_and_small_or_short_series_are_no_change() {
        assert!(kinds(&[]).is_empty());
        assert!(kinds(&[1.0, 0.1, 0.1, 0.1]).is_empty(), "too few runs make no level");
        let mut failed = vec![100.0; 20];
        (failed[12], failed[13]) = (0.0, 0.0);
        assert!(kinds(&failed).is_empty(), "two failed runs");
        assert!(kinds(&[[100.0; 20], [98.5; 20]].concat()).is_empty(), "a change below 2 %");
        assert_eq!(kinds(&[[0.0; 10], [5.0; 10]].concat())[0].2, ChangeKind::Better);
    }

    /// The simulations of `docs/methods/trend.md`.
    #[test]
    fn false_alarms_are_rare_and_steps_are_found() {
        let mut random = Random(2);
        let quiet: usize = (0..2).map(|_| kinds(&random.runs(1400, 1.0, 0.02)).len()).sum();
        assert!(quiet <= 1, "{quiet} of 2800 runs of a path that does not change");
        let outliers: usize = (0..2)
            .map(|_| {
                let mut runs = random.runs(1400, 1.0, 0.02);
                runs.iter_mut().filter(|_| random.uniform() < 0.05).for_each(|run| *run *= 0.7);
                kinds(&runs).len()
            })
            .sum();
        assert!(outliers <= 5, "{outliers} of 2800 runs, of which one in twenty is 30 % less");
        for (step, at_third, in_the_end) in [(0.10, 90, 98), (0.05, 20, 90)] {
            let found: Vec<usize> = (0..100)
                .filter_map(|_| {
                    let runs = [random.runs(30, 1.0, 0.02), random.runs(30, 1.0 - step, 0.02)].concat();
                    let worse = kinds(&runs)
                        .into_iter()
                        .find(|(begin, _, kind)| *begin >= 25 && *kind == ChangeKind::Worse);
                    worse.map(|(_, confirmed, _)| confirmed)
                })
                .collect();
            let third = found.iter().filter(|confirmed| **confirmed <= 32).count();
            assert!(third >= at_third && found.len() >= in_the_end, "{step}: {third}, {}", found.len());
        }
    }
}
