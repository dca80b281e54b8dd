//! Several pairs of client and server that ran at once, on purpose, as one measurement.

use super::together::{self, Together};
use super::{Subject, Way};
use crate::event::Warning;
use crate::run::Run;
use crate::units::{BitRate, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sum of the pairs of a run; each pair is one of its tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pairs {
    /// Pairs asked for.
    pub asked: u64,
    /// The sum over the time in which all of them ran; absent when fewer than two did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// That time as a share of the time from the first begin to the last end.
    pub overlap_share: f64,
    /// Pairs that ended early or never began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<BrokenPair>,
    /// What was tried before, where the number was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PairStep>,
    /// Why no more were tried, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// A pair that did not do its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenPair {
    /// Its number, from 1.
    pub pair: u64,
    /// What happened.
    pub reason: String,
}

/// So many pairs, and their sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairStep {
    /// How many.
    pub pairs: u64,
    /// Payload per second, both directions.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
}

impl Pairs {
    /// Sums runs that began together. Each run's `started` is when its data began to flow.
    #[must_use]
    pub fn of(asked: u64, runs: &[&Run], broken: Vec<BrokenPair>, link: Option<BitRate>) -> Pairs {
        let subjects: Vec<Subject<'_>> =
            runs.iter().map(|run| Subject { name: "pair", group: None, run }).collect();
        let together = together::of(&subjects, link);
        let share = |sum: &Together| match sum.whole {
            Nanos::ZERO => 0.0,
            whole => sum.overlap.0 as f64 / whole.0 as f64,
        };
        let alone = if runs.len() == 1 { 1.0 } else { 0.0 };
        let overlap_share = together.as_ref().map_or(alone, share);
        Pairs { asked, together, overlap_share, broken, steps: Vec::new(), stopped: None }
    }

    /// What a reader must know to judge the sum.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let broken = self.broken.iter().map(|broken| {
            Warning::new(
                "pair-broken",
                format!("Pair {} did not do its part: {}.", broken.pair, broken.reason),
            )
        });
        let mut warnings: Vec<Warning> = broken.collect();
        if self.together.is_some() && self.overlap_share < ENOUGH {
            warnings.push(Warning::new(
                "pairs-apart",
                format!(
                    "All pairs ran at once for {:.0} % of the time from the first begin to the last end: the sum is of that \
                     time alone. A longer test (-t) makes the share larger.",
                    self.overlap_share * 100.0
                ),
            ));
        }
        warnings
    }

    /// Payload per second of both directions together.
    #[must_use]
    pub fn goodput(&self) -> BitRate {
        let ways = self.together.iter().flat_map(|sum| [sum.up, sum.down]);
        BitRate(ways.flatten().map(|way: Way| way.goodput.0).sum())
    }
}

/// Less of an overlap is told.
const ENOUGH: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(overlap: u64, whole: u64) -> Pairs {
        let way = |goodput| Way { runs: 2, goodput: BitRate(goodput), ..Way::default() };
        let together = Together {
            runs: 2,
            overlap: Nanos::from_secs(overlap),
            whole: Nanos::from_secs(whole),
            clocked: true,
            up: Some(way(400)),
            down: Some(way(30)),
        };
        let overlap_share = overlap as f64 / whole as f64;
        Pairs { together: Some(together), overlap_share, ..Pairs::of(2, &[], Vec::new(), None) }
    }

    #[test]
    fn too_little_overlap_is_told() {
        assert_eq!(sum(99, 100).warnings(), Vec::new());
        let told = sum(82, 100).warnings();
        assert!(told.len() == 1 && told[0].text.contains("82 % of the time"), "{told:?}");
        assert_eq!(sum(99, 100).goodput(), BitRate(430));
    }

    #[test]
    fn a_broken_pair_is_told() {
        let broken = vec![BrokenPair { pair: 2, reason: "it was cut off".into() }];
        let pairs = Pairs::of(2, &[&Run::of("id", "throughput", &[])], broken, None);
        assert_eq!((pairs.together.is_none(), pairs.goodput()), (true, BitRate(0)));
        assert!(pairs.warnings()[0].text.starts_with("Pair 2 did not do its part"));
    }
}
