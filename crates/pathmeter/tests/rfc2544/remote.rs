//! The two ports on two hosts: a bridge between them, and a cable beside it for the control connection.

use super::device::{Turn, turn};
use super::net::{ip, may_make_networks};
use super::support::{Ended, Running, Scratch, pathmeter};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Each host's `eth0` leads to the device, its `ctl` to the other host; all is removed on drop.
struct Hosts {
    near: String,
    far: String,
    device: String,
    /// A file with the token of both ends.
    token: String,
    _scratch: Scratch,
    _turn: Turn,
}

impl Hosts {
    /// Absent, after saying why, where this process may not make them.
    fn new(test: &str) -> Option<Hosts> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !may_make_networks(test) {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("pathmeter-dut-{}-{number}-{end}", std::process::id());
        let scratch = Scratch::new(&format!("remote-{number}"));
        let token = scratch.file("token", Some("a long random line\n"));
        let (near, far, device) = (name("n"), name("f"), name("d"));
        let hosts = Hosts { near, far, device, token, _scratch: scratch, _turn: turn() };
        let (near, far, device) = (hosts.near.as_str(), hosts.far.as_str(), hosts.device.as_str());
        for ns in [near, far, device] {
            ip(&["netns", "add", ns]);
        }
        ip(&["-n", device, "link", "add", "br0", "type", "bridge", "forward_delay", "0"]);
        ip(&["-n", device, "link", "set", "br0", "up"]);
        for (port, ns) in [("near", near), ("far", far)] {
            let cable = ["link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns];
            ip(&[&["-n", device], &cable[..]].concat());
            ip(&["-n", device, "link", "set", port, "master", "br0", "up"]);
            ip(&["-n", ns, "link", "set", "eth0", "up"]);
        }
        ip(&["-n", near, "link", "add", "ctl", "type", "veth", "peer", "name", "ctl", "netns", far]);
        for (ns, address) in [(near, "10.76.0.1/24"), (far, "10.76.0.2/24")] {
            ip(&["-n", ns, "link", "set", "ctl", "up"]);
            ip(&["-n", ns, "address", "add", address, "dev", "ctl"]);
        }
        Some(hosts)
    }

    /// `pathmeter serve` on the far host.
    fn serve(&self, argv: &[&str]) -> Running {
        let server = Running::start(pathmeter(
            Some(&self.far),
            &[&["serve", "--token-file", &self.token], argv].concat(),
        ));
        server.wait_for("listening on");
        server
    }

    fn start(&self, far_port: &str, argv: &[&str]) -> Running {
        let far_port = format!("{far_port}@10.76.0.2");
        let own = ["rfc2544", "eth0", &far_port, "--frame", "64", "--token-file", &self.token];
        let all = [&own, argv].concat();
        Running::start(pathmeter(Some(&self.near), &all))
    }

    /// Frame loss at 2000 frames/s and less, of which a bridge loses none.
    #[track_caller]
    fn measured(&self, argv: &[&str]) -> Value {
        let quick = ["--quick", "--tests", "loss,latency", "--max-rate", "2kpps", "--json"];
        self.start("eth0", &[&quick, argv].concat()).end().code(0).json()
    }

    /// Frames that the far host has sent to the device.
    fn sent(&self) -> u64 {
        let reported =
            Command::new("ip").args(["-n", &self.far, "-s", "-j", "link", "show", "eth0"]).output();
        let reported: Value = serde_json::from_slice(&reported.unwrap().stdout).unwrap();
        reported[0]["stats64"]["tx"]["packets"].as_u64().unwrap()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for ns in [&self.near, &self.far, &self.device] {
            Command::new("ip").args(["netns", "delete", ns]).status().ok();
        }
    }
}

/// The steps of the frame loss test, each with what was sent and what came.
fn steps(report: &Value) -> Vec<(u64, u64)> {
    let steps = report["devices"][0]["rows"][0]["loss"]["rows"].as_array().expect("there are steps");
    let count = |step: &Value, what: &str| step["result"][what].as_u64().expect("it is a count");
    steps.iter().map(|step| (count(step, "sent"), count(step, "received"))).collect()
}

#[test]
fn a_bridge_between_two_hosts_loses_nothing() {
    let Some(hosts) = Hosts::new("a_bridge_between_two_hosts_loses_nothing") else { return };
    let server = hosts.serve(&["--frames-port", "eth0"]);
    let report = hosts.measured(&["--both"]);
    let steps = steps(&report);
    assert!(steps.len() >= 2 && steps.iter().all(|(sent, came)| sent == came && *sent >= 900), "{steps:?}");
    let device = &report["devices"][0];
    assert_eq!(device["ports"][1]["name"], "eth0@10.76.0.2", "{device:#}");
    let left_out = device["rows"][0]["left_out"].to_string();
    assert!(left_out.contains("latency") && left_out.contains("two clocks"), "{left_out}");
    let notes = device["notes"].to_string();
    assert!(notes.contains("198.18.0.2/24") && notes.contains("198.18.0.3/24"), "{notes}");
    server.wait_for("frames on eth0: ");
}

#[test]
fn a_killed_client_sends_no_more_and_the_next_one_is_served() {
    let Some(hosts) = Hosts::new("a_killed_client_sends_no_more_and_the_next_one_is_served") else { return };
    let server = hosts.serve(&["--frames-port", "eth0"]);
    let before = hosts.sent();
    let client =
        hosts.start("eth0", &["--tests", "mrr", "--reverse", "--time", "60s", "--max-rate", "5kpps"]);
    for _ in 0..600 {
        if hosts.sent() > before + 2000 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(hosts.sent() > before + 2000, "nothing was sent: {}", client.output_so_far());
    client.signal("KILL");
    server.wait_for("during a session of frames");
    let stopped = hosts.sent();
    std::thread::sleep(Duration::from_millis(500));
    // The host itself sends fewer frames to its neighbours.
    assert!(hosts.sent() - stopped < 50, "{stopped} {}", hosts.sent());
    drop(client);
    let steps = steps(&hosts.measured(&[]));
    assert!(steps.iter().all(|(sent, came)| sent == came && *sent >= 900), "{steps:?}");
}

#[test]
fn what_a_server_does_not_offer_is_refused_with_a_remedy() {
    let Some(hosts) = Hosts::new("what_a_server_does_not_offer_is_refused_with_a_remedy") else { return };
    let server = hosts.serve(&["--frames-port", "eth0"]);
    let refused = |far_port: &str| -> Ended { hosts.start(far_port, &["--quick"]).end().code(3) };
    refused("ctl").prints("does not offer ctl, but eth0").prints("--frames-port ctl");
    server.signal("TERM");
    server.end().code(0);
    let server = hosts.serve(&[]);
    refused("eth0").prints("sends and counts frames on no interface").prints("--frames-port eth0");
    drop(server);
    let started = |argv: &[&str]| {
        let all = [&["serve", "--frames-port"], argv].concat();
        Running::start(pathmeter(Some(&hosts.far), &all)).end().code(2)
    };
    started(&["eth7"]).prints("eth7");
    started(&["eth0@far.example"]).prints("names another host").prints("--frames-port eth0");
    started(&["eth0", "--frames-port", "eth0"]).prints("given twice");
    started(&["eth0"]).prints("without a token").prints("--token-file");
}
