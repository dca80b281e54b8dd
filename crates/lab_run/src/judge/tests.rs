//! Expectations of a topology against constructed figures: on either side of each tolerance.

use super::*;
use model::lab::Repetition;

/// The figures of one test; a direction is absent of round trips.
fn measured(test: LabTest, direction: Option<Direction>, runs: &[Repetition]) -> Variant {
    let mut series = Series::new("pathmeter", Network::V4, test, direction);
    series.runs = runs.to_vec();
    Variant {
        name: String::new(),
        title: String::new(),
        device_under_test: None,
        unavailable: None,
        series: vec![series],
        sweeps: Vec::new(),
        expectations: Vec::new(),
        findings: Vec::new(),
        notes: Vec::new(),
    }
}

fn shipped(name: &str) -> Topology {
    lab::shipped::find(name).expect("it is shipped")
}

/// Whether the only expectation held.
#[track_caller]
fn held(all: &[Expectation]) -> Option<bool> {
    let [one] = all else { panic!("one expectation: {all:?}") };
    one.held
}

fn trips(least: u64, median: u64) -> Repetition {
    Repetition { rtt_min: Some(Nanos(least)), rtt_p50: Some(Nanos(median)), ..Repetition::default() }
}

#[test]
fn a_delay_may_be_off_by_a_fifth_of_a_millisecond() {
    let long = shipped("long-fat");
    assert_eq!(long.expect.delay, Some(Nanos::from_millis(100)));
    let judged = |runs: &[Repetition]| held(&delay(&long, &measured(LabTest::Latency, None, runs)));
    for (least, expected) in [
        (100_000_000, true),
        (100_200_000, true),
        (100_200_001, false),
        (99_800_000, true),
        (99_799_999, false),
        (0, false),
    ] {
        assert_eq!(judged(&[trips(least, 500_000_000)]), Some(expected), "{least}");
    }
    assert_eq!(judged(&[trips(130_000_000, 0), trips(100_100_000, 0)]), Some(true), "the least of all");
    assert_eq!(judged(&[]), None);
    assert_eq!(judged(&[Repetition::default()]), None);
    // Round trips of a path are of no direction, and other tests measure theirs under load.
    let up = measured(LabTest::Latency, Some(Direction::Up), &[trips(0, 0)]);
    let tcp = measured(LabTest::Tcp, None, &[trips(0, 0)]);
    assert!(delay(&long, &up).is_empty() && delay(&long, &tcp).is_empty());
    assert!(delay(&shipped("direct"), &measured(LabTest::Latency, None, &[trips(0, 0)])).is_empty());
}

#[test]
fn a_delay_that_scatters_is_judged_by_its_median() {
    let mut long = shipped("long-fat");
    long.links[1].sides[0].shape.jitter = Some(Nanos::from_millis(3));
    let judged = |run| held(&delay(&long, &measured(LabTest::Latency, None, &[run])));
    assert_eq!(judged(trips(90_000_000, 100_100_000)), Some(true));
    assert_eq!(judged(trips(100_000_000, 101_000_000)), Some(false));
}

fn losing(sent: u64, lost: u64) -> Repetition {
    Repetition { sent: Some(sent), lost: Some(lost), ..Repetition::default() }
}

#[test]
fn a_loss_may_stray_as_chance_allows() {
    let lossy = shipped("lossy");
    assert_eq!(lossy.expect.loss, Some([0.01; 2]));
    let judged = |runs: &[Repetition]| {
        let directions = Direction::BOTH
            .map(|direction| held(&loss(&lossy, &measured(LabTest::Loss, Some(direction), runs))));
        assert_eq!(directions[0], directions[1], "both directions are to lose the same");
        directions[0]
    };
    // 1 % of 10,000 is 100, and 39.3 to either side are allowed.
    for (lost, expected) in
        [(100, true), (139, true), (140, false), (61, true), (60, false), (0, false), (10_000, false)]
    {
        assert_eq!(judged(&[losing(10_000, lost)]), Some(expected), "{lost}");
    }
    assert_eq!(judged(&[losing(5000, 20), losing(5000, 80)]), Some(true), "all repetitions together");
    assert_eq!(judged(&[losing(5000, 70), losing(5000, 80)]), Some(false));
    assert_eq!(judged(&[losing(0, 0)]), None);
    assert_eq!(judged(&[]), None);
    let udp = measured(LabTest::Udp, Some(Direction::Up), &[losing(10_000, 100)]);
    assert!(loss(&lossy, &udp).is_empty(), "a full queue loses more than the path");
}

#[test]
fn each_direction_is_held_to_its_own_loss() {
    let mut lossy = shipped("lossy");
    lossy.expect.loss = Some([0.01, 0.0]);
    let judged = |direction, lost| {
        held(&loss(&lossy, &measured(LabTest::Loss, Some(direction), &[losing(10_000, lost)]))).unwrap()
    };
    assert!(judged(Direction::Up, 100) && !judged(Direction::Up, 0));
    assert!(judged(Direction::Down, 0) && !judged(Direction::Down, 1));
}

fn carried(rate: u64) -> Repetition {
    // The payload's rate is another one.
    Repetition { shaped: Some(BitRate(rate)), goodput: Some(BitRate(1)), ..Repetition::default() }
}

#[test]
fn a_rate_may_be_off_by_three_percent() {
    let long = shipped("long-fat");
    assert_eq!(long.expect.rate, Some([BitRate(100_000_000); 2]));
    let judged = |test, runs: &[Repetition]| held(&rate(&long, &measured(test, Some(Direction::Up), runs)));
    for (found, expected) in [
        (100_000_000, true),
        (102_900_000, true),
        (103_100_000, false),
        (97_100_000, true),
        (96_900_000, false),
    ] {
        assert_eq!(judged(LabTest::Udp, &[carried(found)]), Some(expected), "{found}");
        assert_eq!(judged(LabTest::Tcp, &[carried(found)]), Some(expected), "{found}");
    }
    let median = [carried(0), carried(101_000_000), carried(200_000_000)];
    assert_eq!(judged(LabTest::Udp, &median), Some(true));
    assert_eq!(judged(LabTest::Udp, &[Repetition::default()]), None, "not counted");

    // TCP takes its time to fill a link: its rate counts only where there was no UDP.
    let mut both = measured(LabTest::Udp, Some(Direction::Down), &[carried(100_000_000)]);
    both.series.extend(measured(LabTest::Tcp, Some(Direction::Down), &[carried(0)]).series);
    assert_eq!(held(&rate(&long, &both)), Some(true));

    // Nothing counts where no end of a link is shaped.
    let mut plain = shipped("direct");
    plain.expect.rate = long.expect.rate;
    assert_eq!(held(&rate(&plain, &measured(LabTest::Udp, Some(Direction::Up), &[carried(7)]))), None);
}

#[test]
fn a_path_mtu_is_held_to_the_byte() {
    let direct = shipped("direct");
    let judged = |mtu| {
        let run = Repetition { path_mtu: mtu, ..Repetition::default() };
        held(&path_mtu(&direct, &measured(LabTest::Mtu, Some(Direction::Up), &[run])))
    };
    assert_eq!(
        [Some(1500), Some(1499), Some(1501), None].map(judged),
        [Some(true), Some(false), Some(false), Some(false)]
    );
}

#[test]
fn what_was_not_looked_for_is_not_missed() {
    let lossy = shipped("lossy");
    let nothing = measured(LabTest::Mtu, None, &[]);
    let judged = |complete| findings(&lossy, &nothing, complete).into_iter().map(|one| (one.what, one.held));
    let outcome =
        |complete, id: &str| judged(complete).find(|(what, _)| what.ends_with(id)).expect("expected").1;
    assert_eq!([outcome(true, "path-loss"), outcome(true, "mss-clamped")], [Some(false), Some(true)]);
    assert_eq!([outcome(false, "path-loss"), outcome(false, "mss-clamped")], [None, None]);
}

#[test]
fn chance_allows_less_of_more_datagrams() {
    assert!((stray(0.01, 10_000) - 0.003_93).abs() < 1e-4);
    assert!(stray(0.01, 1_000_000) < 0.000_4);
    assert!(stray(0.0, 0) <= 0.5);
}
