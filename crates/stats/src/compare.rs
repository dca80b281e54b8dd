//! Two groups of runs compared: their difference, its confidence, and the judgement.
//!
//! A sample is a **run**, never a report interval of one: intervals of a run are alike, and a test that takes them for
//! independent reports a difference in 71 of 100 comparisons of identical paths. Runs of the two groups should be interleaved
//! (ABAB…), as a slow drift of the path is otherwise taken for a difference.
//!
//! The method and its sources are in `docs/methods/comparison.md`.

mod correction;
mod mann_whitney;
mod needed;
mod normal;
mod shift;
mod verdict;
mod welch;

pub use needed::MOST_RUNS;
pub use verdict::Judgement;

use super::percentile::bounds;
use super::quantile::{ascending, median};
use super::spread::Moments;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One row to compare: the value of every run of each group, in any unit, the same in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case<'a> {
    /// Name of the row.
    pub name: &'a str,
    /// The group compared with: one value of each run, none negative.
    pub base: &'a [f64],
    /// The group compared: one value of each run, none negative.
    pub other: &'a [f64],
    /// The conditions under which a difference counts.
    pub rules: Rules,
}

/// The conditions under which a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rules {
    /// True for a rate, false for a delay or a loss.
    pub higher_is_better: bool,
    /// Differences that the same path shows with itself, in percent.
    pub noise_floor_percent: f64,
    /// Smaller differences are irrelevant, in percent.
    pub least_percent: f64,
    /// Groups are the same when their difference surely lies within this, in percent; where it is smaller than the two above, the
    /// larger of these applies.
    pub margin_percent: f64,
}

/// Two groups of runs compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the row.
    pub name: String,
    /// The group compared with.
    pub base: Group,
    /// The group compared.
    pub other: Group,
    /// The conditions that were applied.
    pub rules: Rules,
    /// Distance of `other` from `base`; absent where no percentage can be given, as from a base of zero.
    pub shift: Option<Shift>,
    /// How `p` was computed; absent with less than two runs on a side.
    pub method: Option<Method>,
    /// Two-sided probability of such a difference between groups that are the same.
    pub p: Option<f64>,
    /// The same corrected for all rows of the table: the share of false ones among the rows with a `q` up to this.
    pub q: Option<f64>,
    /// A side has fewer runs than [`NEEDED_RUNS`]: the judgement assumes that runs are normally distributed.
    pub few: bool,
    /// The judgement.
    pub judgement: Judgement,
}

/// One group of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// Number of runs.
    pub runs: u64,
    /// The middle run, or the mean of the two in the middle; absent without runs.
    pub median: Option<f64>,
    /// The true median lies between these with 95 %; absent with fewer than 6 runs.
    pub median_bounds: Option<[f64; 2]>,
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The sample standard deviation; absent below two runs.
    pub stddev: Option<f64>,
}

/// Distance of one group from the other, in percent of the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// The difference of the medians.
    pub percent: f64,
    /// Lower bound of the 95 % interval; absent where the runs are too few for one.
    pub low: Option<f64>,
    /// Upper bound, likewise; absent also where it is unbounded.
    pub high: Option<f64>,
}

/// How the probability was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Mann–Whitney, by the exact permutation distribution.
    MannWhitneyExact,
    /// Mann–Whitney, by the normal approximation.
    MannWhitneyNormal,
    /// Welch's t-test, with fewer than [`NEEDED_RUNS`] runs on a side.
    Welch,
}

/// Why groups cannot be compared.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CompareError {
    /// A value of which no percentage can be taken.
    #[error(
        "compare \"{name}\": run {run} of {group} is {value}, and only figures from 0 to 1e100 can be compared"
    )]
    Value {
        /// The row.
        name: String,
        /// The run's number in its group, from 1.
        run: usize,
        /// `base` or `other`.
        group: &'static str,
        /// The value.
        value: f64,
    },
}

/// Runs on each side for a comparison without assumptions: with fewer there is no 95 % interval of a median.
pub const NEEDED_RUNS: u64 = 6;

impl Rules {
    /// The rules for a figure that is better when higher, as a rate, or when lower, as a delay. Below 2 % no difference counts.
    #[must_use]
    pub fn new(higher_is_better: bool) -> Rules {
        Rules { higher_is_better, noise_floor_percent: 0.0, least_percent: 2.0, margin_percent: 2.0 }
    }

    /// A difference up to this is neither better nor worse, in percent.
    #[must_use]
    pub fn threshold(&self) -> f64 {
        self.noise_floor_percent.max(self.least_percent)
    }

    /// Groups that surely differ by no more than this are the same, in percent.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin_percent.max(self.threshold())
    }
}

/// Compares the groups of every row. The rows are judged together: each `q` takes the number of rows into account, so a row alone
/// may be judged otherwise than in a table.
///
/// # Errors
/// When a value is negative or not a number.
pub fn table(cases: &[Case<'_>]) -> Result<Vec<Comparison>, CompareError> {
    let mut rows = cases.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    let probabilities: Vec<Option<f64>> = rows.iter().map(|row| row.p).collect();
    for (row, q) in rows.iter_mut().zip(correction::benjamini_hochberg(&probabilities)) {
        row.q = q;
        row.judgement = verdict::judge(row);
    }
    Ok(rows)
}

/// A row before the others are known.
fn measure(case: &Case<'_>) -> Result<Comparison, CompareError> {
    check(case, "base", case.base)?;
    check(case, "other", case.other)?;
    let few = (case.base.len().min(case.other.len()) as u64) < NEEDED_RUNS;
    let (tested, bounds) = if few {
        let tested = welch::probability(case.base, case.other).map(|p| (Method::Welch, p));
        (tested, welch::bounds(case.base, case.other))
    } else {
        let bounds =
            shift::hodges_lehmann(case.base, case.other).map_or([None; 2], |shift| [shift.low, shift.high]);
        (Some(mann_whitney::test(case.base, case.other)), bounds)
    };
    let shift = Shift::between_medians(case.base, case.other, bounds);
    Ok(Comparison {
        name: case.name.into(),
        base: Group::from_values(case.base),
        other: Group::from_values(case.other),
        rules: case.rules,
        shift,
        method: tested.map(|(method, _)| method),
        p: tested.map(|(_, p)| p),
        q: None,
        few,
        judgement: Judgement::Same,
    })
}

fn check(case: &Case<'_>, group: &'static str, values: &[f64]) -> Result<(), CompareError> {
    match values.iter().position(|value| !(0.0..=LARGEST).contains(value)) {
        None => Ok(()),
        Some(at) => {
            Err(CompareError::Value { name: case.name.into(), run: at + 1, group, value: values[at] })
        }
    }
}

impl Shift {
    /// Distance of the printed medians, with the bounds of the test that was made: widened so that they contain it, and never
    /// below −100 %, as no value is below zero.
    fn between_medians(base: &[f64], other: &[f64], [low, high]: [Option<f64>; 2]) -> Option<Shift> {
        let (base, other) = (median(base)?, median(other)?);
        let percent = if base == other { 0.0 } else { (other / base - 1.0) * 100.0 };
        percent.is_finite().then(|| Shift {
            percent,
            low: low.map(|low| low.min(percent).max(-100.0)),
            high: high.map(|high| high.max(percent)),
        })
    }
}

impl Group {
    /// The figures of these runs.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Group {
        let moments = Moments::from_values(values);
        let sorted = ascending(values);
        let at = |rank: u64| sorted[rank as usize - 1];
        Group {
            runs: moments.count(),
            median: median(values),
            median_bounds: bounds(50.0, moments.count()).map(|ranks| [at(ranks.low), at(ranks.high)]),
            mean: moments.mean(),
            stddev: moments.stddev(),
        }
    }

    /// The standard deviation as a share of the mean.
    fn variation(&self) -> Option<f64> {
        Some(self.stddev? / self.mean.filter(|mean| *mean > 0.0)?)
    }
}

/// Squares of larger figures overflow.
const LARGEST: f64 = 1e100;

#[cfg(test)]
mod tests;
