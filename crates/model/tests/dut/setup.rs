//! Defaults, plans, departures, and what is refused.

use crate::world::{ALL, small, stream};
use pathmeter_model::dut::y1564::Profile;
use pathmeter_model::dut::{Frames, SearchMethod, Setup, SetupError, Stream, Suite, Test, Times};
use pathmeter_model::framing::{Imix, Network, RFC2544_SIZES};
use pathmeter_model::plan::Directions;
use pathmeter_model::search::Goal;
use pathmeter_model::units::{BitRate, Bytes, Nanos, PacketRate};

fn standard() -> Setup {
    let sizes = Stream::standard_sizes(Network::V4).into_iter();
    let streams = sizes.map(|size| stream(Network::V4, size.0, Directions::Both)).collect();
    Setup { link: Some(BitRate(10_000_000_000)), ..Setup::standard(&ALL, streams) }
}

fn profile() -> Profile {
    Profile {
        committed: BitRate(1_000_000),
        excess: BitRate(0),
        loss: 0.0,
        delay: Nanos::from_millis(10),
        variation: Nanos::from_millis(2),
        policing_margin: 0.0,
        availability: 1.0,
    }
}

#[test]
fn the_standard_departs_from_nothing() {
    let setup = standard();
    setup.check().unwrap();
    assert_eq!(setup.find_departures(), Vec::<String>::new());
    let goals: Vec<&str> = setup.goals.iter().map(|named| named.name.as_str()).collect();
    assert_eq!((goals, setup.search), (vec!["throughput", "ndr", "pdr"], SearchMethod::Mlr));
    assert_eq!(setup.goals[0].goal, Goal { fail_fast: false, ..Goal::rfc2544() });
    assert_eq!(setup.streams.len(), RFC2544_SIZES.len());
    assert_eq!(Stream::standard_sizes(Network::V6)[..2], [Bytes(78), Bytes(128)]);
}

#[test]
fn departures_are_reported() {
    let quick = Setup::quick(&ALL, small());
    let departures = quick.departures.join("\n");
    for part in [
        "no frames of 128, 256, 512, 1024, 1280, 1518 bytes",
        "speed of the link is not known",
        "pauses of 300 ms",
        "no goal asks for a trial of 60 s",
        "trials of 500 ms",
        "latency streams of 1.00 s",
        "1 latency streams at each load",
        "bursts of 500 ms",
        "1 searches for the longest burst",
        "1 losses that end a burst",
        "1 runs of delay variation",
    ] {
        assert!(departures.contains(part), "`{part}` in\n{departures}");
    }
    let one_way = Setup { streams: vec![stream(Network::V4, 64, Directions::Up)], ..standard() };
    assert!(one_way.find_departures().iter().any(|text| text.contains("one way")));
    let nominal = Setup { link_is_nominal: true, ..standard() };
    assert!(nominal.find_departures()[0].contains("no speed of their own"));
}

#[test]
fn what_needs_a_throughput_has_it_measured_before() {
    let tests = |tests: &[Test]| Setup::standard(tests, small()).tests;
    assert_eq!(
        tests(&[Test::Mrr, Test::Latency, Test::Throughput]),
        [Test::Mrr, Test::Throughput, Test::Latency]
    );
    assert_eq!(tests(&[Test::FrameLoss, Test::FrameLoss]), [Test::FrameLoss]);
    assert_eq!(tests(&[Test::Service]), [Test::Service]);
}

#[test]
fn the_plan_counts_every_trial() {
    let setup = standard();
    let plan = setup.plan();
    let row = |stream: &str, test: Test| {
        let row = plan.rows.iter().find(|row| row.stream == stream && row.test == test);
        row.map(|row| (row.trials, row.most))
    };
    let seconds = Nanos::from_secs;
    assert_eq!(row("IPv4 64", Test::Latency), Some((80, seconds(80 * 131))));
    assert_eq!(row("IPv4 1518", Test::FrameLoss), Some((10, seconds(10 * 71))));
    assert_eq!(row("IPv4 64", Test::Recovery), Some((10, seconds(10 * 131))));
    assert_eq!(row("IPv4 64", Test::Reset), Some((10, seconds(10 * 71))));
    assert_eq!(row("IPv4 128", Test::Reset), None);
    assert_eq!(row("IPv4 64", Test::Mrr), Some((10, seconds(120))));
    assert_eq!(row("IPv4 64", Test::DelayVariation), Some((20, seconds(20 * 71))));
    assert_eq!(row("IPv4 64", Test::Throughput), Some((300, seconds(3600))));
    // Two seconds are 29,761,904 frames of 64 bytes at 10 Gbit/s: 25 halves and the whole, 50 times, each verified.
    assert_eq!(row("IPv4 64", Test::BackToBack), Some((26 * 100, seconds(2600 * 13))));
    assert_eq!((plan.rows.len(), plan.floods), (7 * 8 - 6, seconds(7 * 13)));
    let sum = plan.rows.iter().fold(plan.floods, |sum, row| sum + row.most);
    assert_eq!(plan.most(), sum);
}

#[test]
fn the_plan_of_halves_and_of_a_service() {
    let binary = Setup { search: SearchMethod::Binary, ..Setup::standard(&[Test::Throughput], small()) };
    // 0.5 % of a thousandth of the most load is 18 halves away: with short trials three times those and the ends, where all
    // trials are of a second once. An hour is the end of it all the same.
    let row = binary.plan().rows.remove(0);
    assert_eq!((row.trials, row.most), (63 + 2 * 20, Nanos::from_secs(3600)));
    let service = Setup { service: Some(profile()), ..Setup::standard(&[Test::Service], small()) };
    let row = service.plan().rows.remove(0);
    assert_eq!((row.trials, row.most), (5 + 90, Nanos::from_secs(5 * 21 + 90 * 21)));
    let mut beyond = Setup::standard(&[Test::Mrr], small());
    beyond.times.pause = Nanos::MAX;
    assert_eq!(beyond.plan().most(), Nanos::MAX);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mix = Stream {
        network: Network::V4,
        frames: Frames::mix("imix", &Imix::simple(Network::V4)),
        directions: Directions::Both,
    };
    let streams = |streams: Vec<Stream>| Setup { streams, ..standard() };
    let rates = |min, max| Setup { min: Some(PacketRate(min)), max: Some(PacketRate(max)), ..standard() };
    let service = |profile| Setup { service: profile, tests: vec![Test::Service], ..standard() };
    for (setup, text) in [
        (rates(1000, 1000), "the least load (1.00 kpps) must be below the most (1.00 kpps)"),
        (rates(0, 1000), "the least load must be above 0"),
        (rates(1, 0), "the most load must be above 0"),
        (Setup { min: Some(PacketRate(900_000)), ..standard() }, "above what the link carries of IPv4 1518"),
        (Setup { link: Some(BitRate(0)), ..standard() }, "the speed of the link must be above 0"),
        (streams(vec![]), "no frame size is given"),
        (
            streams(vec![stream(Network::V4, 63, Directions::Up)]),
            "IPv4 63 has frames of 63 bytes; they need 64",
        ),
        (streams(vec![stream(Network::V6, 64, Directions::Up)]), "they need 78"),
        (streams([small(), small()].concat()), "IPv4 64 is given twice"),
        (streams(vec![mix]), "back-to-back frames are of one size (RFC 9004), and IPv4 imix is a mix"),
        (Setup { tests: vec![], ..standard() }, "no test is given"),
        (
            Setup { tests: vec![Test::Mrr, Test::Mrr], ..standard() },
            "the test of rate at the most load is given twice",
        ),
        (Setup { latency_percents: vec![0], ..standard() }, "latency at 0 %"),
        (Setup { latency_percents: vec![101], ..standard() }, "latency at 101 %"),
        (Setup { latency_percents: vec![5, 5], ..standard() }, "latency at 5 % is given twice"),
        (Setup { latency_percents: vec![], ..standard() }, "latency at no load"),
        (Setup { goals: vec![], ..standard() }, "no goal is given"),
        (Setup { encaps: "sit".parse().unwrap(), ..standard() }, "IPv6 only"),
        (service(None), "needs its profile"),
        (
            service(Some(Profile { committed: BitRate(0), ..profile() })),
            "the committed rate of the service must be",
        ),
        (service(Some(Profile { loss: 1.5, ..profile() })), "loss of the service is 1.5"),
    ] {
        is_refused(&setup, text);
    }
    let twice = Setup { goals: [standard().goals, standard().goals].concat(), ..standard() };
    assert!(twice.check().unwrap_err().to_string().contains("the goal throughput is given twice"));
}

#[test]
fn times_without_sense_are_refused() {
    let times = |change: fn(&mut Times)| {
        let mut setup = standard();
        change(&mut setup.times);
        setup
    };
    for (setup, text) in [
        (times(|times| times.trial = Nanos::ZERO), "a trial of 0 ns"),
        (times(|times| times.flood = Nanos::MAX), "a flood of"),
        (times(|times| times.pause = Nanos::MAX), "a pause of"),
        (times(|times| times.latency_repeats = 0), "0 latency streams; there must be 1 to 1000"),
        (times(|times| times.burst_verify = 0), "0 burst verifications"),
        (times(|times| times.loss_steps = 9), "number of steps is 9"),
        (
            times(|times| times.search = Nanos::from_secs(70)),
            "a search of 70.0 s has no time for one trial of 60.0 s",
        ),
    ] {
        is_refused(&setup, text);
    }
}

fn is_refused(setup: &Setup, text: &str) {
    let error: SetupError = setup.check().expect_err(text);
    assert!(error.to_string().contains(text), "{error}, not {text}");
    assert_eq!(Suite::new(setup).expect_err(text), error);
}

#[test]
fn a_document_holds_its_setup() {
    let setup = Setup { service: Some(profile()), ..standard() };
    let json = serde_json::to_string(&setup).unwrap();
    assert_eq!(serde_json::from_str::<Setup>(&json).unwrap(), setup);
}
