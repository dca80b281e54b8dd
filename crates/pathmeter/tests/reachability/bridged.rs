//! Client and server in namespaces of their own, with a bridge in a third between them, on which packets can be dropped.

use super::net::{ip, may_make_networks, nft};
use super::support::{Ended, Running, pathmeter};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const CLIENT: &str = "10.78.0.1";
pub(super) const SERVER: &str = "10.78.0.2";
pub(super) const SERVER_V6: &str = "2001:db8:78::2";

/// The ports of the bridge are called `client` and `server`; all is removed on drop.
pub(super) struct Bridged {
    pub(super) client: String,
    pub(super) server: String,
    bridge: String,
}

impl Bridged {
    /// Absent, after saying why, where this process may not make it.
    pub(super) fn new(test: &str) -> Option<Bridged> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !may_make_networks(test) {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("pathmeter-reach-{}-{number}-{end}", std::process::id());
        let net = Bridged { client: name("c"), server: name("s"), bridge: name("b") };
        for ns in [&net.client, &net.server, &net.bridge] {
            ip(&["netns", "add", ns]);
        }
        let bridge = net.bridge.as_str();
        ip(&["-n", bridge, "link", "add", "br0", "type", "bridge", "forward_delay", "0"]);
        for (port, ns, host) in [("client", &net.client, 1), ("server", &net.server, 2)] {
            let cable = ["link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", ns];
            ip(&[&["-n", bridge], &cable[..]].concat());
            ip(&["-n", bridge, "link", "set", port, "master", "br0", "up"]);
            ip(&["-n", ns, "link", "set", "lo", "up"]);
            ip(&["-n", ns, "link", "set", "eth0", "up"]);
            ip(&["-n", ns, "address", "add", &format!("10.78.0.{host}/24"), "dev", "eth0"]);
            ip(&["-n", ns, "address", "add", &format!("2001:db8:78::{host}/64"), "dev", "eth0", "nodad"]);
        }
        ip(&["-n", bridge, "link", "set", "br0", "up"]);
        Some(net)
    }

    /// A further host on the bridge with this address; removed on drop.
    pub(super) fn another(&self, address: &str) -> Another {
        let ns = format!("{}-other", self.server);
        ip(&["netns", "add", &ns]);
        let another = Another(ns);
        let ns = another.0.as_str();
        let bridge = self.bridge.as_str();
        ip(&["-n", bridge, "link", "add", "other", "type", "veth", "peer", "name", "eth0", "netns", ns]);
        ip(&["-n", bridge, "link", "set", "other", "master", "br0", "up"]);
        ip(&["-n", ns, "link", "set", "eth0", "up"]);
        ip(&["-n", ns, "address", "add", &format!("{address}/24"), "dev", "eth0"]);
        another
    }

    /// `pathmeter serve` for both families.
    pub(super) fn serve(&self) -> Running {
        let server = Running::start(pathmeter(Some(&self.server), &["serve"]));
        server.wait_for("listening on");
        server
    }

    /// Runs the program at the client's end.
    pub(super) fn client(&self, argv: &[&str]) -> Ended {
        Running::start(pathmeter(Some(&self.client), argv)).end()
    }

    /// The bridge drops what matches, and all neighbour entries are removed.
    pub(super) fn drop_on_bridge(&self, what: &str) {
        let rules = format!(
            "table bridge t {{\nchain c {{\ntype filter hook forward priority 0;\n{what} drop\n}}\n}}\n"
        );
        nft(&self.bridge, &rules);
        self.forget(&self.client);
        self.forget(&self.server);
    }

    /// The bridge counts what matches.
    pub(super) fn count_on_bridge(&self, what: &str) {
        let rules = format!(
            "table bridge n {{\nchain c {{\ntype filter hook prerouting priority 0;\n{what} counter\n}}\n}}\n"
        );
        nft(&self.bridge, &rules);
    }

    /// How many matched.
    pub(super) fn counted_on_bridge(&self) -> u64 {
        let mut list = Command::new("ip");
        list.args(["netns", "exec", &self.bridge, "nft", "list", "table", "bridge", "n"]);
        let rules = String::from_utf8(list.output().unwrap().stdout).unwrap();
        let count = rules.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next());
        count.unwrap_or_else(|| panic!("{rules}")).parse().unwrap()
    }

    /// Nothing is known of neighbours there.
    pub(super) fn forget(&self, ns: &str) {
        ip(&["-n", ns, "neighbour", "flush", "dev", "eth0"]);
    }

    /// Takes the server's cable off the bridge.
    pub(super) fn unplug_server(&self) {
        ip(&["-n", &self.bridge, "link", "set", "server", "nomaster"]);
    }

    /// The kernel there doubts its neighbours sooner.
    pub(super) fn hurry(&self, ns: &str) {
        let settings =
            [("base_reachable_time_ms", "300"), ("delay_first_probe_time", "0"), ("retrans_time_ms", "100")];
        for (name, value) in settings {
            let path = format!("/proc/sys/net/ipv4/neigh/eth0/{name}");
            let mut sh = Command::new("ip");
            sh.args(["netns", "exec", ns, "sh", "-c", "echo $1 > $0", &path, value]);
            assert!(sh.status().unwrap().success(), "{path}");
        }
    }

    /// One echo request is answered within three seconds.
    pub(super) fn ping(&self, ns: &str, address: &str) -> bool {
        let mut ping = Command::new("ip");
        ping.args(["netns", "exec", ns, "ping", "-c", "1", "-W", "3", address]).stdout(Stdio::null());
        ping.status().unwrap().success()
    }
}

/// A namespace that is removed on drop.
pub(super) struct Another(String);

impl Drop for Another {
    fn drop(&mut self) {
        Command::new("ip").args(["netns", "delete", &self.0]).status().ok();
    }
}

impl Drop for Bridged {
    fn drop(&mut self) {
        for ns in [&self.client, &self.server, &self.bridge] {
            Command::new("ip").args(["netns", "delete", ns]).status().ok();
        }
    }
}
