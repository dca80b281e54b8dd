//! Attribution of far round trips to disturbances whose place is known.

use super::*;
use proptest::prelude::*;

fn watch(disturbances: &[(u64, u64)]) -> HostWatch {
    let mut watch = HostWatch::default();
    for &(start, length) in disturbances {
        watch.record(Disturbance { start: Nanos(start), length: Nanos(length) });
    }
    watch
}

fn trip(at: u64, rtt: u64, in_host: Option<u64>) -> Trip {
    Trip { at: Nanos(at), rtt: Nanos(rtt), in_host: in_host.map(Nanos) }
}

const USUAL: Nanos = Nanos::from_micros(10);

#[test]
fn a_hiccup_within_the_round_trip_is_the_hosts() {
    let host = watch(&[(1_005_000, 200_000), (9_000_000, 50_000)]);
    let outlier = host.attribute(&trip(1_000_000, 210_000, None), USUAL, true);
    assert_eq!((outlier.cause, outlier.host), (Cause::Host, Nanos::from_micros(200)));
    assert_eq!((outlier.at, outlier.rtt), (Nanos::from_millis(1), Nanos::from_micros(210)));
    let elsewhere = host.attribute(&trip(2_000_000, 210_000, None), USUAL, true);
    assert_eq!((elsewhere.cause, elsewhere.host), (Cause::Path, Nanos::ZERO));
}

#[test]
fn half_of_the_excess_decides() {
    let excess_of_100 = trip(0, 110_000, None);
    assert_eq!(watch(&[(0, 50_000)]).attribute(&excess_of_100, USUAL, true).cause, Cause::Host);
    assert_eq!(watch(&[(0, 49_999)]).attribute(&excess_of_100, USUAL, true).cause, Cause::Path);
    // Only the part within the round trip counts.
    assert_eq!(
        watch(&[(100_000, 1_000_000)]).attribute(&excess_of_100, USUAL, true).host,
        Nanos::from_micros(10)
    );
    // Not far at all, and nothing held it.
    assert_eq!(watch(&[]).attribute(&trip(0, 10_000, None), USUAL, true).cause, Cause::Path);
}

#[test]
fn unwatched_trips_are_unknown_without_kernel_stamps() {
    let far = |in_host| watch(&[]).attribute(&trip(0, 500_000, in_host), USUAL, false).cause;
    assert_eq!(far(None), Cause::Unknown);
    assert_eq!(far(Some(3_000)), Cause::Path);
    assert_eq!(far(Some(480_000)), Cause::Host);
    let observed = watch(&[(0, 490_000)]).attribute(&trip(0, 500_000, None), USUAL, false);
    assert_eq!(observed.cause, Cause::Host);
}

#[test]
fn overlapping_disturbances_count_once() {
    let host = watch(&[(100, 50), (120, 50), (110, 10), (400, 10)]);
    assert_eq!(host.held(Nanos::ZERO, Nanos::from_micros(1)), Nanos::from_nanos(80));
    assert_eq!(host.held(Nanos::from_nanos(130), Nanos::from_nanos(405)), Nanos::from_nanos(45));
    assert_eq!(host.held(Nanos::from_nanos(9), Nanos::from_nanos(3)), Nanos::ZERO);
}

#[test]
fn sums_are_exact_and_memory_is_bounded() {
    let mut host = watch(&[(7, 1_000_000)]);
    for start in 0..100_000 {
        host.record(Disturbance { start: Nanos(start * 1000), length: Nanos::from_nanos(3) });
    }
    host.record(Disturbance { start: Nanos::ZERO, length: Nanos::ZERO });
    assert!(host.kept.len() <= MOST_KEPT);
    let noise = host.noise();
    assert_eq!((noise.hiccups, noise.hiccup_worst), (100_001, Nanos::from_millis(1)));
    assert_eq!(noise.hiccup_total, Nanos::from_micros(1_300));
    assert!(host.held(Nanos::ZERO, Nanos::from_millis(2)) >= Nanos::from_millis(1));
}

proptest! {
    #[test]
    fn the_host_never_held_more_than_the_round_trip(
        disturbances in prop::collection::vec(any::<(u64, u64)>(), 0..50),
        (at, rtt, usual) in any::<(u64, u64, u64)>(),
        in_host: Option<u64>,
        watched: bool,
    ) {
        let outlier = watch(&disturbances).attribute(&trip(at, rtt, in_host), Nanos(usual), watched);
        prop_assert!(outlier.host <= outlier.rtt);
        prop_assert!(outlier.cause != Cause::Unknown || !watched);
    }
}
