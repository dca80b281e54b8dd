//! The fit against synthetic clocks and paths.

use super::*;
use proptest::prelude::*;

/// A remote clock that is `offset` ahead and gains `drift_ppm`, read every 10 ms over paths of these delays.
fn synced(offset: u64, drift_ppm: u64, delays: impl Iterator<Item = (u64, u64)>) -> ClockSync {
    let mut sync = ClockSync::default();
    for (index, (out, back)) in delays.enumerate() {
        let sent = 1_000_000_000 + index as u64 * 10_000_000;
        let remote = |local: u64| MonoTime(local + offset + (local - 1_000_000_000) * drift_ppm / 1_000_000);
        sync.record(Exchange {
            sent: MonoTime(sent),
            remote_received: remote(sent + out),
            remote_sent: remote(sent + out + 5_000),
            received: MonoTime(sent + out + 5_000 + back),
        });
    }
    sync
}

#[test]
fn a_symmetric_path_gives_offset_and_drift() {
    let noise = |index: u64| if index.is_multiple_of(3) { 0 } else { index % 7 * 40_000 };
    let sync = synced(5_000_000_000, 30, (0..300).map(|index| (100_000 + noise(index), 100_000)));
    let fit = sync.fit().unwrap();
    assert!((fit.drift - 30e-6).abs() < 1e-7, "{fit:?}");
    let start = MonoTime(1_000_000_000);
    assert!((fit.offset_at(start) - 5_000_000_000).abs() < 100, "{fit:?}");
    assert_eq!((fit.used, fit.min_round_trip), (100, Nanos::from_micros(200)));
    assert!(fit.error >= Nanos::from_micros(100) && fit.error < Nanos::from_nanos(100_100), "{fit:?}");
}

#[test]
fn fewer_than_eight_exchanges_are_no_answer() {
    assert_eq!(synced(0, 0, (0..7).map(|_| (1000, 1000))).fit(), None);
    assert!(synced(0, 0, (0..8).map(|_| (1000, 1000))).fit().is_some());
}

#[test]
fn an_offset_has_the_error_of_the_shortest_round_trip() {
    let fit = synced(7_000_000, 0, (0..30).map(|_| (100_000, 100_000))).fit().unwrap();
    let sent = MonoTime(1_100_000_000);
    assert_eq!((fit.offset_at(sent), fit.error_at(sent)), (7_000_000, Nanos::from_micros(100)));
}

#[test]
fn contradicting_stamps_are_ignored() {
    let mut sync = ClockSync::default();
    let stamps = |t1, t2, t3, t4| Exchange {
        sent: MonoTime(t1),
        remote_received: MonoTime(t2),
        remote_sent: MonoTime(t3),
        received: MonoTime(t4),
    };
    sync.record(stamps(10, 0, 0, 9));
    sync.record(stamps(0, 10, 9, 10));
    sync.record(stamps(0, 0, 100, 10));
    assert_eq!(sync.count(), 0);
    assert_eq!(stamps(100, 5_000, 5_010, 140).round_trip(), Some(Nanos::from_nanos(30)));
}

#[test]
fn memory_is_bounded_and_the_best_are_kept() {
    let sync = synced(0, 0, (0..20_000).map(|index| (if index == 11 { 1_000 } else { 9_000 }, 1_000)));
    assert!(sync.count() < MOST_SAMPLES);
    assert_eq!(sync.fit().unwrap().min_round_trip, Nanos::from_micros(2));
}

proptest! {
    #[test]
    fn the_truth_is_within_the_error(
        offset in 0_u64..1 << 50,
        drift_ppm in 0_u64..200,
        base in (1_000_u64..1_000_000, 1_000_u64..1_000_000),
        queues in prop::collection::vec((0_u64..3_000_000, 0_u64..3_000_000), 8..200),
        growing in 0_u64..9_000,
        after in 0_u64..4_000_000_000,
    ) {
        let queues = (0..).zip(queues).map(|(index, (out, back))| (out + index * growing, back));
        let delays = queues.map(|(out, back)| (base.0 + out, base.1 + back));
        let fit = synced(offset, drift_ppm, delays).fit().unwrap();
        let local = MonoTime(1_000_000_000 + after);
        let truth = offset + after * drift_ppm / 1_000_000;
        let wrong = fit.offset_at(local).abs_diff(truth as i64);
        prop_assert!(Nanos(wrong) <= fit.error_at(local) + Nanos::from_nanos(4), "{} off, {:?}", wrong, fit);
    }

    #[test]
    fn any_stamps_are_an_answer_and_no_panic(stamps in prop::collection::vec(any::<[u64; 4]>(), 8..60), local: u64) {
        let mut sync = ClockSync::default();
        for [t1, t2, t3, t4] in stamps {
            let (sent, received) = (MonoTime(t1.min(t4)), MonoTime(t1.max(t4)));
            sync.record(Exchange { sent, remote_received: MonoTime(t2), remote_sent: MonoTime(t3), received });
        }
        if let Some(fit) = sync.fit() {
            let _ = (fit.offset_at(MonoTime(local)), fit.error_at(MonoTime(local)));
        }
    }
}
