//! Detection of a clock that was set during a run.
//!
//! Every exchange bounds the offset, and so does the fit; when the two bounds at one time do not overlap, the two clocks did not
//! both run evenly, and no result of the fit can be trusted.

use super::{ClockFit, ClockSync, Line, Sample, by_round_trip};
use serde::{Deserialize, Serialize};
use units::time::MonoTime;

/// A clock was set, or ran unevenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockStep {
    /// Local time of the step, to within a 32nd of the run.
    pub at: MonoTime,
    /// Step of the remote clock against the local one, in nanoseconds, to within a round trip.
    #[serde(rename = "by_ns")]
    pub by: i64,
}

impl ClockSync {
    /// The step of a clock during the run; `None` when all exchanges agree with two clocks that run evenly, or there
    /// are fewer than eight.
    ///
    /// A step that is smaller than half a round trip can hide, as it can from any method that does not trust the path
    /// to be symmetric; so can one after the last few exchanges or before the first.
    #[must_use]
    pub fn step(&self) -> Option<ClockStep> {
        let samples = self.all();
        let fit = ClockFit::through(&samples)?;
        let step = located(&samples);
        let uneven =
            samples.iter().any(|sample| contradicts(sample, &fit)) || sides_contradict(&samples, step.at);
        uneven.then_some(step)
    }
}

/// The offset that the exchange allows and the one that the fit allows at that time do not overlap.
fn contradicts(sample: &Sample, fit: &ClockFit) -> bool {
    let at = MonoTime(sample.middle);
    let apart = (sample.double_offset / 2 - i128::from(fit.offset_at(at))).unsigned_abs();
    apart > u128::from(sample.round_trip / 2) + u128::from(fit.error_at(at).0) + SLACK
}

/// The fits before and after allow no common offset in between. This detects a step too large for one line.
fn sides_contradict(samples: &[Sample], at: MonoTime) -> bool {
    let chunk = samples.len().div_ceil(PARTS);
    let split = samples.partition_point(|sample| sample.middle < at.0);
    // The step lies between the best exchange of one part and that of the next: somewhere in these two.
    let (before, after) = (split.saturating_sub(2 * chunk), (split + chunk).min(samples.len()));
    let early = ClockFit::through(&samples[..before]);
    let (Some(early), Some(late)) = (early, ClockFit::through(&samples[after..])) else { return false };
    let apart = (i128::from(early.offset_at(at)) - i128::from(late.offset_at(at))).unsigned_abs();
    apart > u128::from(early.error_at(at).0) + u128::from(late.error_at(at).0) + SLACK
}

/// The time at which two lines of one slope fit better than one.
fn located(samples: &[Sample]) -> ClockStep {
    let chunk = samples.len().div_ceil(PARTS);
    let best: Vec<&Sample> =
        samples.chunks(chunk).filter_map(|part| part.iter().min_by_key(by_round_trip)).collect();
    let points: Vec<(f64, f64)> = best.iter().map(|sample| sample.relative_to(best[0])).collect();
    let splits = (1..points.len()).map(|split| (split, Split::at(&points, split)));
    let found = splits.min_by(|a, b| a.1.error.total_cmp(&b.1.error));
    let (split, by) = found.map_or((0, 0), |(split, lines)| (split, lines.by.round() as i64));
    ClockStep { at: MonoTime(best[split].middle), by }
}

/// Two lines of one slope.
struct Split {
    /// The sum of squared distances.
    error: f64,
    /// Offset of the second line above the first.
    by: f64,
}

impl Split {
    fn at(points: &[(f64, f64)], split: usize) -> Split {
        let (early, late) = points.split_at(split);
        let (first, second) = (Line::through(early), Line::through(late));
        // The slope through the distances from either mean; `Line` ignores a slope that is too steep for a clock.
        let centered = |points: &[(f64, f64)], line: &Line| -> Vec<(f64, f64)> {
            points.iter().map(|point| (point.0 - line.x, point.1 - line.y)).collect()
        };
        let around = [centered(early, &first), centered(late, &second)].concat();
        let slope = Line::through(&around).slope;
        let error = around.iter().map(|point| (point.1 - slope * point.0).powi(2)).sum();
        Split { error, by: second.y - first.y - slope * (second.x - first.x) }
    }
}

const PARTS: usize = 64;
/// Error of timestamps of a clock that counts microseconds, in nanoseconds.
const SLACK: u128 = 1_000;

#[cfg(test)]
mod tests {
    use super::super::Exchange;
    use super::*;
    use proptest::prelude::*;

    /// A remote clock that gains `drift_ppm` and steps by `step` at exchange `when` of `count`, one every 10 ms.
    fn stepped(count: u64, when: u64, step: i64, drift_ppm: u64, queue: impl Fn(u64) -> u64) -> ClockSync {
        let mut sync = ClockSync::default();
        for index in 0..count {
            let sent = 1_000_000_000 + index * 10_000_000;
            let set = if index >= when { step } else { 0 };
            let remote = |local: u64| {
                MonoTime((local + 9_000_000_000 + local * drift_ppm / 1_000_000).saturating_add_signed(set))
            };
            let (out, back) = (90_000 + queue(index), 110_000);
            sync.record(Exchange {
                sent: MonoTime(sent),
                remote_received: remote(sent + out),
                remote_sent: remote(sent + out + 3_000),
                received: MonoTime(sent + out + 3_000 + back),
            });
        }
        sync
    }

    #[test]
    fn a_step_in_the_middle_is_found_where_it_was() {
        for step in [10_000_000, -10_000_000, 1_000_000, -700_000] {
            let found = stepped(1000, 500, step, 50, |index| index % 5 * 20_000).step().unwrap();
            assert!((found.by - step).abs() < 210_000, "{found:?}");
            assert!(found.at.0.abs_diff(6_000_000_000) < 400_000_000, "{found:?}");
        }
    }

    #[test]
    fn a_step_early_or_late_is_found() {
        for when in [60, 300, 900, 960] {
            let found = stepped(1000, when, 10_000_000, 20, |index| index % 3 * 50_000).step().unwrap();
            assert!((found.by - 10_000_000).abs() < 210_000, "{when} {found:?}");
            assert!(found.at.0.abs_diff(1_000_000_000 + when * 10_000_000) < 400_000_000, "{when} {found:?}");
        }
    }

    #[test]
    fn a_small_step_hides_behind_the_round_trip() {
        assert_eq!(stepped(1000, 500, 40_000, 50, |_| 0).step(), None);
        assert_eq!(ClockSync::default().step(), None);
    }

    proptest! {
        #[test]
        fn even_clocks_never_step(
            drift_ppm in 0_u64..300,
            queues in prop::collection::vec(0_u64..50_000_000, 8..300),
            growing in 0_u64..100_000,
        ) {
            let queue = |index: u64| queues[index as usize] + index * growing;
            prop_assert_eq!(stepped(queues.len() as u64, u64::MAX, 0, drift_ppm, queue).step(), None);
        }

        #[test]
        fn any_stamps_are_an_answer(stamps in prop::collection::vec(any::<[u64; 4]>(), 8..100)) {
            let mut sync = ClockSync::default();
            for [t1, t2, t3, t4] in stamps {
                let (sent, received) = (MonoTime(t1.min(t4)), MonoTime(t1.max(t4)));
                sync.record(Exchange { sent, remote_received: MonoTime(t2), remote_sent: MonoTime(t3), received });
            }
            let _ = sync.step();
        }
    }
}
