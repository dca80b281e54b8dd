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
    let totals = tracked(1, &[1, 2, 3]).totals(Some(3));
    assert_eq!(totals, SequenceTotals { sent: 3, received: 3, ..SequenceTotals::default() });
}

#[test]
fn a_duplicate_does_not_hide_a_loss() {
    let totals = tracked(0, &[0, 1, 1, 3]).totals(Some(3));
    assert_eq!((totals.lost, totals.duplicates, totals.reordered), (1, 1, 0));
}

#[test]
fn a_reordered_arrival_is_not_lost() {
    let totals = tracked(0, &[0, 3, 1, 2, 2]).totals(Some(3));
    assert_eq!((totals.lost, totals.duplicates, totals.reordered, totals.reorder_distance), (0, 1, 2, 2));
}

#[test]
fn a_number_sent_and_not_received_is_lost() {
    assert_eq!(tracked(5, &[]).totals(Some(14)).lost, 10);
    assert_eq!(tracked(5, &[]).totals(None).sent, 0);
    assert_eq!(tracked(5, &[7]).totals(Some(9)).lost, 4);
    assert_eq!(tracked(5, &[7]).totals(Some(9)).loss_bursts, 2);
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
    let totals = tracker.totals(Some((1 << 60) + 43));
    assert_eq!((totals.received, totals.lost), (45, (1 << 60) - 1));
    assert_eq!((totals.loss_bursts, totals.longest_loss_burst), (1, (1 << 60) - 1));
}

#[test]
fn the_end_of_the_numbers_is_no_panic() {
    let mut tracker = SequenceTracker::new(u64::MAX - 3, 64);
    tracker.record_run(u64::MAX - 3, 100);
    tracker.record(u64::MAX);
    let counts = tracker.snapshot();
    assert_eq!((counts.received, counts.late), (3, 98));
    assert_eq!(tracker.totals(Some(u64::MAX)).lost, 0);
    let mut from_zero = SequenceTracker::new(0, 64);
    from_zero.record(u64::MAX - 1);
    assert_eq!(from_zero.totals(Some(u64::MAX - 1)).lost, u64::MAX - 1);
}

#[test]
fn a_sender_that_admits_to_less_is_found_out() {
    let totals = tracked(0, &[0, 1, 2, 5]).totals(Some(1));
    assert_eq!((totals.sent, totals.received, totals.lost, totals.beyond), (2, 2, 0, 2));
    assert_eq!((tracked(9, &[]).highest(), tracked(9, &[11, 10]).highest()), (None, Some(11)));
}

#[test]
fn a_run_longer_than_the_window_is_all_received() {
    let mut tracker = SequenceTracker::new(0, 64);
    tracker.record_run(3, 1000);
    let totals = tracker.totals(Some(1002));
    assert_eq!(
        (totals.received, totals.lost, totals.loss_bursts, totals.longest_loss_burst),
        (1000, 3, 1, 3)
    );
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

    fn bursts(&self, start: u64, last: u64) -> (u64, u64) {
        let mut bursts = Bursts::default();
        for number in start..=last {
            bursts.leave(u64::from(!self.observed.contains(&number)), 1);
        }
        (bursts.count, bursts.longest)
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
        let totals = tracker.totals(Some(last));
        let expected_lost = (start..=last).filter(|number| !naive.observed.contains(number)).count();
        prop_assert_eq!(totals.lost, expected_lost as u64);
        prop_assert_eq!(totals.sent, totals.received + totals.lost);
        prop_assert_eq!((totals.loss_bursts, totals.longest_loss_burst), naive.bursts(start, last));
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
        let totals = tracker.totals(last);
        prop_assert_eq!(totals.received + totals.lost, totals.sent);
        prop_assert_eq!(tracker.lost(last), totals.lost);
    }
}
