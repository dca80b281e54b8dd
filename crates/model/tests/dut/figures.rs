//! The figures of known devices are found.

use crate::device::Kind;
use crate::world::{ALL, World, small, stream};
use pathmeter_model::dut::{LoadLimit, SearchMethod, Setup, StreamReport, Suite, Test};
use pathmeter_model::framing::Network;
use pathmeter_model::plan::Directions;
use pathmeter_model::search::{Irregular, Load};
use pathmeter_model::units::{BitRate, Nanos, PacketRate};

fn gigabit(tests: &[Test]) -> Setup {
    Setup { link: Some(BitRate(1_000_000_000)), ..Setup::standard(tests, small()) }
}

fn is_left_out(row: &StreamReport, test: Test, why: &str) -> bool {
    row.left_out.iter().any(|left_out| left_out.test == test && left_out.why.contains(why))
}

/// The device is between the bounds, and these are as close as requested.
fn holds(row: &StreamReport, goal: &str, capacity: f64, width: f64) {
    let rate = row.rates.iter().find(|rate| rate.goal == goal).expect("the goal has a row");
    let (lower, upper) = rate.lower.zip(rate.upper).expect("both bounds");
    let (lower, upper) = (lower.0, upper.0);
    assert!(lower <= capacity + 1.0 && capacity <= upper + 1.0, "{rate:?}");
    assert!(upper - lower <= width, "{rate:?}");
}

#[test]
fn a_sharp_device_by_both_searches() {
    for search in [SearchMethod::Mlr, SearchMethod::Binary] {
        let setup = Setup { search, ..gigabit(&ALL) };
        let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup);
        for goal in ["throughput", "ndr"] {
            holds(&row, goal, 800_000.0, 0.005 * 1_488_095.3);
        }
        let rates: Vec<&str> = row.rates.iter().map(|rate| rate.goal.as_str()).collect();
        assert_eq!(rates, ["throughput", "ndr", "pdr"]);
        assert!(row.rates.iter().all(|rate| rate.irregular.is_empty()), "{:?}", row.rates);
        // Half a percent more is offered, and what comes through is the same.
        let pdr = &row.rates[2];
        assert!(pdr.lower.unwrap().0 > 800_000.0 && pdr.conditional_throughput.unwrap().0 <= 800_001.0);
        assert_eq!((row.limit, row.reference.as_deref()), (Some(LoadLimit::LineRate), Some("throughput")));
        assert!((row.line_rate.unwrap().0 - 1_488_095.238).abs() < 0.001);
        assert_eq!((row.most, row.ceiling), (row.line_rate, Some(Load(5e6))));
        assert!(row.left_out.is_empty(), "{:?}", row.left_out);
    }
}

#[test]
fn the_tests_at_shares_of_the_throughput() {
    let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&gigabit(&ALL));
    let throughput = row.rates[0].lower.unwrap().0;
    let percents: Vec<u32> = row.latency.iter().map(|latency| latency.percent).collect();
    assert_eq!(percents, [10, 50, 90, 100]);
    for latency in &row.latency {
        assert!((latency.load.0 - throughput * f64::from(latency.percent) / 100.0).abs() < 1e-6);
        assert_eq!(latency.directions.len(), 2);
        for direction in &latency.directions {
            let typical = direction.typical.unwrap();
            assert!(typical.runs == 20 && !typical.too_few && direction.lost == 0);
            // Runs are 10 µs apart, so that the middle of twenty is halfway between the ends.
            assert!((typical.p99 - typical.p1 - 190_000.0).abs() < 1.0, "{typical:?}");
            assert!((typical.median - (typical.p1 + typical.p99) / 2.0).abs() < 1.0);
            assert!((direction.worst_case.unwrap().median - 10.0 * typical.median).abs() < 1.0);
            // 64 bytes take 512 ns of a gigabit link.
            let median = typical.median as u64;
            assert_eq!(direction.store_and_forward, Some(Nanos(median - 1024)));
            assert_eq!(direction.bit_forwarding, Some(Nanos(median - 512)));
        }
    }
    let variation = row.delay_variation.unwrap();
    assert_eq!(variation.load, Load(throughput));
    for direction in &variation.directions {
        // The tail is ten times the typical delay and the least is half of it, over runs 10 µs apart.
        assert!((direction.packet.p99 - direction.packet.p1 - 19.0 * 95_000.0).abs() < 1.0, "{direction:?}");
        assert_eq!((direction.packet.runs, direction.packet.too_few), (20, false));
        // The last run: its least delay is a twentieth of its tail.
        let last = direction.inter_packet.unwrap().max_ns as f64;
        assert!((direction.packet.p99 - 95.0 * last).abs() < 100.0, "{direction:?}");
    }
    let mrr = row.mrr.unwrap();
    assert_eq!((mrr.offered, mrr.forwarded.trials, mrr.forwarded.stddev), (row.most.unwrap(), 10, Some(0.0)));
    assert_eq!(mrr.forwarded.mean, 1_600_000.0);
    assert!((mrr.loss_ratio - (1.0 - 800_000.0 / 1_488_095.0)).abs() < 1e-6);
    let loss = row.loss.unwrap();
    assert_eq!((loss.rows.len(), loss.rows[0].offered_percent), (7, 100.0));
    assert!(loss.irregular.is_empty());
}

/// 20,000 frames are held; at a gigabit 46 % of a burst are forwarded meanwhile.
#[test]
fn bursts_fill_the_buffer() {
    let line = 1e9 / 672.0;
    let kind = Kind::Buffered { capacity: 800_000.0, buffer: 20_000 };
    let setup = Setup { search: SearchMethod::Binary, ..gigabit(&[Test::BackToBack]) };
    let row = World::new(kind).row(&setup);
    let bursts = row.back_to_back.unwrap();
    let expected = 20_000.0 / (1.0 - 800_000.0 / line);
    assert!((bursts.outcome.mean.unwrap() - expected).abs() < 3.0, "{bursts:?} for {expected}");
    assert_eq!((bursts.outcome.bursts.len(), bursts.limit), (50, LoadLimit::LineRate));
    let throughput = row.rates[0].lower.unwrap().0;
    let corrected = bursts.outcome.mean.unwrap() / line * (1.0 - throughput / line);
    assert!((bursts.buffer.unwrap().corrected - corrected).abs() < 1e-12);
    assert!((corrected - 20_000.0 / line).abs() < 0.001, "{corrected}");
    let none = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup).back_to_back.unwrap();
    assert!(none.outcome.mean.unwrap() <= 2.0, "{none:?}");
}

#[test]
fn no_burst_fills_a_buffer_at_line_rate() {
    let tests = [Test::BackToBack, Test::Recovery];
    let row = World::new(Kind::Sharp { capacity: 2e6 }).row(&gigabit(&tests));
    assert!(is_left_out(&row, Test::BackToBack, "that of the link"), "{:?}", row.left_out);
    assert!(is_left_out(&row, Test::Recovery, "nothing can be overloaded"));
    assert_eq!(row.rates[0].irregular, [Irregular::NoUpperBound]);
    assert_eq!(row.rates[0].lower, row.line_rate);
}

#[test]
fn a_generator_that_is_the_limit_is_no_throughput() {
    let setup = Setup::standard(&ALL, small());
    for kind in [Kind::Sharp { capacity: 1e9 }, Kind::SlowGenerator { most: 700_000.0 }] {
        let row = World::new(kind).row(&setup);
        assert_eq!((row.limit, row.line_rate), (Some(LoadLimit::Generator), None));
        let ceiling = row.ceiling.unwrap().0;
        assert!((row.most.unwrap().0 - 0.95 * ceiling).abs() < 1e-6);
        for rate in &row.rates {
            assert_eq!(rate.irregular, [Irregular::NoUpperBound, Irregular::GeneratorLimited]);
            assert_eq!(rate.lower, row.most);
        }
        assert!(is_left_out(&row, Test::BackToBack, "all that the generator sends"));
    }
}

/// Without a link's speed, bursts are sent at what the generator reaches, and no time is taken off latencies.
#[test]
fn a_link_of_unknown_speed() {
    let setup = Setup::standard(&ALL, small());
    let row = World::new(Kind::Buffered { capacity: 800_000.0, buffer: 500 }).row(&setup);
    let bursts = row.back_to_back.unwrap();
    assert_eq!((bursts.limit, bursts.rate), (LoadLimit::Generator, Load(4_750_000.0)));
    assert!(bursts.buffer.is_some());
    let mut directions = row.latency.iter().flat_map(|latency| &latency.directions);
    assert!(
        directions
            .all(|direction| direction.store_and_forward.is_none() && direction.bit_forwarding.is_none())
    );
    assert!(setup.departures.iter().any(|text| text.contains("speed of the link is not known")));
}

#[test]
fn a_speed_that_is_only_given_bounds_loads() {
    let setup = Setup { link_is_nominal: true, ..gigabit(&[Test::Latency]) };
    let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup);
    assert!(row.line_rate.is_some());
    assert!(
        row.latency
            .iter()
            .flat_map(|latency| &latency.directions)
            .all(|direction| direction.store_and_forward.is_none())
    );
}

#[test]
fn what_was_asked_for_bounds_the_loads() {
    let setup = Setup { max: Some(PacketRate(500_000)), ..gigabit(&[Test::Throughput, Test::FrameLoss]) };
    let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup);
    assert_eq!((row.limit, row.most), (Some(LoadLimit::Asked), Some(Load(500_000.0))));
    assert_eq!(row.rates[0].irregular, [Irregular::NoUpperBound]);
    assert_eq!(row.loss.unwrap().rows.len(), 2);
}

#[test]
fn a_least_load_above_the_most_leaves_the_search_out() {
    let setup = Setup {
        min: Some(PacketRate(6_000_000)),
        ..Setup::standard(&[Test::Throughput, Test::Mrr], small())
    };
    let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup);
    assert!(is_left_out(&row, Test::Throughput, "no more than 4.75 Mpps can be offered"));
    assert!(row.mrr.is_some());
}

#[test]
fn a_tunnel_narrows_the_link() {
    let setup = Setup { encaps: "ipip6".parse().unwrap(), ..gigabit(&[Test::Throughput]) };
    let row = World::new(Kind::Sharp { capacity: 2e6 }).row(&setup);
    // 64 + 40 bytes and 20 on the wire.
    assert!((row.line_rate.unwrap().0 - 1e9 / 992.0).abs() < 1e-6);
    assert_eq!(row.most, row.line_rate);
}

#[test]
fn a_device_that_is_dead_for_one_stream() {
    let streams = vec![
        stream(Network::V6, 128, Directions::Both),
        stream(Network::V4, 128, Directions::Up),
        stream(Network::V4, 64, Directions::Down),
    ];
    let setup = Setup::standard(&ALL, streams);
    let mut world = World { other: Some(Kind::Dead), ..World::new(Kind::Sharp { capacity: 10_000.0 }) };
    let (rows, service) = world.run(&setup);
    assert!(rows[0].rates.is_empty() && rows[0].flood.len() == 2);
    // Reset is for the smallest frames alone.
    assert_eq!(rows[0].left_out.len(), ALL.len() - 1);
    assert!(rows[0].left_out.iter().all(|left_out| left_out.why == "no frame came through"));
    for row in &rows[1..] {
        holds(row, "ndr", 10_000.0, 51.0);
        assert_eq!(row.latency[0].directions.len(), 1);
    }
    assert_eq!((rows[1].reset.is_some(), rows[2].reset.is_some(), service), (false, true, None));
}

/// A device that loses a frame of a thousand at any load has no throughput, and a partial drop rate all the same.
#[test]
fn loss_at_any_load_leaves_the_partial_drop_rate() {
    let kind = Kind::Noisy { capacity: 800_000.0, every: 1, per: 1000 };
    let setup = Setup { min: Some(PacketRate(5000)), ..gigabit(&[Test::Throughput, Test::Latency]) };
    let row = World::new(kind).row(&setup);
    let lower: Vec<bool> = row.rates.iter().map(|rate| rate.lower.is_some()).collect();
    assert_eq!((lower, row.reference.as_deref()), (vec![false, false, true], Some("pdr")));
    assert_eq!(row.rates[0].irregular, [Irregular::NoLowerBound]);
    assert_eq!(row.latency[3].load, row.rates[2].lower.unwrap());
    assert!(row.latency[3].directions[0].lost > 0);
}

#[test]
fn a_device_that_doubles_frames() {
    let row = World::new(Kind::Duplicating { from: 300_000.0 }).row(&gigabit(&[Test::Throughput]));
    assert!(row.rates[0].lower.unwrap().0 < 300_000.0);
    assert!(row.rates[0].irregular.contains(&Irregular::Duplicates), "{:?}", row.rates[0]);
}

#[test]
fn searches_repeated() {
    let mut setup = gigabit(&[Test::Throughput]);
    setup.times.search_repeats = 5;
    let row = World::new(Kind::Noisy { capacity: 800_000.0, every: 3, per: 1000 }).row(&setup);
    let ndr = &row.rates[1];
    let repeats = ndr.repeats.unwrap();
    assert_eq!(repeats.trials, 5);
    assert!((repeats.mean / 800_000.0 - 1.0).abs() < 0.02, "{repeats:?}");
    assert!(repeats.stddev.is_some() && ndr.lower.unwrap().0 <= 800_001.0);
    let single = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&gigabit(&[Test::Throughput]));
    assert_eq!(single.rates[1].repeats, None);
}

/// Half a percent of a gigabit's rate is more than this device forwards.
#[test]
fn halving_is_finer_for_a_slow_device() {
    let setup = Setup { search: SearchMethod::Binary, ..gigabit(&[Test::Throughput]) };
    let row = World::new(Kind::Sharp { capacity: 5_000.0 }).row(&setup);
    holds(&row, "throughput", 5_000.0, 30.0);
}

/// Every search begins at the most load; the device is another one in each of them.
#[test]
fn of_repeated_searches_the_one_in_the_middle_stands() {
    for (capacities, middle) in [(vec![8e5, 7e5, 9e5], 8e5), (vec![8e5, 7e5], 7e5)] {
        let mut setup = gigabit(&[Test::Throughput]);
        setup.times.search_repeats = u32::try_from(capacities.len()).unwrap();
        let mut suite = Suite::new(&setup).unwrap();
        let mut world = World::new(Kind::Sharp { capacity: 1e6 });
        let mut devices = capacities.iter();
        while let Some(order) = suite.next_request() {
            if order.action.load().is_some_and(|load| load.0 > 1_488_000.0) {
                world.kind = Kind::Sharp { capacity: *devices.next().unwrap() };
            }
            suite.take(&world.observe(&order));
        }
        let row = suite.finish().0.remove(0);
        holds(&row, "throughput", middle, 0.006 * middle);
        let repeats = row.rates[0].repeats.unwrap();
        let mean = capacities.iter().sum::<f64>() / capacities.len() as f64;
        assert!((repeats.mean / mean - 1.0).abs() < 0.005 && repeats.stddev > Some(60_000.0), "{repeats:?}");
    }
}

/// Time for two long trials and no more.
#[test]
fn a_search_without_time_is_unfinished() {
    for search in [SearchMethod::Mlr, SearchMethod::Binary] {
        let mut setup = Setup { search, ..gigabit(&[Test::Throughput]) };
        setup.times.search = Nanos::from_secs(150);
        let row = World::new(Kind::Sharp { capacity: 800_000.0 }).row(&setup);
        assert!(row.rates[2].irregular.contains(&Irregular::Unfinished), "{:?}", row.rates);
    }
}

#[test]
fn two_clocks_have_no_latency() {
    let mut world = World { delay: None, ..World::new(Kind::Sharp { capacity: 800_000.0 }) };
    let row = world.row(&gigabit(&ALL));
    assert!(is_left_out(&row, Test::Latency, "two clocks") && row.latency.is_empty());
    assert!(is_left_out(&row, Test::DelayVariation, "two clocks") && row.mrr.is_some());
}

#[test]
fn a_mix_is_measured_like_any_other() {
    let mix = pathmeter_model::framing::Imix::simple(Network::V4);
    let frames = pathmeter_model::dut::Frames::mix("imix", &mix);
    let streams =
        vec![pathmeter_model::dut::Stream { network: Network::V4, frames, directions: Directions::Both }];
    let setup = Setup { link: Some(BitRate(10_000_000_000)), ..Setup::standard(&[Test::Latency], streams) };
    let row = World::new(Kind::Sharp { capacity: 1e6 }).row(&setup);
    assert_eq!(row.line_rate.unwrap().0.round(), 3_343_736.0);
    assert_eq!(row.stream.to_string(), "IPv4 imix");
    assert!(
        row.latency[0].directions[0].typical.is_some()
            && row.latency[0].directions[0].store_and_forward.is_none()
    );
}

/// Two or three frame sizes in about a minute.
#[test]
fn a_quick_look_is_quick() {
    let streams = [64, 512, 1518].map(|size| stream(Network::V4, size, Directions::Both)).into();
    let setup = Setup::quick(&[Test::Throughput, Test::Latency], streams);
    assert!(setup.plan().most() <= Nanos::from_secs(90), "{}", setup.plan().most());
    for kind in [
        Kind::Sharp { capacity: 800_000.0 },
        Kind::Buffered { capacity: 300_000.0, buffer: 1000 },
        Kind::Livelock { capacity: 1_000_000.0 },
        Kind::Sharp { capacity: 5_000.0 },
    ] {
        let (rows, _) = World::new(kind).run(&setup);
        let finished = |row: &StreamReport| row.rates.iter().all(|rate| rate.irregular.is_empty());
        assert!(rows.iter().all(finished), "{rows:?}");
    }
}
