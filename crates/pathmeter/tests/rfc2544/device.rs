//! A device that a test makes itself: two ports and a namespace between them that routes or switches, with its faults.

use super::net::{ip, may_make_networks, nft};
use super::support::{Ended, Running, pathmeter};
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Handling of frames that are not for the device itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Routes IPv4 and IPv6 between 198.18.0.0/24, 2001:2::/64 and 198.19.0.0/24, 2001:2:0:1::/64.
    Router,
    /// Switches.
    Bridge,
}

/// A device, and a namespace with an `eth0` at each side of it. All is removed on drop.
pub(super) struct Device {
    pub(super) near: String,
    pub(super) device: String,
    pub(super) far: String,
    _turn: Turn,
}

impl Device {
    /// Absent, after saying why, where this process may not make it.
    pub(super) fn new(test: &str, kind: Kind) -> Option<Device> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !may_make_networks(test) {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("pathmeter-2544-{}-{number}-{end}", std::process::id());
        let made = Device { near: name("n"), device: name("d"), far: name("f"), _turn: turn() };
        for ns in [&made.near, &made.device, &made.far] {
            ip(&["netns", "add", ns]);
        }
        for (port, ns) in [("near", &made.near), ("far", &made.far)] {
            let cable = ["link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns];
            ip(&[&["-n", &made.device], &cable[..]].concat());
            made.inside(&["link", "set", port, "up"]);
            ip(&["-n", ns, "link", "set", "eth0", "up"]);
        }
        match kind {
            Kind::Router => made.route(),
            Kind::Bridge => made.switch(),
        }
        Some(made)
    }

    fn route(&self) {
        for (address, port) in ADDRESSES {
            self.inside(&["address", "add", address, "dev", port, "nodad"]);
        }
        for setting in ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"] {
            let set =
                Command::new("ip").args(["netns", "exec", &self.device, "sysctl", "-qw", setting]).status();
            assert!(set.expect("ip starts").success(), "sysctl {setting}");
        }
    }

    fn switch(&self) {
        self.inside(&["link", "add", "br0", "type", "bridge", "forward_delay", "0"]);
        self.inside(&["link", "set", "br0", "up"]);
        for port in ["near", "far"] {
            self.inside(&["link", "set", port, "master", "br0"]);
        }
    }

    /// Runs ip(8) in the device.
    #[track_caller]
    pub(super) fn inside(&self, argv: &[&str]) {
        ip(&[&["-n", &self.device], argv].concat());
    }

    /// Sets the treatment of each forwarded packet, as a rule of nft(8).
    #[track_caller]
    pub(super) fn forwards_with(&self, rule: &str) {
        nft(
            &self.device,
            &format!(
                "table inet faults {{\nchain passing {{\ntype filter hook forward priority 0\n{rule}\n}}\n}}\n"
            ),
        );
    }

    /// Both ports as they are named on the command line.
    pub(super) fn ports(&self) -> [String; 2] {
        [&self.near, &self.far].map(|ns| format!("{ns}/eth0"))
    }

    /// Starts a short benchmark, at 1000 frames/s at most and with trials of 200 ms: few enough for every queue on the path, so
    /// that none is lost however long this host delays a process.
    pub(super) fn start(&self, argv: &[&str]) -> Running {
        let [near, far] = self.ports();
        let ports = ["rfc2544", near.as_str(), far.as_str()];
        Running::start(pathmeter(None, &[&ports, &LITTLE[..], argv].concat()))
    }

    /// The same of a router, from an address in each of its networks.
    pub(super) fn start_routed(&self, argv: &[&str]) -> Running {
        self.start(&[&ROUTED[..], argv].concat())
    }

    /// The one device of the report on a router.
    #[track_caller]
    pub(super) fn routed(&self, argv: &[&str]) -> Value {
        device(&self.start_routed(&[argv, &["--json"]].concat()).end().code(0))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        for ns in [&self.near, &self.device, &self.far] {
            Command::new("ip").args(["netns", "delete", ns]).status().ok();
        }
    }
}

/// The right to run a benchmark, given back on drop.
pub(super) struct Turn(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

/// Benchmarks take a CPU each: one at a time.
pub(super) fn turn() -> Turn {
    static TURN: Mutex<()> = Mutex::new(());
    Turn(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The first device of a report.
#[track_caller]
pub(super) fn device(ended: &Ended) -> Value {
    let mut report = ended.json();
    assert_eq!(report["schema"], "pathmeter/rfc2544/1", "{report:#}");
    report["devices"][0].take()
}

/// The sent and received frames of each step of a row's frame loss test, duplicates included.
#[track_caller]
pub(super) fn steps(row: &Value) -> Vec<(u64, u64)> {
    let steps = row["loss"]["rows"].as_array().unwrap_or_else(|| panic!("no steps: {row:#}"));
    let count = |step: &Value, what: &str| step["result"][what].as_u64().expect("it is a count");
    steps.iter().map(|step| (count(step, "sent"), count(step, "received"))).collect()
}

/// A look with few frames.
pub(super) const LITTLE: [&str; 5] = ["--quick", "--max-rate", "1kpps", "--time", "200ms"];
/// From where to where, and by which next hops, where the device routes.
const ROUTED: [&str; 4] = [
    "--address",
    "198.18.0.2,198.19.0.2,2001:2::2,2001:2:0:1::2",
    "--gateway",
    "198.18.0.1,198.19.0.1,2001:2::1,2001:2:0:1::1",
];
const ADDRESSES: [(&str, &str); 4] = [
    ("198.18.0.1/24", "near"),
    ("198.19.0.1/24", "far"),
    ("2001:2::1/64", "near"),
    ("2001:2:0:1::1/64", "far"),
];

/// The output of ip(8) in a namespace.
#[track_caller]
pub(super) fn shown(ns: &str, argv: &[&str]) -> String {
    let done = Command::new("ip").args(["-n", ns]).args(argv).output().expect("ip starts");
    assert!(done.status.success(), "ip -n {ns} {}", argv.join(" "));
    String::from_utf8_lossy(&done.stdout).into_owned()
}
