//! The tracker against plain examples and against a set of all numbers received.

use super::*;
use proptest::prelude::*;
use std::collections::HashSet;

fn tracked(start: u64, arrivals: &[u64]) -> SequenceTracker {
    let mut tracker = SequenceTracker::new(start, 64);
    arrivals.iter().for_each(|&sequence| tracker.record(sequence));
    tracker
}

#[test]
fn in_order_is_clean() {
    let tracker = tracked(1, &[1, 2, 3]);
    assert_eq!(tracker.snapshot(), SequenceCounts { expected: 3, received: 3, ..SequenceCounts::default() });
    assert_eq!(tracker.lost(Some(3)), 0);
}

#[test]
fn a_duplicate_does_not_hide_a_loss() {
    let tracker = tracked(0, &[0, 1, 1, 3]);
    let counts = tracker.snapshot();
    assert_eq!((tracker.lost(Some(3)), counts.duplicates, counts.reordered), (1, 1, 0));
}

#[test]
fn a_reordered_arrival_is_not_lost() {
    let tracker = tracked(0, &[0, 3, 1, 2, 2]);
    let counts = tracker.snapshot();
    assert_eq!(tracker.lost(Some(3)), 0);
    assert_eq!((counts.duplicates, counts.reordered, counts.reorder_distance), (1, 2, 2));
}

#[test]
fn a_number_sent_and_not_received_is_lost() {
    assert_eq!(tracked(5, &[]).lost(Some(14)), 10);
    assert_eq!(tracked(5, &[]).lost(None), 0);
    assert_eq!(tracked(5, &[7]).lost(Some(9)), 4);
}

#[test]
fn behind_the_window_and_before_the_start_is_late() {
    let mut tracker = tracked(10, &[9, 10]);
    assert_eq!(tracker.snapshot().late, 1);
    tracker.record(10 + 64);
    assert_eq!(tracker.snapshot().duplicates, 0);
    tracker.record(10);
    tracker.record(11);
    let counts = tracker.snapshot();
    assert_eq!((counts.late, counts.duplicates, counts.reordered), (2, 0, 1));
}

#[test]
fn a_jump_costs_a_window_and_counts_as_loss() {
    let mut tracker = tracked(0, &[0]);
    tracker.record_run(1 << 60, 44);
    assert_eq!((tracker.received(), tracker.lost(Some((1 << 60) + 43))), (45, (1 << 60) - 1));
}

#[test]
fn the_end_of_the_numbers_is_no_panic() {
    let mut tracker = SequenceTracker::new(u64::MAX - 3, 64);
    tracker.record_run(u64::MAX - 3, 100);
    tracker.record(u64::MAX);
    let counts = tracker.snapshot();
    assert_eq!((counts.received, counts.late), (3, 98));
    assert_eq!(tracker.lost(Some(u64::MAX)), 0);
    let mut from_zero = SequenceTracker::new(0, 64);
    from_zero.record(u64::MAX - 1);
    assert_eq!(from_zero.lost(Some(u64::MAX - 1)), u64::MAX - 1);
}

#[test]
fn a_sender_that_admits_to_less_is_found_out() {
    // Two of the four numbers are above the last one reported: they replace none that is missing.
    assert_eq!(tracked(0, &[0, 1, 2, 5]).lost(Some(1)), 0);
    assert_eq!(tracked(0, &[0, 2, 5]).lost(Some(1)), 1);
    assert_eq!((tracked(9, &[]).highest(), tracked(9, &[11, 10]).highest()), (None, Some(11)));
}

#[test]
fn a_run_longer_than_the_window_is_all_received() {
    let mut tracker = SequenceTracker::new(0, 64);
    tracker.record_run(3, 1000);
    assert_eq!((tracker.received(), tracker.lost(Some(1002))), (1000, 3));
    tracker.record_run(0, 2000);
    let counts = tracker.snapshot();
    assert_eq!((counts.received, counts.duplicates, counts.late), (1000 + 997, 64, 1003 - 64));
}

/// The definitions, applied to one number at a time.
#[derive(Default)]
struct Naive {
    observed: HashSet<u64>,
    highest: Option<u64>,
    counts: SequenceCounts,
}

impl Naive {
    fn record(&mut self, start: u64, window: u64, sequence: u64) {
        let next = self.highest.map_or(start, |highest| highest + 1);
        if sequence < start || sequence < next.saturating_sub(window) {
            self.counts.late += 1;
        } else if !self.observed.insert(sequence) {
            self.counts.duplicates += 1;
        } else {
            self.counts.received += 1;
            if sequence < next {
                self.counts.reordered += 1;
                self.counts.reorder_distance = self.counts.reorder_distance.max(next - 1 - sequence);
            }
        }
        self.highest = Some(sequence).max(self.highest).filter(|highest| *highest >= start);
        self.counts.expected = self.highest.map_or(0, |highest| highest + 1 - start);
    }
}

proptest! {
    #[test]
    fn agrees_with_a_set_of_all_numbers_received(
        start in prop::sample::select(vec![0_u64, 1, 37, 1 << 40]),
        window in prop::sample::select(vec![64_u32, 128, 256]),
        steps in prop::collection::vec((-200_i64..300, 0_u32..90), 1..60),
        unseen in 0_u64..200,
    ) {
        let mut tracker = SequenceTracker::new(start, window);
        let mut naive = Naive::default();
        let mut at = start;
        for (step, count) in steps {
            let first = at.saturating_add_signed(step);
            tracker.record_run(first, count);
            (first..first + u64::from(count)).for_each(|sequence| naive.record(start, window.into(), sequence));
            at = first + u64::from(count);
            prop_assert_eq!(tracker.snapshot(), naive.counts);
        }
        let last = (start + naive.counts.expected + unseen).saturating_sub(1).max(start);
        let expected_lost = (start..=last).filter(|number| !naive.observed.contains(number)).count();
        prop_assert_eq!(tracker.lost(Some(last)), expected_lost as u64);
    }

    #[test]
    fn any_numbers_are_counted_once_each(steps in prop::collection::vec((any::<u64>(), any::<u16>()), 0..40), last: Option<u64>) {
        let mut tracker = SequenceTracker::new(7, 1024);
        let mut arrivals = 0;
        for (first, count) in steps {
            tracker.record_run(first, count.into());
            arrivals += u64::from(count);
        }
        let counts = tracker.snapshot();
        prop_assert_eq!(counts.received + counts.duplicates + counts.late, arrivals);
        let sent = last.map_or(0, |last| last.saturating_add(1).saturating_sub(7));
        prop_assert!(tracker.lost(last) <= sent);
        prop_assert!(tracker.lost(last) + counts.received >= sent);
    }
}
