//! The sum of several pairs of client and server that ran at once, on purpose.

use super::{Subject, together};
use model::event::Warning;
use model::pairs::{BrokenPair, Pairs, Together};
use model::run::Run;
use model::units::{BitRate, Nanos, percent};

/// Sums runs that began together. Each run's `started` is when its data began to flow.
#[must_use]
pub fn sum_pairs(asked: u64, runs: &[&Run], broken: Vec<BrokenPair>, link: Option<BitRate>) -> Pairs {
    let subjects: Vec<Subject<'_>> =
        runs.iter().map(|run| Subject { name: "pair", group: None, run }).collect();
    let together = together::runs_together(&subjects, link);
    let share = |sum: &Together| match sum.whole {
        Nanos::ZERO => 0.0,
        whole => sum.overlap.0 as f64 / whole.0 as f64,
    };
    let alone = if runs.len() == 1 { 1.0 } else { 0.0 };
    let overlap_share = together.as_ref().map_or(alone, share);
    Pairs { asked, together, overlap_share, broken, steps: Vec::new(), stopped: None, common_start: None }
}

/// Warnings that a reader must know to judge the sum.
pub(crate) fn warnings(pairs: &Pairs) -> Vec<Warning> {
    let broken = pairs.broken.iter().map(|broken| {
        Warning::new("pair-broken", format!("Pair {} failed: {}.", broken.pair, broken.reason))
    });
    let mut warnings: Vec<Warning> = broken.collect();
    if pairs.together.is_some() && pairs.overlap_share < ENOUGH {
        warnings.push(Warning::new(
            "pairs-apart",
            format!(
                "All pairs ran at once for {} of the time from the first begin to the last end: the sum is of that \
                 time alone. A longer test (-t) makes the share larger.",
                percent(pairs.overlap_share)
            ),
        ));
    }
    warnings
}

/// A smaller overlap is reported.
const ENOUGH: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;
    use model::pairs::PairsDirection;

    fn sum(overlap: u64, whole: u64) -> Pairs {
        let direction =
            |goodput| PairsDirection { runs: 2, goodput: BitRate(goodput), ..PairsDirection::default() };
        let together = Together {
            runs: 2,
            overlap: Nanos::from_secs(overlap),
            whole: Nanos::from_secs(whole),
            clocked: true,
            up: Some(direction(400)),
            down: Some(direction(30)),
        };
        let overlap_share = overlap as f64 / whole as f64;
        Pairs { together: Some(together), overlap_share, ..sum_pairs(2, &[], Vec::new(), None) }
    }

    #[test]
    fn too_little_overlap_is_reported() {
        assert_eq!(warnings(&sum(99, 100)), Vec::new());
        let reported = warnings(&sum(82, 100));
        assert!(reported.len() == 1 && reported[0].text.contains("82.0 % of the time"), "{reported:?}");
        assert_eq!(sum(99, 100).goodput(), BitRate(430));
    }

    #[test]
    fn a_broken_pair_is_reported() {
        let broken = vec![BrokenPair { pair: 2, reason: "it was cut off".into() }];
        let pairs = sum_pairs(2, &[&Run::unjudged("id", "throughput", &[])], broken, None);
        assert_eq!((pairs.together.is_none(), pairs.goodput()), (true, BitRate(0)));
        assert!(warnings(&pairs)[0].text.starts_with("Pair 2 failed"));
    }
}
