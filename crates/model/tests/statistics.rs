//! A whole test's statistics together, as the engine uses them: warm-up, percentiles, confidence, outliers, export.

use pathmeter_model::latency::Cause;
use pathmeter_model::latency::disturbance::{Disturbance, Farthest, HostWatch, Trip};
use pathmeter_model::stats::batch_means::BatchMeans;
use pathmeter_model::stats::histogram::Histogram;
use pathmeter_model::stats::percentile::{percentiles, samples_needed};
use pathmeter_model::stats::quantile::nearest_rank;
use pathmeter_model::stats::steady::{Level, WarmUp};
use pathmeter_model::units::Nanos;

/// Round trips every 100 µs: slow for the first 1000, about 20 µs with a queue that comes and goes, and one of 3 ms.
fn round_trips() -> Vec<Trip> {
    let rtt = |index: u64| {
        let noise = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
        let queue = if index / 250 % 7 == 3 { 6_000 } else { 0 };
        match index {
            0..1000 => 70_000 + noise,
            40_000 => 3_000_000,
            _ => 20_000 + noise + queue,
        }
    };
    let trip = |index: u64| Trip { at: Nanos(index * 100_000), rtt: Nanos(rtt(index)), in_host: None };
    (0..60_000).map(trip).collect()
}

#[test]
fn the_parts_agree_on_what_was_measured() {
    let trips = round_trips();
    let (mut warm_up, mut means, mut farthest) =
        (WarmUp::default(), BatchMeans::default(), Farthest::default());
    for trip in &trips {
        warm_up.record(trip.at, trip.rtt.0);
        means.record(trip.rtt.0 as f64);
        farthest.record(*trip);
    }
    let settled = warm_up.finish();
    assert_eq!(settled.level, Level::Steady);
    assert!((1000..1600).contains(&settled.dropped), "{}", settled.dropped);
    assert_eq!(settled.cut, trips[settled.dropped as usize].at);

    let mut kept: Vec<u64> = trips.iter().skip(settled.dropped as usize).map(|trip| trip.rtt.0).collect();
    let mean = kept.iter().sum::<u64>() as f64 / kept.len() as f64;
    let interval = means.interval(settled.dropped, 0.95).unwrap();
    assert!(
        (interval.mean - mean).abs() <= interval.half_width && interval.half_width < mean / 20.0,
        "{interval:?}"
    );
    // The queue comes in runs: far fewer independent round trips than there are.
    assert!(interval.effective_count < kept.len() as f64 / 3.0, "{interval:?}");

    kept.sort_unstable();
    let given = percentiles(&settled.kept, &[50.0, 90.0, 99.0, 99.9, 99.99, 99.999]);
    assert_eq!(given.len(), 5, "{} round trips carry no p99.999", kept.len());
    assert!(samples_needed(99.999).unwrap() > kept.len() as u64);
    for one in given {
        let exact = nearest_rank(&kept, one.percent / 100.0).unwrap();
        assert!(one.value.0 >= exact && one.value.0 - exact <= exact / 1000, "{one:?}");
        assert!(one.low.0 <= exact && exact <= one.high.0, "{one:?}");
    }

    let exported = Histogram::from_v2_base64(&settled.kept.to_v2_base64()).unwrap();
    assert!(exported.buckets().eq(settled.kept.buckets()));
    assert_eq!(exported.value_at_quantile(0.99), settled.kept.value_at_quantile(0.99));
}

#[test]
fn the_one_far_round_trip_is_found_behind_the_warm_up_and_attributed() {
    let trips = round_trips();
    let (mut warm_up, mut farthest) = (WarmUp::default(), Farthest::default());
    for trip in &trips {
        warm_up.record(trip.at, trip.rtt.0);
        farthest.record(*trip);
    }
    let settled = warm_up.finish();
    let usual = settled.kept.value_at_quantile(0.5).unwrap();
    let is_far = |trip: &Trip| trip.rtt.0 > 2 * usual;
    let far: Vec<Trip> = farthest.since(settled.cut).into_iter().filter(is_far).collect();
    assert_eq!(far, [trips[40_000]]);

    let attribute = |watch: &HostWatch| {
        let outliers = far.iter().map(|trip| watch.attribute(trip, Nanos(usual), true));
        outliers.collect::<Vec<_>>()
    };
    let mut watch = HostWatch::default();
    assert_eq!(attribute(&watch)[0].cause, Cause::Path);
    watch.record(Disturbance { start: Nanos(far[0].at.0 + 9_000), length: Nanos::from_micros(2_900) });
    assert_eq!(attribute(&watch)[0].cause, Cause::Host);
}
