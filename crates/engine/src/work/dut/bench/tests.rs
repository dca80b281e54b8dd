//! Orders carried out between two ports around a device that follows the test's script.

mod fake;
mod labs;

use super::super::cpu::Cpus;
use super::super::reset::{Reset, ResetMethod};
use super::super::spec::PortSpec;
use super::*;
use crate::error::Kind;
use crate::session::connect::Security;
use fake::{Delivery, Wire, ports};
use model::dut::{Action, Frames, Stream, Test, TunnelEnds};
use model::framing::Network;
use model::plan::{Direction, Directions, LocalOptions};
use model::search::{Load, Trial};
use model::units::{Bytes, Nanos};
use std::sync::{Arc, Mutex};

const BOTH: [&[&str]; 2] = [&["192.0.2.1", "2001:db8::1"], &["198.51.100.1", "2001:db8:1::1"]];

struct World {
    wire: Arc<Mutex<Wire>>,
    tester: Tester,
    stop: Stop,
}

fn options() -> BenchOptions {
    BenchOptions {
        device: Device::Ports([PortSpec::here("port0"), PortSpec::here("port1")]),
        sides: [SideOptions::default(), SideOptions::default()],
        vlan: None,
        ports: None,
        allow_live_network: false,
        cpus: Cpus::default(),
        both_directions: true,
        reset: ResetMethod::None,
        pause: Nanos::ZERO,
        security: Security::default(),
        local: LocalOptions::default(),
    }
}

impl World {
    fn new(deliveries: &[Delivery]) -> World {
        World::with(deliveries, BOTH, true, &options())
    }

    fn with(deliveries: &[Delivery], addresses: [&[&str]; 2], here: bool, options: &BenchOptions) -> World {
        let wire = Arc::new(Mutex::new(Wire::new(deliveries)));
        let stop = Stop::default();
        let tester = Tester::new(ports(&wire, addresses, here), options, &stop);
        World { wire, tester, stop }
    }

    fn execute(&mut self, test: Test, directions: Directions, action: Action) -> Result<Observation> {
        self.send(Frames::for_payload(Bytes(128)), test, directions, action)
    }

    fn send(
        &mut self,
        frames: Frames,
        test: Test,
        directions: Directions,
        action: Action,
    ) -> Result<Observation> {
        let stream = Stream { network: Network::V4, frames, directions };
        let reset = Reset::new(&ResetMethod::Command("true".into()), None)?;
        self.tester.execute(&BenchRequest { test, stream, action }, &reset)
    }

    fn trial(&mut self, directions: Directions) -> Result<Observation> {
        self.execute(Test::Throughput, directions, Action::Trial(trial()))
    }

    /// Bursts of trials, without those of learning and choosing.
    fn log(&self, word: &str) -> Vec<String> {
        let wire = self.wire.lock().unwrap();
        wire.log.iter().filter(|line| line.contains(word)).cloned().collect()
    }

    fn report(&self) -> DeviceReport {
        let mut report = report();
        self.tester.describe(&mut report);
        report
    }
}

fn report() -> DeviceReport {
    serde_json::from_value(serde_json::json!({
        "name": "", "ports": [], "tools": [], "rows": [], "hops": [], "voided": 0, "findings": [],
        "verdict": { "status": "ok", "text": "" }, "notes": []
    }))
    .unwrap()
}

/// A second at 1000 frames/s.
fn trial() -> Trial {
    Trial::new(Load(1000.0), Nanos::from_secs(1))
}

#[test]
fn counts_of_both_directions_are_summed() {
    let mut world = World::new(&[Delivery { loses_each: 100, doubles_each: 50, ..Delivery::default() }]);
    let both = world.trial(Directions::Both).unwrap();
    let result = both.result;
    assert_eq!((result.intended, result.sent), (2000, 2000));
    assert_eq!((result.received, result.duplicates), (2000 - 20 + 40, 40));
    assert_eq!((both.directions.len(), result.duration), (2, Nanos::from_secs(1)));
    assert_eq!(
        both.directions.iter().map(|one_way| one_way.direction).collect::<Vec<_>>(),
        [Direction::Up, Direction::Down]
    );
    assert_eq!(both.directions[1].last_lost, Some(999));
    let trials = world.log(" trial ");
    assert_eq!(
        trials,
        [
            "port0 trial of 1000 from 192.0.2.1 to 198.51.100.1",
            "port1 trial of 1000 from 198.51.100.1 to 192.0.2.1"
        ]
    );
}

#[test]
fn one_way_is_one_way_and_the_port_that_counts_states_where_it_is() {
    let mut world = World::new(&[]);
    let down = world.trial(Directions::Down).unwrap();
    assert_eq!(
        (down.directions.len(), down.directions[0].direction, down.result.received),
        (1, Direction::Down, 1000)
    );
    let sent = world.log(" of ");
    let learning = sent.iter().position(|line| line == "port0 probe of 3 from 192.0.2.1 to 198.51.100.1");
    let trial = sent.iter().position(|line| line.starts_with("port1 trial"));
    assert!(learning.is_some() && learning < trial, "{sent:?}");
    assert_eq!(world.log("port1 asks"), ["port1 asks for 192.0.2.1"]);
}

#[test]
fn every_trial_has_a_tag_of_its_own() {
    let mut world = World::new(&[]);
    for _ in 0..5 {
        world.trial(Directions::Both).unwrap();
    }
    let mut tags = world.wire.lock().unwrap().tags.clone();
    let all = tags.len();
    tags.sort_unstable();
    tags.dedup();
    assert_eq!(tags.len(), all);
}

#[test]
fn tools_are_chosen_once_for_each_kind_of_frame() {
    let mut world = World::new(&[]);
    for _ in 0..2 {
        world.trial(Directions::Both).unwrap();
    }
    let report = world.report();
    assert_eq!(
        report.tools.iter().map(|tools| tools.direction).collect::<Vec<_>>(),
        [Direction::Up, Direction::Down]
    );
    assert_eq!(report.ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>(), ["port0", "port1"]);
    assert_eq!((report.voided, report.notes.len()), (0, 0));
}

#[test]
fn frames_that_the_device_does_not_take_are_counted_as_lost() {
    let mut world = World::new(&[Delivery { mtu: Some(Bytes(1000)), ..Delivery::default() }]);
    let frames = Frames::for_payload(Bytes(1518));
    let lost = world.send(frames, Test::Throughput, Directions::Up, Action::Trial(trial())).unwrap();
    assert_eq!((lost.result.sent, lost.result.received), (1000, 0));
    assert_eq!(lost.directions[0].last_lost, Some(999));
}

#[test]
fn a_spoilt_trial_is_repeated() {
    let spoilt = Delivery { held: Nanos::from_millis(30), ..Delivery::default() };
    let mut world = World::new(&[spoilt.clone(), spoilt.clone(), Delivery::default()]);
    let third = world.trial(Directions::Up).unwrap();
    assert!(third.result.is_lossless());
    let report = world.report();
    assert_eq!((report.voided, world.log(" trial ").len(), report.notes.len()), (2, 3, 0));

    let mut world = World::new(&[Delivery { loses_each: 1000, ..spoilt.clone() }]);
    assert_eq!(world.trial(Directions::Up).unwrap().result.received, 999, "lost at a lower load");
    assert_eq!(world.report().voided, 0);

    let mut world = World::new(&[spoilt]);
    let result = world.trial(Directions::Both).unwrap().result;
    assert_eq!(
        (result.intended, result.sent, result.received),
        (2060, 2000, 2000),
        "it shows the load offered"
    );
    let report = world.report();
    assert_eq!((report.voided, world.log(" trial ").len()), (2, 6));
    let reply = "IPv4 128: the host interrupted the generator, at times for 30.0 ms in all, so that the load was 2.9 % lower: \
                 such a trial counts at the load that was offered";
    assert_eq!(report.notes, [reply]);
}

#[test]
fn after_many_spoilt_trials_none_is_repeated() {
    let mut world = World::new(&[Delivery { held: Nanos::from_millis(30), ..Delivery::default() }]);
    for _ in 0..40 {
        assert_eq!(world.trial(Directions::Up).unwrap().result.sent, 1000);
    }
    assert_eq!((world.report().voided, world.log(" trial ").len()), (30, 70));
}

#[test]
fn delays_at_a_lower_load_are_reported() {
    let late =
        Delivery { held: Nanos::from_millis(300), delay: Nanos::from_micros(5), ..Delivery::default() };
    let mut world = World::new(&[late]);
    let latency = world.execute(Test::Latency, Directions::Up, Action::Trial(trial())).unwrap();
    assert_eq!(
        latency.directions[0].delays.map(|delays| (delays.count, delays.max)),
        Some((1000, Nanos::from_micros(5)))
    );
    let report = world.report();
    assert_eq!((report.voided, report.notes.len()), (2, 1));
    assert!(
        report.notes[0].starts_with("IPv4 128: the host interrupted the generator"),
        "{:?}",
        report.notes
    );
}

#[test]
fn what_the_generator_cannot_send_stands_at_once() {
    let mut world = World::new(&[Delivery { sends_percent: Some(90), ..Delivery::default() }]);
    let flood = Action::Flood(Nanos::from_millis(100));
    let shown = world.execute(Test::Throughput, Directions::Both, flood).unwrap();
    assert_eq!(
        (shown.result.intended, shown.result.sent, shown.result.received),
        (200_000, 200_000, 200_000)
    );
    assert_eq!(shown.directions[0].time, Nanos::from_millis(100));
    let at = |load: f64| Action::Trial(Trial::new(Load(load), Nanos::from_millis(100)));
    let near = world.execute(Test::Throughput, Directions::Up, at(950_000.0)).unwrap();
    assert_eq!((near.result.intended, near.result.sent), (95_000, 85_500));
    assert_eq!(world.report().voided, 0);
    let below = world.execute(Test::Throughput, Directions::Up, at(500_000.0)).unwrap();
    assert_eq!((below.result.intended, below.result.sent, world.report().voided), (50_000, 45_000, 2));
}

#[test]
fn counts_that_cannot_be_are_reported() {
    let mut world = World::new(&[Delivery { invents: 7, ..Delivery::default() }]);
    let odd = world.trial(Directions::Up).unwrap();
    assert_eq!((odd.result.sent, odd.result.received), (1000, 1007));
    world.trial(Directions::Up).unwrap();
    let notes = world.report().notes;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("7 more frames came than were sent"), "{notes:?}");
}

#[test]
fn delays_need_one_clock_and_addresses_at_both_ends() {
    let mut world = World::with(&[], BOTH, false, &options());
    let latency = |world: &mut World| {
        let action = Action::Trial(trial());
        world.execute(Test::Latency, Directions::Up, action).unwrap().directions[0]
            .delays
            .map(|delays| delays.count)
    };
    assert_eq!(latency(&mut world), None);
    let mut world = World::new(&[]);
    assert_eq!(latency(&mut world), Some(1000));
    assert_eq!(world.trial(Directions::Up).unwrap().directions[0].delays, None, "they were not requested");

    let mut world = World::with(&[], [&[], &[]], true, &options());
    world.trial(Directions::Up).unwrap();
    assert_eq!(world.log(" trial "), ["port0 trial of 1000 from 198.18.0.1 to 198.19.0.1"]);
    assert!(world.log("asks").is_empty(), "it has no neighbours to ask");

    let mut world = World::with(&[], [&["192.0.2.1"], &[]], true, &options());
    let error = world.trial(Directions::Up).unwrap_err();
    assert!(error.to_string().starts_with("port1 has no IPv4 address"), "{error}");
    assert_eq!(error.kind(), Kind::Usage);
}

#[test]
fn the_addresses_of_the_user_count() {
    let side = |address: &str, gateway: &str| SideOptions {
        addresses: vec!["2001:db8::9".parse().unwrap(), address.parse().unwrap()],
        gateways: vec![gateway.parse().unwrap()],
        tunnel: None,
    };
    let sides = [side("10.0.0.1", "10.0.0.254"), side("10.1.0.1", "10.1.0.254")];
    let mut world = World::with(&[], BOTH, true, &BenchOptions { sides, ..options() });
    world.trial(Directions::Down).unwrap();
    assert_eq!(world.log(" trial "), ["port1 trial of 1000 from 10.1.0.1 to 10.0.0.1"]);
    assert_eq!(world.log("asks"), ["port1 asks for 10.1.0.254"]);
}

#[test]
fn a_port_may_be_the_far_end_of_a_tunnel() {
    let ends =
        TunnelEnds { local: "2001:db8:1::1".parse().unwrap(), remote: "2001:db8:1::9".parse().unwrap() };
    let tunnel = SideOptions { tunnel: Some(ends), ..SideOptions::default() };
    let options = BenchOptions { sides: [SideOptions::default(), tunnel], ..options() };
    // The far end's port has no IPv4 itself.
    let addresses: [&[&str]; 2] = [BOTH[0], &["2001:db8:1::1"]];
    let mut world = World::with(&[], addresses, true, &options);
    world.trial(Directions::Down).unwrap();
    assert_eq!(
        world.log(" trial "),
        ["port1 trial of 1000 from 198.19.0.1 to 192.0.2.1 in 2001:db8:1::1 to 2001:db8:1::9"]
    );
    assert_eq!(world.log("asks"), ["port1 asks for 2001:db8:1::9"]);
    world.trial(Directions::Up).unwrap();
    assert_eq!(world.log(" trial ")[1], "port0 trial of 1000 from 192.0.2.1 to 198.19.0.1");
    assert_eq!(world.log("counts in"), ["port1 counts in 2001:db8:1::9 to 2001:db8:1::1"]);
    assert_eq!(world.log("asks")[1], "port0 asks for 198.19.0.1");
    assert_eq!(world.report().ports.iter().map(|port| port.tunnel).collect::<Vec<_>>(), [None, Some(ends)]);
}

#[test]
fn an_overload_falls_and_a_reset_happens() {
    let mut world = World::new(&[]);
    let relief = Trial::new(Load(500.0), Nanos::from_secs(1));
    let action = Action::Overload { overload: trial(), relief };
    let fell = world.execute(Test::Recovery, Directions::Up, action).unwrap();
    assert_eq!((fell.result.intended, fell.result.duration), (1500, Nanos::from_secs(2)));
    let short = Trial::new(Load(1000.0), Nanos::from_millis(100));
    let reset = world.execute(Test::Reset, Directions::Up, Action::Reset(short)).unwrap();
    assert!(reset.directions[0].resumed);
}

#[test]
fn a_raised_stop_ends_it() {
    let mut world = World::new(&[]);
    world.stop.raise();
    let error = world.trial(Directions::Up).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (Kind::Void, "stopped before its end"));
}
