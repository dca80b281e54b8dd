//! The same with real frames, through topologies built in namespaces: what is sent at a low rate arrives, all of it.

use super::super::super::testbed;
use super::{options, report};
use crate::work::dut::bench::{Bench, BenchOptions, Device, SideOptions};
use crate::work::dut::cpu::Cpus;
use crate::work::dut::reset::ResetMethod;
use frames::Stop;
use lab::privilege::Unprivileged;
use lab::shipped;
use linux::cpu::affinity;
use linux::privilege::{Capabilities, Capability};
use model::dut::{Action, BenchRequest, DeviceReport, Frames, Observation, Stream, Test};
use model::framing::Network;
use model::plan::Directions;
use model::search::{Load, Trial};
use model::units::{Bytes, Nanos};

/// With a CPU of its own it receives in threads, which queue 256 frames: no more are sent, so that none is lost whatever else
/// the host does.
#[test]
fn a_router_has_a_cpu_of_its_own_where_there_is_one() {
    if !may() {
        return;
    }
    let mut bench = opened("forward", Cpus::default(), ResetMethod::Link);
    for _ in 0..2 {
        let few = Trial::new(Load(1000.0), Nanos::from_millis(200));
        let came =
            bench.execute(&bench_request(Network::V4, 64, Directions::Down, Action::Trial(few))).unwrap();
        assert_eq!((came.result.sent, came.result.received), (200, 200));
        assert_eq!(described(&bench).shares_cpu, Some(affinity().unwrap().len() == 1));
        // A busy host takes its time to take the link down and up.
        let reset = Action::Reset(Trial::new(Load(100.0), Nanos::from_secs(3)));
        assert!(
            bench.execute(&bench_request(Network::V4, 64, Directions::Up, reset)).unwrap().directions[0]
                .resumed
        );
    }
}

#[test]
fn the_generator_is_measured_over_a_cable_of_its_own() {
    if !may() {
        return;
    }
    let mut bench = opened("forward", sharing(), ResetMethod::None);
    let request = bench_request(Network::V4, 64, Directions::Up, Action::Trial(little()));
    assert_eq!(described(&bench).tools.len(), 0, "nothing was chosen yet");
    bench.execute(&request).unwrap();
    bench.measure_alone(&request.stream);
    let alone = described(&bench).tools[0].alone.expect("it was measured");
    assert_eq!(alone.frame, Bytes(64));
    assert!(alone.same.0 > 0 && alone.one_flow.0 > 0, "{alone:?}");
}

/// IPv4 goes through the tunnel, with an MTU of 1460, and IPv6 beside it.
#[test]
fn a_tunnel_lets_through_what_fits_it() {
    if !may() {
        return;
    }
    let mut bench = opened("ipip6", sharing(), ResetMethod::None);
    for (network, size) in [(Network::V4, 84), (Network::V4, 1478), (Network::V6, 1518)] {
        let came =
            bench.execute(&bench_request(network, size, Directions::Both, Action::Trial(little()))).unwrap();
        whole(&came, &format!("{network} {size}"));
    }
    // Its frames forbid fragments, of which the first would pass for the frame.
    let long =
        bench.execute(&bench_request(Network::V4, 1479, Directions::Up, Action::Trial(little()))).unwrap();
    assert_eq!((long.result.sent, long.result.received), (1500, 0));
    assert_eq!(described(&bench).notes.iter().filter(|note| note.contains("shorter")).count(), 0);
    let hops = described(&bench).hops;
    let nodes: Vec<&str> = hops.iter().map(|hop| hop.node.as_str()).collect();
    for node in ["client", "b4", "aftr", "server"] {
        assert!(nodes.contains(&node), "{nodes:?}");
    }
    let home = hops.iter().find(|hop| (hop.node.as_str(), hop.interface.as_str()) == ("b4", "lan")).unwrap();
    assert!(home.received >= 1500 && home.sent >= 1500, "{home:?}");
}

#[test]
fn a_router_whose_interface_goes_down_forwards_again() {
    if !may() {
        return;
    }
    let mut bench = opened("forward", sharing(), ResetMethod::Link);
    assert_eq!(bench.no_reset(), None);
    // A busy host takes its time to take the link down and up.
    let trial = Trial::new(Load(2000.0), Nanos::from_secs(3));
    for network in [Network::V4, Network::V6] {
        let came = bench.execute(&bench_request(network, 128, Directions::Up, Action::Reset(trial))).unwrap();
        let direction = &came.directions[0];
        assert!(direction.resumed, "{network}: {direction:?}");
        // The interface is down for a tenth of a second at the least.
        assert!(came.result.received < came.result.sent, "{came:?}");
        assert!(direction.silence.is_none_or(|silence| silence >= Nanos::from_millis(100)), "{direction:?}");
    }
}

#[test]
fn a_flood_shows_what_comes_through() {
    if !may() {
        return;
    }
    let mut bench = opened("bridge", sharing(), ResetMethod::None);
    let flood = Action::Flood(Nanos::from_millis(100));
    let came = bench.execute(&bench_request(Network::V4, 64, Directions::Both, flood)).unwrap();
    assert!(came.result.received > 0 && came.result.sent >= came.result.received, "{came:?}");
    assert_eq!((came.result.intended, came.directions.len()), (came.result.sent, 2));
    assert!(bench.no_reset().is_some());
}

#[test]
fn what_cannot_be_tested_states_why() {
    let mut topology = shipped::find("direct").unwrap();
    topology.nodes[0].place = lab::topology::NodePlace::External { instructions: String::new() };
    let device = Device::Lab(Box::new(topology));
    let error = Bench::open(&BenchOptions { device, ..options() }, &Stop::default()).err().unwrap();
    assert!(error.to_string().starts_with("client is a box that is not made here"), "{error:#}");
    assert_eq!(error.kind(), crate::error::Kind::Void);
}

fn opened(name: &str, cpus: Cpus, reset: ResetMethod) -> Bench {
    let topology = shipped::find(name).unwrap();
    let sides = [&topology.from, &topology.to]
        .map(|end| SideOptions { tunnel: testbed::tunnel(&topology, end), ..SideOptions::default() });
    let device = Device::Lab(Box::new(topology));
    let pause = Nanos::from_millis(300);
    let options = BenchOptions { device, sides, reset, cpus, pause, both_directions: false, ..options() };
    Bench::open(&options, &Stop::default()).unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

/// The device runs on the CPU of who sends, which it holds back in place of losing frames.
fn sharing() -> Cpus {
    let all: Vec<u32> = affinity().unwrap().into_iter().map(|cpu| cpu as u32).collect();
    Cpus { generators: all.iter().copied().take(2).collect(), device: Some(all[0]) }
}

/// 5000 frames/s for 0.3 s.
fn little() -> Trial {
    Trial::new(Load(5000.0), Nanos::from_millis(300))
}

fn bench_request(network: Network, size: u64, directions: Directions, action: Action) -> BenchRequest {
    let test = if matches!(action, Action::Reset(_)) { Test::Reset } else { Test::Throughput };
    BenchRequest {
        test,
        stream: Stream { network, frames: Frames::for_payload(Bytes(size)), directions },
        action,
    }
}

fn whole(came: &Observation, what: &str) {
    for direction in &came.directions {
        let result = &direction.result;
        assert!(
            result.sent == 1500 && result.received == 1500 && result.duplicates == 0,
            "{what}: {direction:?}"
        );
        assert!(direction.resumed && direction.last_lost.is_none(), "{what}: {direction:?}");
    }
}

fn described(bench: &Bench) -> DeviceReport {
    let mut report = report();
    bench.describe(&mut report);
    report
}

fn may() -> bool {
    let rights = Capabilities::of_this_thread().unwrap();
    let may = rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin);
    if !may {
        skip::skip(Unprivileged::ADVICE);
    }
    may
}
