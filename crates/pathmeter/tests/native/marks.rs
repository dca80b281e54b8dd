//! ECN's mark of congestion: a rule of nft(8) sets it at the receiving host, and the receiver counts it.

use super::net::{Net, SERVER, ip};
use super::support::skip;
use serde_json::Value;
use std::process::Command;

/// Every tenth packet with ECT(0) that arrives and is `what` gets the mark.
fn mark(net: &Net, what: &str) {
    let rules = format!(
        "table ip pathmeter {{\nchain arriving {{\ntype filter hook prerouting priority -450;\n\
         ip ecn ect0 {what} numgen inc mod 10 0 ip ecn set ce counter\n}}\n}}\n"
    );
    net.nft(&net.server, &rules);
}

/// Packets that the rule has marked.
fn marked(ns: &str) -> u64 {
    let list = ["netns", "exec", ns, "nft", "-j", "list", "ruleset"];
    let listed = Command::new("ip").args(list).output().expect("ip starts");
    let rules: Value = serde_json::from_slice(&listed.stdout).expect("nft prints JSON");
    let counters = rules["nftables"].as_array().into_iter().flatten();
    let counters = counters.flat_map(|one| one["rule"]["expr"].as_array().into_iter().flatten());
    counters.filter_map(|one| one["counter"]["packets"].as_u64()).sum()
}

#[test]
fn marks_on_datagrams_are_those_that_the_rule_set() {
    let Some(net) = Net::new("marks_on_datagrams_are_those_that_the_rule_set") else { return };
    let server = net.serve(&[]);
    let test = |argv: &[&str]| {
        let argv =
            [&["throughput", SERVER, "-u", "-b", "8M", "-n", "400K", "--no-gso", "--json"], argv].concat();
        net.client(&argv).code(0).json()
    };
    let figures = test(&[])["figures"].clone();
    assert!(figures["up.goodput"].is_number() && figures["up.ecn_marks"].is_null(), "no ECT: {figures:#}");
    assert_eq!(test(&["--tos", "2"])["figures"]["up.ecn_marks"], 0, "no router marks");
    // Those of the test alone: a flow is opened by a shorter datagram, which is none of its own.
    mark(&net, "udp length 1480");
    let run = test(&["--tos", "2"]);
    let set = marked(&net.server);
    assert!(set >= 20, "{set} marks of some 280 datagrams");
    assert_eq!(run["summary"]["up"]["loss"]["share"], 0.0, "{:#}", run["summary"]["up"]);
    assert_eq!(run["figures"]["up.ecn_marks"], set);
    assert_eq!(run["figures"]["udp.up.ecn_marks"], set);
    server.stop();
}

#[test]
fn marks_on_segments_are_counted_where_the_kernel_counts_them() {
    let name = "marks_on_segments_are_counted_where_the_kernel_counts_them";
    let Some(net) = Net::new(name) else { return };
    for ns in [&net.client, &net.server] {
        ip(&["netns", "exec", ns, "sysctl", "-qw", "net.ipv4.tcp_ecn=1"]);
    }
    let server = net.serve(&[]);
    mark(&net, "meta l4proto tcp");
    let run = net.client(&["throughput", SERVER, "-n", "20M", "--json"]).code(0).json();
    let set = marked(&net.server);
    assert!(set > 0, "the rule marks something");
    match run["figures"]["up.ecn_marks"].as_u64() {
        // A packet with the rule's mark may hold several segments.
        Some(counted) => assert!(counted >= set, "{counted} of {set}"),
        None => {
            let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("it is Linux");
            let numbers: Vec<u32> = kernel.split('.').take(2).filter_map(|part| part.parse().ok()).collect();
            assert!(numbers < vec![6, 18], "Linux {kernel} counts marks: {:#}", run["summary"]["up"]);
            skip(name, "TCP_INFO has the receiver's marks since Linux 6.18");
        }
    }
    server.stop();
}
