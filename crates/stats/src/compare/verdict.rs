//! The judgement of a comparison: better, worse, the same, or undecided, with the number of runs it would take.

use super::{Comparison, NEEDED_RUNS, needed};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The judgement of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "word", rename_all = "snake_case")]
pub enum Judgement {
    /// Surely different, by more than the threshold, in the better direction.
    Better,
    /// The same in the worse direction.
    Worse,
    /// Surely no further apart than the margin.
    Same,
    /// Neither is sure.
    CannotTell {
        /// About so many more runs on each side would decide, at most 1000.
        more_runs: u64,
    },
    /// There are too few runs for any judgement.
    TooFew {
        /// Least number of runs on each side.
        needed: u64,
    },
    /// There is no percentage, as for a base of zero: see the medians.
    NoPercentage,
}

/// The judgement of a comparison whose `p` and `q` are known.
pub(super) fn judge(row: &Comparison) -> Judgement {
    let (Some(p), Some(q)) = (row.p, row.q) else {
        return Judgement::TooFew { needed: NEEDED_RUNS };
    };
    let Some(shift) = row.shift else { return Judgement::NoPercentage };
    if q < SIGNIFICANT && shift.percent.abs() > row.rules.threshold() {
        return match (shift.percent > 0.0) == row.rules.higher_is_better {
            true => Judgement::Better,
            false => Judgement::Worse,
        };
    }
    if row.few {
        return Judgement::TooFew { needed: NEEDED_RUNS };
    }
    let margin = row.rules.margin();
    if shift.low.is_some_and(|low| low > -margin) && shift.high.is_some_and(|high| high < margin) {
        return Judgement::Same;
    }
    // In a table a row needs a smaller p for the same q, by the present ratio of the two.
    let level = if q > 0.0 { SIGNIFICANT * (p / q).min(1.0) } else { SIGNIFICANT };
    Judgement::CannotTell { more_runs: needed::more_runs(row, shift.percent, level) }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Judgement::Better => f.write_str("better"),
            Judgement::Worse => f.write_str("worse"),
            Judgement::Same => f.write_str("same"),
            Judgement::CannotTell { more_runs } if *more_runs >= needed::MOST_RUNS => {
                write!(f, "cannot tell: even {more_runs} more runs a side would hardly do")
            }
            Judgement::CannotTell { more_runs } => {
                write!(f, "cannot tell: need about {more_runs} more runs a side")
            }
            Judgement::TooFew { needed } => write!(f, "cannot tell: needs at least {needed} runs a side"),
            Judgement::NoPercentage => f.write_str("no percentage: the base is zero"),
        }
    }
}

const SIGNIFICANT: f64 = 0.05;
