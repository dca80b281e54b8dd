//! Properties of every benchmark, whatever the device and the tester do.

use crate::device::{Device, Kind, any_kind};
use crate::world::{ALL, World, check_row, stream};
use pathmeter_model::dut::y1564::Profile;
use pathmeter_model::dut::{
    DirectionObservation, Observation, SearchMethod, Setup, Stream, StreamReport, Suite, Test,
};
use pathmeter_model::framing::Network;
use pathmeter_model::plan::{Direction, Directions};
use pathmeter_model::search::{Trial, TrialResult};
use pathmeter_model::stats::distribution::Distribution;
use pathmeter_model::stats::rfc8219::InterPacketVariation;
use pathmeter_model::units::{BitRate, Nanos, PacketRate};
use proptest::prelude::*;

fn streams() -> impl Strategy<Value = Vec<Stream>> {
    let directions = prop_oneof![Just(Directions::Up), Just(Directions::Down), Just(Directions::Both)];
    let parts = (prop_oneof![Just(Network::V4), Just(Network::V6)], 78_u64..1519, directions);
    let streams = prop::collection::vec(
        parts.prop_map(|(network, size, directions)| stream(network, size, directions)),
        1..4,
    );
    streams.prop_map(|mut streams| {
        streams.dedup_by_key(|stream| (stream.network, stream.frames.name.clone()));
        streams
    })
}

fn setups() -> impl Strategy<Value = Setup> {
    let tests = prop::sample::subsequence(ALL.to_vec(), 1..=ALL.len()).prop_shuffle();
    let link = prop::option::of(10_000_000_u64..10_000_000_000);
    let more =
        (any::<bool>(), any::<bool>(), prop::option::of(20_000_u64..2_000_000), 1_u32..4, any::<bool>());
    (tests, streams(), link, more).prop_map(
        |(mut tests, streams, link, (quick, halves, max, repeats, service))| {
            if service {
                tests.push(Test::Service);
            }
            let mut setup =
                if quick { Setup::quick(&tests, streams) } else { Setup::standard(&tests, streams) };
            setup.search = if halves { SearchMethod::Binary } else { SearchMethod::Mlr };
            setup.times.search_repeats = repeats;
            (setup.link, setup.max) = (link.map(BitRate), max.map(PacketRate));
            setup.service = Some(profile());
            setup
        },
    )
}

fn profile() -> Profile {
    Profile {
        committed: BitRate(50_000_000),
        excess: BitRate(1_000_000),
        loss: 0.001,
        delay: Nanos::from_millis(1),
        variation: Nanos::from_millis(1),
        policing_margin: 0.02,
        availability: 0.99,
    }
}

/// No lower bound of a goal without loss is a load that the device does not forward; bounds that are not near are reported.
fn check_rates(row: &StreamReport, setup: &Setup, kind: Kind) {
    for (rate, named) in row.rates.iter().zip(&setup.goals) {
        let Some(lower) = rate.lower else {
            assert!(!rate.irregular.is_empty(), "{rate:?}");
            continue;
        };
        assert!(row.most.is_some_and(|most| lower <= most), "{rate:?} of {:?}", row.most);
        assert!(rate.conditional_throughput.is_some_and(|forwarded| forwarded <= lower), "{rate:?}");
        let passes = |result: TrialResult| result.loss_ratio() <= named.goal.loss_ratio;
        // The results of a noisy device are random.
        if !matches!(kind, Kind::Noisy { .. }) {
            let trial = Trial::new(lower, named.goal.final_duration);
            assert!(passes(Device::new(kind, Nanos::ZERO).measure(&trial)), "{rate:?} of {kind:?}");
        }
        let reference = match setup.search {
            SearchMethod::Mlr => rate.upper,
            SearchMethod::Binary => row.most,
        };
        match rate.upper.zip(reference) {
            None => assert!(!rate.irregular.is_empty(), "{rate:?}"),
            Some((upper, reference)) if rate.irregular.is_empty() => {
                let width = (upper.0 - lower.0) / reference.0;
                assert!(0.0 < width && width <= named.goal.width * (1.0 + 1e-9), "{rate:?}");
            }
            Some(_) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_benchmark_ends_within_its_plan(
        setup in setups(), kind in any_kind(200.0..3e6, 100_000), other in prop::option::of(any_kind(200.0..3e6, 100_000)), ceiling in 2e4..5e6_f64,
        delay: bool, (recovery, reset) in (0_u64..90_000, prop::option::of(0_u64..30_000)),
    ) {
        let (recovery, reset) = (Nanos::from_millis(recovery), reset.map(Nanos::from_millis));
        let delay = delay.then_some(Nanos::from_micros(20));
        let (rows, _) = World { other, ceiling, delay, recovery, reset, ..World::new(kind) }.run(&setup);
        for row in &rows {
            let kind = other.filter(|_| row.stream.network == Network::V6).unwrap_or(kind);
            check_rates(row, &setup, kind);
            if kind == Kind::Dead {
                prop_assert!(row.rates.is_empty() && row.left_out.iter().all(|one| one.why == "no frame came through"));
            }
        }
    }
}

fn results() -> impl Strategy<Value = TrialResult> {
    let count = || prop_oneof![Just(0_u64), 1_u64..1_000_000, Just(u64::MAX), any::<u64>()];
    (count(), count(), count(), count(), count()).prop_map(
        |(intended, sent, received, duplicates, duration)| TrialResult {
            intended,
            sent,
            received,
            duplicates,
            duration: Nanos(duration),
        },
    )
}

fn direction_observations() -> impl Strategy<Value = DirectionObservation> {
    let nanos = || prop_oneof![Just(0_u64), any::<u64>()].prop_map(Nanos);
    let delays = (any::<u64>(), nanos(), nanos(), nanos()).prop_map(|(count, min, p50, p999)| Distribution {
        count,
        min,
        mean: p50,
        p50,
        p999,
        ..Distribution::default()
    });
    let variation = any::<(i64, i64, i64)>().prop_map(|(min_ns, median_ns, max_ns)| InterPacketVariation {
        min_ns,
        median_ns,
        max_ns,
    });
    let first = (prop_oneof![Just(Direction::Up), Just(Direction::Down)], results(), nanos(), any::<u64>());
    let second = (prop::option::of(delays), prop::option::of(variation), prop::option::of(any::<u64>()));
    (first, second, prop::option::of(nanos()), any::<bool>()).prop_map(
        |((direction, result, time, reordered), (delays, variation, last_lost), silence, resumed)| {
            DirectionObservation {
                direction,
                result,
                time,
                reordered,
                delays,
                variation,
                last_lost,
                silence,
                resumed,
            }
        },
    )
}

fn observations() -> impl Strategy<Value = Observation> {
    (results(), prop::collection::vec(direction_observations(), 0..4))
        .prop_map(|(result, directions)| Observation { result, directions })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With a tester that reports arbitrary figures the benchmark ends within its plan and does not panic.
    #[test]
    fn any_observations_have_an_end(setup in setups(), reply in prop::collection::vec(observations(), 1..12)) {
        let plan = setup.plan();
        let most = plan.rows.iter().map(|row| u64::from(row.trials)).sum::<u64>() + setup.streams.len() as u64;
        let mut suite = Suite::new(&setup).unwrap();
        let mut reply = reply.iter().cycle();
        let mut requests = 0;
        while suite.next_request().is_some() {
            requests += 1;
            prop_assert!(requests <= most);
            let (left, _) = (suite.left(), suite.progress().to_string());
            suite.take(reply.next().unwrap());
            prop_assert!(suite.left() <= left);
        }
        let (rows, service) = suite.finish();
        prop_assert_eq!(rows.len(), setup.streams.len());
        rows.iter().for_each(|row| check_row(row, &setup));
        // The results can be serialised.
        prop_assert!(serde_json::to_string(&(rows, service)).is_ok());
    }
}
