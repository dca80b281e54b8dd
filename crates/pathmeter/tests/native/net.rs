//! Two hosts in network namespaces, joined by a link.

use super::support::{Ended, Running, Server, pathmeter, skip};
use linux::privilege::{Capabilities, Capability};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Address of the server's end.
pub(super) const SERVER: &str = "10.77.0.2";

/// Two namespaces joined by a link of MTU 1500; removed on drop.
pub(super) struct Net {
    pub(super) client: String,
    pub(super) server: String,
}

impl Net {
    /// Absent, after saying why, where this process may not make it.
    pub(super) fn new(test: &str) -> Option<Net> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !may_make_networks(test) {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("pathmeter-{}-{number}-{end}", std::process::id());
        let net = Net { client: name("c"), server: name("s") };
        ip(&["netns", "add", &net.client]);
        ip(&["netns", "add", &net.server]);
        ip(&[
            "-n",
            &net.client,
            "link",
            "add",
            "eth0",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            &net.server,
        ]);
        for (ns, address) in [(&net.client, "10.77.0.1/24"), (&net.server, "10.77.0.2/24")] {
            ip(&["-n", ns, "address", "add", address, "dev", "eth0"]);
            ip(&["-n", ns, "link", "set", "eth0", "up"]);
            ip(&["-n", ns, "link", "set", "lo", "up"]);
        }
        Some(net)
    }

    /// Drops what matches of all that arrives at this end, before the kernel puts fragments together.
    pub(super) fn drop(&self, ns: &str, what: &str) {
        self.nft(ns, &format!(
            "table ip pathmeter {{\nchain arriving {{\ntype filter hook prerouting priority -450;\n{what} counter drop\n}}\n}}\n"
        ));
    }

    /// Sets these rules of nft(8) at this end.
    #[track_caller]
    pub(super) fn nft(&self, ns: &str, rules: &str) {
        nft(ns, rules);
    }

    /// `pathmeter serve` at the server's end.
    pub(super) fn serve(&self, argv: &[&str]) -> Server {
        Server::at(Some(&self.server), SERVER, argv)
    }

    /// Runs the program at the client's end.
    #[track_caller]
    pub(super) fn client(&self, argv: &[&str]) -> Ended {
        Running::start(pathmeter(Some(&self.client), argv)).end()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for ns in [&self.client, &self.server] {
            Command::new("ip").args(["netns", "delete", ns]).status().ok();
        }
    }
}

/// Prints why, where this process may not.
pub(super) fn may_make_networks(test: &str) -> bool {
    let rights = Capabilities::of_this_thread().expect("/proc is there");
    if !(rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin)) {
        skip(test, "it makes network namespaces, which needs root");
        return false;
    }
    let there = |tool: &str| Command::new(tool).arg("-V").stdout(Stdio::null()).status().is_ok();
    if !there("ip") || !there("nft") {
        skip(test, "it needs ip and nft: `scripts/test` installs them");
        return false;
    }
    true
}

/// Sets these rules of nft(8) in a namespace.
#[track_caller]
pub(super) fn nft(ns: &str, rules: &str) {
    let mut nft = Command::new("ip")
        .args(["netns", "exec", ns, "nft", "-f", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    nft.stdin.take().expect("piped").write_all(rules.as_bytes()).unwrap();
    assert!(nft.wait().unwrap().success(), "nft: {rules}");
}

/// Runs ip(8), which has to succeed.
#[track_caller]
pub(super) fn ip(argv: &[&str]) {
    let done = Command::new("ip").args(argv).output().expect("ip starts");
    assert!(done.status.success(), "ip {}: {}", argv.join(" "), String::from_utf8_lossy(&done.stderr));
}
