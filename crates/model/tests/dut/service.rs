//! Activation of a service against simulated devices.

use crate::device::Kind;
use crate::world::{World, small};
use pathmeter_model::dut::y1564::{Kind as Step, Miss, Profile};
use pathmeter_model::dut::{ServiceReport, Setup, Suite, Test};
use pathmeter_model::units::{BitRate, Nanos};

/// 100,000 frames of 64 bytes per second, and 20,000 beyond.
fn setup() -> Setup {
    let profile = Profile {
        committed: BitRate(51_200_000),
        excess: BitRate(10_240_000),
        loss: 0.001,
        delay: Nanos::from_millis(10),
        variation: Nanos::from_millis(50),
        policing_margin: 0.01,
        availability: 0.999,
    };
    Setup {
        link: Some(BitRate(1_000_000_000)),
        service: Some(profile),
        ..Setup::standard(&[Test::Service], small())
    }
}

fn service_report(kind: Kind) -> ServiceReport {
    World::new(kind).run(&setup()).1.expect("a service")
}

#[test]
fn a_policer_at_both_rates_passes() {
    let report = service_report(Kind::Sharp { capacity: 120_000.0 });
    assert!(report.passed, "{report:?}");
    assert!(report.steps.iter().all(|step| step.misses.is_empty()));
    let offered: Vec<u64> = report.steps.iter().map(|step| step.step.offered.0).collect();
    assert_eq!(offered, [12_800_000, 25_600_000, 38_400_000, 51_200_000, 61_440_000, 64_000_000]);
    assert_eq!(report.steps[3].observed.received, BitRate(51_200_000));
    assert_eq!(report.steps[5].observed.received, BitRate(61_440_000));
    assert_eq!((report.availability, report.notes.len()), (Some(1.0), 0));
    assert_eq!(report.performance.unwrap().observed.received, BitRate(51_200_000));
}

#[test]
fn a_rate_below_the_promise_fails_and_spares_the_long_test() {
    let report = service_report(Kind::Sharp { capacity: 90_000.0 });
    assert!(!report.passed && report.performance.is_none() && report.availability.is_none());
    let broken = &report.steps[3];
    assert_eq!(broken.misses, [Miss::RateBelow(BitRate(51_148_800)), Miss::LossAbove(0.001)]);
    assert_eq!(broken.observed.received, BitRate(46_080_000));
    assert!((broken.observed.loss - 0.1).abs() < 1e-9);
    assert_eq!(report.notes, ["the performance test was left out, as the configuration test failed"]);
}

#[test]
fn a_device_that_does_not_police_fails() {
    let report = service_report(Kind::Sharp { capacity: 1e9 });
    let policing = &report.steps[5];
    assert_eq!((policing.step.kind, report.passed), (Step::Policing, false));
    assert_eq!(policing.misses, [Miss::RateAbove(BitRate(62_054_400))]);
    assert!(report.steps[..5].iter().all(|step| step.misses.is_empty()));
}

#[test]
fn a_delay_above_the_promise_fails() {
    let mut world =
        World { delay: Some(Nanos::from_millis(4)), ..World::new(Kind::Sharp { capacity: 120_000.0 }) };
    let report = world.run(&setup()).1.unwrap();
    // The flood was the first run, so that the steps take 8, 12, 16 and 20 ms.
    let late: Vec<bool> = report
        .steps
        .iter()
        .map(|step| step.misses.contains(&Miss::DelayAbove(Nanos::from_millis(10))))
        .collect();
    assert_eq!(late, [false, true, true, true, false, false]);
    assert!(report.steps[0].misses == [Miss::VariationAbove(Nanos::from_millis(50))], "{report:?}");
}

#[test]
fn what_is_not_measured_is_not_passed() {
    let mut world = World { delay: None, ..World::new(Kind::Sharp { capacity: 120_000.0 }) };
    let report = world.run(&setup()).1.unwrap();
    assert!(!report.passed && report.steps.iter().all(|step| step.misses.is_empty()), "{report:?}");
    assert!(report.notes[0].contains("not measured"));
}

#[test]
fn a_rate_that_cannot_be_offered() {
    let mut narrow = setup();
    narrow.link = Some(BitRate(82_000_000));
    let report = World::new(Kind::Sharp { capacity: 120_000.0 }).run(&narrow).1.unwrap();
    assert!(report.passed && report.steps.len() == 5, "{report:?}");
    assert!(report.notes[0].contains("policing was left out"), "{:?}", report.notes);
    narrow.link = Some(BitRate(60_000_000));
    let (rows, service) = World::new(Kind::Sharp { capacity: 120_000.0 }).run(&narrow);
    assert_eq!(service, None);
    assert!(
        rows[0].left_out[0].why.contains("the committed rate cannot be tested"),
        "{:?}",
        rows[0].left_out
    );
}

/// Every third piece of the long test loses all its frames in one direction.
fn with_outages(setup: &Setup) -> ServiceReport {
    let mut suite = Suite::new(setup).expect("a good setup");
    let mut world = World::new(Kind::Sharp { capacity: 120_000.0 });
    while let Some(order) = suite.next_request() {
        let mut observation = world.observe(&order);
        let piece = suite.progress().trial.saturating_sub(6);
        if piece > 0 && piece.is_multiple_of(3) {
            observation.directions[1].result.received = 0;
            observation.directions[1].delays = None;
        }
        suite.take(&observation);
    }
    suite.finish().1.expect("a service")
}

#[test]
fn pieces_without_frames_are_unavailable() {
    let report = with_outages(&setup());
    assert!((report.availability.unwrap() - 2.0 / 3.0).abs() < 1e-12);
    let whole = report.performance.unwrap();
    assert!((whole.observed.loss - 1.0 / 3.0).abs() < 1e-9, "{whole:?}");
    assert_eq!(whole.misses, [Miss::RateBelow(BitRate(51_148_800)), Miss::LossAbove(0.001)]);
    // Half of the frames may be lost, and a service that is down for minutes has failed all the same.
    let lenient = |availability| Profile { loss: 0.5, availability, ..setup().service.unwrap() };
    let with_availability =
        |availability| with_outages(&Setup { service: Some(lenient(availability)), ..setup() });
    assert_eq!(with_availability(0.999).performance.unwrap().misses, []);
    assert_eq!((with_availability(0.999).passed, with_availability(0.6).passed), (false, true));
}

#[test]
fn a_service_ended_in_the_middle_has_not_passed() {
    let mut suite = Suite::new(&setup()).unwrap();
    let mut world = World::new(Kind::Sharp { capacity: 120_000.0 });
    for _ in 0..8 {
        let observation = world.observe(&suite.next_request().unwrap());
        suite.take(&observation);
    }
    let (rows, report) = suite.finish();
    let report = report.unwrap();
    assert!(!report.passed && report.steps.len() == 6 && report.performance.is_some());
    assert_eq!(rows[0].left_out[0].why, "unfinished: the benchmark was ended");
}
