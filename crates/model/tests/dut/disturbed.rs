//! Recovery, reset, and a benchmark that is ended in the middle.

use crate::device::Kind;
use crate::world::{ALL, World, check_row, small, stream};
use pathmeter_model::dut::{Observation, Setup, StreamReport, Suite, Test};
use pathmeter_model::framing::Network;
use pathmeter_model::plan::Directions;
use pathmeter_model::units::{BitRate, Nanos};

const SHARP: Kind = Kind::Sharp { capacity: 800_000.0 };

fn setup(tests: &[Test]) -> Setup {
    Setup { link: Some(BitRate(1_000_000_000)), ..Setup::standard(tests, small()) }
}

fn why(row: &StreamReport, test: Test) -> Vec<&str> {
    row.left_out.iter().filter(|one| one.test == test).map(|one| one.why.as_str()).collect()
}

#[test]
fn a_device_that_is_slow_to_recover() {
    let mut world = World { recovery: Nanos::from_millis(250), ..World::new(SHARP) };
    let recovery = world.row(&setup(&[Test::Recovery])).recovery.unwrap();
    assert_eq!((recovery.times.len(), recovery.unrecovered), (10, 0));
    // To the frame: one in two microseconds and some.
    let near = |time: &Nanos| time.0.abs_diff(250_000_000) < 5_000;
    assert!(recovery.times.iter().all(near), "{:?}", recovery.times);
    assert!((recovery.loads.overload.0 / recovery.loads.relief.0 - 2.0).abs() < 1e-9);
    let quick = World::new(SHARP).row(&setup(&[Test::Recovery])).recovery.unwrap();
    assert_eq!(quick.times, [Nanos::ZERO; 10]);
    let mut stuck = World { recovery: Nanos::from_secs(100), ..World::new(SHARP) };
    assert_eq!(stuck.row(&setup(&[Test::Recovery])).recovery.unwrap().unrecovered, 10);
}

/// The later recovery of the two directions counts, and none does where it is not known which frames were lost.
#[test]
fn the_slower_direction_counts() {
    let recovery = |change: fn(&mut Observation)| {
        let mut suite = Suite::new(&setup(&[Test::Recovery])).unwrap();
        let mut world = World { recovery: Nanos::from_millis(250), ..World::new(SHARP) };
        while let Some(order) = suite.next_request() {
            let mut observation = world.observe(&order);
            if order.test == Test::Recovery {
                change(&mut observation);
            }
            suite.take(&observation);
        }
        suite.finish().0.remove(0)
    };
    for direction in [0, 1] {
        let row = match direction {
            0 => recovery(|observation| observation.directions[0].last_lost = Some(5)),
            _ => recovery(|observation| observation.directions[1].last_lost = Some(5)),
        };
        assert!(row.recovery.unwrap().times[0].0.abs_diff(250_000_000) < 5_000);
    }
    let unknown = recovery(|observation| observation.directions[1].last_lost = None);
    assert_eq!(why(&unknown, Test::Recovery), ["frames were lost, and it is not known which"]);
    assert!(unknown.recovery.is_none());
}

#[test]
fn a_reset_interrupts() {
    let reset = World::new(SHARP).row(&setup(&[Test::Reset])).reset.unwrap();
    assert_eq!(reset.runs.len(), 10);
    for run in reset.runs {
        assert_eq!(run.by_time, Some(Nanos::from_millis(300)));
        assert!(run.by_loss.unwrap().0.abs_diff(300_000_000) < 5_000, "{run:?}");
    }
}

#[test]
fn a_device_that_stays_down_ends_its_resets() {
    let row = World { reset: None, ..World::new(SHARP) }.row(&setup(&[Test::Reset, Test::Mrr]));
    let reset = row.reset.as_ref().unwrap();
    assert_eq!((reset.runs.len(), reset.runs[0].by_time, reset.runs[0].by_loss), (1, None, None));
    assert_eq!(why(&row, Test::Reset), ["the device did not forward again after the reset"]);
    assert!(row.mrr.is_some());
}

#[test]
fn what_cannot_be_done_is_left_out() {
    let mut suite = Suite::new(&setup(&[Test::Throughput, Test::Latency, Test::Mrr])).unwrap();
    let mut world = World::new(SHARP);
    while let Some(order) = suite.next_request() {
        if order.test == Test::Latency {
            suite.leave_out("the cat sat on the cable");
        } else {
            suite.take(&world.observe(&order));
        }
    }
    let row = suite.finish().0.remove(0);
    assert_eq!(why(&row, Test::Latency), ["the cat sat on the cable"]);
    assert!(row.latency.is_empty() && row.mrr.is_some());
    let mut suite = Suite::new(&setup(&ALL)).unwrap();
    suite.leave_out("the MTU is too small");
    assert_eq!((suite.next_request(), suite.left()), (None, Nanos::ZERO));
    let row = suite.finish().0.remove(0);
    assert!(row.left_out.len() == ALL.len() && row.left_out.iter().all(|one| one.why.contains("MTU")));
}

#[test]
fn a_flood_shows_why_nothing_can_be_measured() {
    let reply = |change: fn(&mut Observation)| {
        let mut suite = Suite::new(&setup(&[Test::Mrr, Test::FrameLoss])).unwrap();
        let mut observation = World::new(SHARP).observe(&suite.next_request().unwrap());
        change(&mut observation);
        suite.take(&observation);
        assert_eq!(suite.next_request(), None);
        let row = suite.finish().0.remove(0);
        assert_eq!((row.left_out.len(), row.flood), (2, observation.directions));
        row.left_out[1].why.clone()
    };
    let one_way = reply(|observation| observation.directions[1].result.received = 0);
    assert_eq!(one_way, "no frame came through from the second port to the first");
    assert_eq!(reply(|observation| observation.result.received = 0), "no frame came through");
    assert_eq!(reply(|observation| observation.directions[0].result.sent = 0), "the generator sent no frame");
}

#[test]
fn progress_names_the_present_trial() {
    let mut suite = Suite::new(&setup(&[Test::Throughput, Test::Mrr])).unwrap();
    assert_eq!(suite.progress().to_string(), "IPv4 64: as fast as can be");
    let mut world = World::new(SHARP);
    let mut step = |suite: &mut Suite| {
        let observation = world.observe(&suite.next_request().unwrap());
        suite.take(&observation);
        suite.progress().to_string()
    };
    assert_eq!(step(&mut suite), "IPv4 64, throughput (1 of 2): trial 1 of at most 300 at 1.49 Mpps");
    assert_eq!(step(&mut suite), "IPv4 64, throughput (1 of 2): trial 2 of at most 300 at 799 kpps");
    suite.leave_out("enough");
    let first = suite.progress().to_string();
    assert_eq!(first, "IPv4 64, rate at the most load (2 of 2): trial 1 of at most 10 at 1.49 Mpps");
    // An hour at most for the search is gone, ten trials of a second are left.
    assert_eq!(suite.left(), Nanos::from_secs(120));
    step(&mut suite);
    assert_eq!(suite.left(), Nanos::from_secs(108));
}

/// A benchmark that is ended at any point reports its measurements, and which are missing.
#[test]
fn a_benchmark_ended_in_the_middle() {
    let streams = vec![stream(Network::V4, 64, Directions::Both), stream(Network::V4, 512, Directions::Up)];
    let setup = Setup { link: Some(BitRate(1_000_000_000)), ..Setup::standard(&ALL, streams) };
    let mut world = World::new(Kind::Buffered { capacity: 100_000.0, buffer: 100 });
    let mut suite = Suite::new(&setup).unwrap();
    let mut requests = Vec::new();
    while let Some(order) = suite.next_request() {
        suite.take(&world.observe(&order));
        requests.push(order);
    }
    for end in (0..requests.len()).step_by(1 + requests.len() / 150) {
        let mut world = World::new(Kind::Buffered { capacity: 100_000.0, buffer: 100 });
        let mut suite = Suite::new(&setup).unwrap();
        for expected in &requests[..end] {
            assert_eq!(
                suite.next_request().as_ref(),
                Some(expected),
                "the same results give the same requests"
            );
            suite.take(&world.observe(expected));
        }
        let test = suite.next_request().unwrap().test;
        let begun = suite.progress().load.is_some();
        let (rows, service) = suite.finish();
        assert_eq!((rows.len(), service), (2, None));
        rows.iter().for_each(|row| check_row(row, &setup));
        let row = rows.iter().find(|row| !row.left_out.is_empty()).unwrap();
        let expected =
            if begun { "unfinished: the benchmark was ended" } else { "not begun: the benchmark was ended" };
        assert_eq!(why(row, test), [expected], "after {end}");
    }
}
