//! A path of two hosts and two routers, c – r1 – r2 – s, in network namespaces, and the faults it can have.
//!
//! ```text
//! c eth0 ──────── near r1 far ──────── near r2 far ──────── eth0 s
//!   10.71.1.2   .1           10.71.12.1   .2         10.71.2.1   .2
//!   fd71:1::2   ::1          fd71:12::1   ::2        fd71:2::1   ::2
//! ```

#[path = "../peers/program.rs"]
mod program;

use super::net::{ip, may_make_networks, nft};
use super::support::{Ended, Running, pathmeter, skip};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A host or router of the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    C,
    R1,
    R2,
    S,
}

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Root,
    /// Uid 65534, without any privilege.
    Unprivileged,
}

/// The lab; removed on drop.
pub(super) struct Lab {
    /// Ahead of the name of each namespace.
    prefix: String,
    /// A copy of the program that everyone may run.
    program: String,
}

impl Family {
    pub(super) const BOTH: [Family; 2] = [Family::V4, Family::V6];

    /// Headers of IP and UDP.
    pub(super) fn headers(self) -> u32 {
        if self == Family::V4 { 28 } else { 48 }
    }
}

impl Node {
    const ALL: [Node; 4] = [Node::C, Node::R1, Node::R2, Node::S];

    /// Its own address, as hosts see it: a router's the one on the side of the nearer host.
    pub(super) fn address(self, family: Family) -> &'static str {
        match (self, family) {
            (Node::C, Family::V4) => "10.71.1.2",
            (Node::C, Family::V6) => "fd71:1::2",
            (Node::R1, Family::V4) => "10.71.1.1",
            (Node::R1, Family::V6) => "fd71:1::1",
            (Node::R2, Family::V4) => "10.71.2.1",
            (Node::R2, Family::V6) => "fd71:2::1",
            (Node::S, Family::V4) => "10.71.2.2",
            (Node::S, Family::V6) => "fd71:2::2",
        }
    }
}

impl Lab {
    /// Every link of MTU 1500. Absent, after saying why, where this process may not make it.
    pub(super) fn new(test: &str) -> Option<Lab> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !may_make_networks(test) {
            return None;
        }
        for (tool, ask, package) in [
            ("ping", "-V", "iputils-ping"),
            ("ethtool", "--version", "ethtool"),
            ("setpriv", "--version", "util-linux"),
        ] {
            if Command::new(tool).arg(ask).output().is_err() {
                skip(test, &format!("it needs {tool}: `apt-get install {package}`"));
                return None;
            }
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("pathmeter-{}-m{number}", std::process::id());
        let program = std::env::temp_dir().join(&prefix);
        self::program::link_program(&program);
        let lab = Lab { prefix, program: program.to_str().expect("a plain path").to_owned() };
        for node in Node::ALL {
            ip(&["netns", "add", &lab.ns(node)]);
            ip(&["-n", &lab.ns(node), "link", "set", "lo", "up"]);
            // A router's link-local address is the one it asks for neighbours with: it must not be tentative for a second.
            lab.sysctl(node, "net/ipv6/conf/default/accept_dad", "0");
            lab.sysctl(node, "net/ipv6/conf/default/dad_transmits", "0");
        }
        for router in [Node::R1, Node::R2] {
            lab.sysctl(router, "net/ipv4/ip_forward", "1");
            lab.sysctl(router, "net/ipv6/conf/all/forwarding", "1");
        }
        lab.wire((Node::C, "eth0"), (Node::R1, "near"));
        lab.wire((Node::R1, "far"), (Node::R2, "near"));
        lab.wire((Node::R2, "far"), (Node::S, "eth0"));
        for (node, device, number) in [
            (Node::C, "eth0", "1::2"),
            (Node::R1, "near", "1::1"),
            (Node::R1, "far", "12::1"),
            (Node::R2, "near", "12::2"),
            (Node::R2, "far", "2::1"),
            (Node::S, "eth0", "2::2"),
        ] {
            lab.addresses(node, device, number);
        }
        lab.routes();
        lab.wait_until_it_carries();
        Some(lab)
    }

    /// A new link loses its first packets.
    fn wait_until_it_carries(&self) {
        for family in Family::BOTH {
            let to = Node::S.address(family);
            let line = format!(
                "for i in $(seq 100); do ping -n -c 1 -W 1 {to} >&2 && exit 0; sleep 0.1; done; exit 1"
            );
            self.sh(Node::C, &line);
        }
    }

    /// Gives an interface its address in both families and sets it up.
    fn addresses(&self, node: Node, device: &str, number: &str) {
        let ns = self.ns(node);
        let v4 = format!("10.71.{}/24", number.replace("::", "."));
        ip(&["-n", &ns, "address", "add", &v4, "dev", device]);
        ip(&["-n", &ns, "address", "add", &format!("fd71:{number}/64"), "dev", device, "nodad"]);
        ip(&["-n", &ns, "link", "set", device, "up"]);
    }

    fn routes(&self) {
        for (node, to, via) in
            [(Node::C, "default", "1::1"), (Node::S, "default", "2::1"), (Node::R1, "2::", "12::2")]
        {
            self.route(node, to, via, None);
        }
        self.route(Node::R2, "1::", "12::1", None);
    }

    /// A route in both families; its MTU, where it has one, is what is forwarded by it at most.
    pub(super) fn route(&self, node: Node, to: &str, via: &str, mtu: Option<u32>) {
        let (to_v4, to_v6) = match to {
            "default" => (to.to_owned(), to.to_owned()),
            net => (format!("10.71.{}0/24", net.replace("::", ".")), format!("fd71:{net}/64")),
        };
        let (via_v4, via_v6) = (format!("10.71.{}", via.replace("::", ".")), format!("fd71:{via}"));
        let mtu = mtu.map(|mtu| mtu.to_string());
        let mtu: Vec<&str> = mtu.iter().flat_map(|mtu| ["mtu", mtu.as_str()]).collect();
        let ns = self.ns(node);
        ip(&[&["-n", &ns, "-4", "route", "replace", &to_v4, "via", &via_v4], &mtu[..]].concat());
        ip(&[&["-n", &ns, "-6", "route", "replace", &to_v6, "via", &via_v6], &mtu[..]].concat());
    }

    fn wire(&self, one: (Node, &str), other: (Node, &str)) {
        let peer = self.ns(other.0);
        let ends = ["type", "veth", "peer", "name", other.1, "netns", &peer];
        ip(&[&["-n", &self.ns(one.0), "link", "add", one.1], &ends[..]].concat());
    }

    /// Name of a node's namespace.
    pub(super) fn ns(&self, node: Node) -> String {
        format!("{}-{}", self.prefix, format!("{node:?}").to_lowercase())
    }

    /// Sets the MTU of one end of a link.
    pub(super) fn mtu(&self, node: Node, device: &str, mtu: u32) {
        ip(&["-n", &self.ns(node), "link", "set", device, "mtu", &mtu.to_string()]);
    }

    /// The MTU of both ends of the link in the middle.
    pub(super) fn middle(&self, mtu: u32) {
        self.mtu(Node::R1, "far", mtu);
        self.mtu(Node::R2, "near", mtu);
    }

    /// The MTU of every link.
    pub(super) fn every(&self, mtu: u32) {
        for (node, device) in [(Node::C, "eth0"), (Node::R1, "near"), (Node::R2, "far"), (Node::S, "eth0")] {
            self.mtu(node, device, mtu);
        }
        self.middle(mtu);
    }

    /// Puts a switch into the link in the middle, whose ends have the MTU `routers` and its ports `ports`.
    pub(super) fn switch(&self, routers: u32, ports: u32) {
        let ns = self.switch_ns();
        ip(&["netns", "add", &ns]);
        ip(&["-n", &self.ns(Node::R1), "link", "del", "far"]);
        ip(&["-n", &ns, "link", "add", "name", "bridge0", "type", "bridge"]);
        ip(&["-n", &ns, "link", "set", "bridge0", "up"]);
        // Where the bridge hands packets to iptables it has a rule of its own about their size.
        let line = "for f in /proc/sys/net/bridge/bridge-nf-call-ip*; do [ ! -e $f ] || echo 0 > $f; done";
        ip(&["netns", "exec", &ns, "sh", "-c", line]);
        for (router, device, port, number) in
            [(Node::R1, "far", "one", "12::1"), (Node::R2, "near", "two", "12::2")]
        {
            let router_ns = self.ns(router);
            ip(&[
                "-n", &router_ns, "link", "add", device, "type", "veth", "peer", "name", port, "netns", &ns,
            ]);
            self.addresses(router, device, number);
            self.mtu(router, device, routers);
            self.sh(router, &format!("ethtool -K {device} tso off gso off gro off"));
            ip(&["-n", &ns, "link", "set", port, "mtu", &ports.to_string(), "master", "bridge0", "up"]);
            let plain =
                ["netns", "exec", &ns, "ethtool", "-K", port, "tso", "off", "gso", "off", "gro", "off"];
            ip(&plain);
        }
        self.routes();
        self.wait_until_it_carries();
    }

    fn switch_ns(&self) -> String {
        format!("{}-switch", self.prefix)
    }

    /// Sets a sysctl, by its path.
    pub(super) fn sysctl(&self, node: Node, name: &str, value: &str) {
        self.sh(node, &format!("echo '{value}' > /proc/sys/{name}"));
    }

    /// Runs a line of shell, which has to succeed.
    #[track_caller]
    pub(super) fn sh(&self, node: Node, line: &str) -> String {
        let done = self.try_sh(node, line);
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// The same, which may fail.
    pub(super) fn try_sh(&self, node: Node, line: &str) -> std::process::Output {
        let command = ["netns", "exec", &self.ns(node), "sh", "-c", line];
        Command::new("ip").args(command).output().expect("ip starts")
    }

    /// Sets these rules of nft(8).
    #[track_caller]
    pub(super) fn nft(&self, node: Node, rules: &str) {
        nft(&self.ns(node), rules);
    }

    /// Rules for what a router passes on.
    #[track_caller]
    pub(super) fn forward(&self, router: Node, rules: &str) {
        self.nft(
            router,
            &format!(
                "table inet lab {{\nchain passing {{\ntype filter hook forward priority 0;\n{rules}\n}}\n}}\n"
            ),
        );
    }

    /// Neither router's packet-too-big messages leave it.
    pub(super) fn silence(&self) {
        for router in [Node::R1, Node::R2] {
            self.silence_one(router);
        }
    }

    /// The packet-too-big messages of one router do not leave it.
    pub(super) fn silence_one(&self, router: Node) {
        self.nft(
            router,
            "table inet silence {\nchain leaving {\ntype filter hook output priority 0;\n\
             icmp type destination-unreachable icmp code 4 drop\nicmpv6 type packet-too-big drop\n}\n}\n",
        );
    }

    /// A second link between the routers, of this MTU, which every other flow of UDP from c takes.
    pub(super) fn second_path(&self, mtu: u32) {
        self.wire((Node::R1, "other"), (Node::R2, "other"));
        for (node, number) in [(Node::R1, "13::1"), (Node::R2, "13::2")] {
            self.addresses(node, "other", number);
            self.mtu(node, "other", mtu);
        }
        for (family, to, via) in [("-4", "10.71.2.0/24", "10.71.13.2"), ("-6", "fd71:2::/64", "fd71:13::2")] {
            let line = format!(
                "ip {family} route add {to} via {via} table 100 && ip {family} rule add fwmark 1 table 100"
            );
            self.sh(Node::R1, &line);
        }
        // Replies of the far end come by the first link.
        self.sh(Node::R2, "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done");
        self.nft(
            Node::R1,
            "table inet legs {\nchain arriving {\ntype filter hook prerouting priority -150;\n\
             iifname near meta l4proto udp ct state new ct mark set numgen inc mod 2\n\
             iifname near meta mark set ct mark\n}\n}\n",
        );
    }

    /// Two more links between the routers, over which r1 shares packets out by flow. r2 answers with the address of the link
    /// that a packet came by.
    pub(super) fn legs(&self) {
        for (device, number) in [("leg14", 14), ("leg15", 15)] {
            self.wire((Node::R1, device), (Node::R2, device));
            self.addresses(Node::R1, device, &format!("{number}::1"));
            self.addresses(Node::R2, device, &format!("{number}::2"));
        }
        self.sysctl(Node::R1, "net/ipv4/fib_multipath_hash_policy", "1");
        self.sysctl(Node::R2, "net/ipv4/icmp_errors_use_inbound_ifaddr", "1");
        self.sh(Node::R2, "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done");
        let hops = ["12", "14", "15"].map(|leg| format!("nexthop via 10.71.{leg}.2"));
        self.sh(Node::R1, &format!("ip route replace 10.71.2.0/24 {}", hops.join(" ")));
    }

    /// The links of the routers carry no super-packets, which pass checks of the MTU.
    pub(super) fn plain_links(&self) {
        for (node, device) in [
            (Node::C, "eth0"),
            (Node::R1, "near"),
            (Node::R1, "far"),
            (Node::R2, "near"),
            (Node::R2, "far"),
            (Node::S, "eth0"),
        ] {
            self.sh(node, &format!("ethtool -K {device} tso off gso off gro off"));
        }
    }

    /// Forgets the path MTUs that kernels have learnt.
    pub(super) fn forget(&self) {
        for node in Node::ALL {
            let ns = self.ns(node);
            ip(&["-n", &ns, "-4", "route", "flush", "cache"]);
            ip(&["-n", &ns, "-6", "route", "flush", "cache"]);
            self.try_sh(node, "ip tcp_metrics flush");
        }
    }

    /// The program with these words at this node.
    pub(super) fn command(&self, node: Node, who: Who, argv: &[&str]) -> Command {
        let mut command = pathmeter(Some(&self.ns(node)), &[]);
        if who == Who::Unprivileged {
            command = Command::new("ip");
            command.args([
                "netns",
                "exec",
                &self.ns(node),
                "setpriv",
                "--reuid",
                "65534",
                "--regid",
                "65534",
            ]);
            command.args(["--clear-groups", &self.program]);
            command.env("HOME", "/nonexistent").env("COLUMNS", "100").env("NO_COLOR", "1");
        }
        command.args(argv);
        command
    }

    /// `pathmeter serve`, ready. It is killed on drop.
    pub(super) fn serve(&self, node: Node, who: Who, argv: &[&str]) -> Running {
        let server = Running::start(self.command(node, who, &[&["serve"], argv].concat()));
        server.wait_for("pathmeter's own protocol");
        server
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(super) fn run(&self, node: Node, who: Who, argv: &[&str]) -> Ended {
        Running::start(self.command(node, who, argv)).end()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for node in Node::ALL {
            Command::new("ip").args(["netns", "delete", &self.ns(node)]).status().ok();
        }
        Command::new("ip").args(["netns", "delete", &self.switch_ns()]).stderr(Stdio::null()).status().ok();
        std::fs::remove_file(&self.program).ok();
    }
}
