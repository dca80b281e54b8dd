//! A test of 128 streams that lasts for hours uses as much memory at its end as at its beginning, at both ends: nothing grows
//! with its intervals.

use model::host::Host;
use model::plan::{Directions, End, TestSpec, Transport};
use model::units::Nanos;
use wire::Policy;
use wire::native::{Client, ClientConfig, Server, ServerConfig};
use world::{Flows, Nature, World};

/// Resident memory of this process, KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the status has it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn hours_of_many_streams_are_flat() {
    let nature = Nature { interval: Nanos::from_secs(60), ..Nature::default() };
    let (interval, flows) = (nature.interval, Flows::new(&nature));
    let day = End::Time(Nanos::from_secs(86_400));
    let test =
        TestSpec { streams: 128, directions: Directions::Up, end: day, ..TestSpec::new(Transport::Tcp) };
    let (software, host) = (String::from("test"), Host::default());
    let client = ClientConfig {
        token: None,
        binding: Vec::new(),
        entropy: [1; 32],
        software: software.clone(),
        host: host.clone(),
    };
    let server = ServerConfig {
        token: None,
        binding: Vec::new(),
        policy: Policy::default(),
        busy: false,
        entropy: [2; 32],
        software,
        host,
    };
    let client = |now| Client::new(client, test.clone(), interval, now);
    let mut world = World::new(nature, client, |now| Server::new(server, now), flows);
    let (mut reported, mut early) = (0, 0);
    for part in 0..HOURS * 4 {
        world.run_for(Nanos::from_secs(900));
        reported += world.client.samples_of_peer() + world.server.samples_of_peer();
        assert_eq!(world.errors(), [None, None], "part {part}");
        // The events belong to the caller; the rest is held by the machines.
        world.client.events.clear();
        world.server.events.clear();
        if part == 3 {
            early = resident();
        }
    }
    let late = resident();
    assert!(reported as u64 > HOURS * 50, "both ends reported their intervals: {reported}");
    assert!(late < early + 3072, "{early} KiB after an hour, {late} KiB after {HOURS} hours");
}

/// A whole day gives the same result, and takes a minute.
const HOURS: u64 = 4;
