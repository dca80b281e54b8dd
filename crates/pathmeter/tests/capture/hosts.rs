//! Two hosts with IPv4 and IPv6, what their kernels count, and programs that read capture files.

use super::net::{Net, ip};
use super::support::{Running, Server, pathmeter};
use serde_json::Value;
use std::process::Command;

/// The hosts; removed on drop.
pub(super) struct Hosts {
    pub(super) net: Net,
}

/// A family, by the server's address.
pub(super) const V4: &str = "10.77.0.2";
pub(super) const V6: &str = "fd77::2";

/// Counters of sent packets of a host's kernel (`/proc/net/snmp`, `/proc/net/snmp6`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    /// TCP segments, retransmits included.
    pub(super) segments: u64,
    /// Fragments made, IPv4 and IPv6.
    pub(super) fragments: u64,
}

impl Hosts {
    /// Absent, after saying why, where this process may not make them.
    pub(super) fn new(test: &str) -> Option<Hosts> {
        let net = Net::new(test)?;
        for (ns, address) in [(&net.client, "fd77::1/64"), (&net.server, "fd77::2/64")] {
            ip(&["-n", ns, "-6", "address", "add", address, "dev", "eth0", "nodad"]);
        }
        Some(Hosts { net })
    }

    /// `pathmeter serve` at the server's end, for both families.
    pub(super) fn serve(&self) -> Server {
        Server::at(Some(&self.net.server), "::", &[])
    }

    /// Runs the client to its successful end; its result.
    #[track_caller]
    pub(super) fn run(&self, argv: &[&str]) -> Value {
        self.net.client(&[argv, &["--json"]].concat()).code(0).json()
    }

    /// Starts the client.
    pub(super) fn start(&self, argv: &[&str]) -> Running {
        Running::start(pathmeter(Some(&self.net.client), argv))
    }
}

impl Sent {
    /// By this host until now.
    pub(super) fn by(ns: &str) -> Sent {
        let read = |file: &str| {
            let output = Command::new("ip").args(["netns", "exec", ns, "cat", file]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let (v4, v6) = (read("/proc/net/snmp"), read("/proc/net/snmp6"));
        let of_v6 = |name: &str| {
            let line = v6.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        Sent {
            segments: snmp(&v4, "Tcp:", "OutSegs") + snmp(&v4, "Tcp:", "RetransSegs"),
            fragments: snmp(&v4, "Ip:", "FragCreates") + of_v6("Ip6FragCreates"),
        }
    }

    /// Since an earlier look.
    pub(super) fn since(self, earlier: Sent) -> Sent {
        Sent { segments: self.segments - earlier.segments, fragments: self.fragments - earlier.fragments }
    }
}

/// A counter of a table whose names stand in the line above its values.
fn snmp(text: &str, table: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter(|line| line.starts_with(table));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|other| other == name).unwrap();
    values.split_whitespace().nth(place).unwrap().parse().unwrap()
}

/// The captured packets of a result.
#[track_caller]
pub(super) fn packets(run: &Value) -> &Value {
    let packets = &run["summary"]["packets"];
    assert!(packets.is_object(), "no packets in {:#}", run["summary"]["warnings"]);
    assert_eq!((&packets["dropped"], &packets["unread"]), (&0.into(), &0.into()), "{packets:#}");
    assert_eq!(packets["complete"], true);
    packets
}

/// The flow of this protocol with the most bytes.
#[track_caller]
pub(super) fn largest_flow<'a>(packets: &'a Value, protocol: &str) -> &'a Value {
    let flows = packets["flows"].as_array().unwrap().iter().filter(|flow| flow["protocol"] == protocol);
    flows.max_by_key(|flow| number(&flow["up"]["bytes"]) + number(&flow["down"]["bytes"])).unwrap()
}

/// All packets of a protocol in a direction.
pub(super) fn packets_of(packets: &Value, protocol: &str, direction: &str) -> u64 {
    let flows = packets["flows"].as_array().unwrap().iter().filter(|flow| flow["protocol"] == protocol);
    flows.map(|flow| number(&flow[direction]["packets"])).sum()
}

/// Packets of this size.
pub(super) fn of_size(direction: &Value, size: u64) -> u64 {
    let rows = direction["sizes"].as_array().unwrap();
    let exact = rows.iter().find(|row| row["from"] == size && row["to"] == size);
    exact.map_or(0, |row| number(&row["packets"]))
}

#[track_caller]
pub(super) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a count: {value}"))
}

/// A line of these fields for each packet that tshark reads in a file; it must read to the end without complaint.
#[track_caller]
pub(super) fn tshark(file: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", file, "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"]);
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().expect("tshark is installed: `scripts/test` does so");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaint.contains("cut short"), "{file}: {complaint}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
