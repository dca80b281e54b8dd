//! Routers between the hosts that fail in mid-test, or reject what they are to pass on.

use super::find;
use super::lab::{Family, Lab, Node, Who};
use super::support::Running;
use std::process::{Child, Command};
use std::time::Duration;

#[test]
fn whoever_rejects_a_connection_is_named_with_the_code() {
    let Some(lab) = Lab::new("whoever_rejects_a_connection") else { return };
    lab.forward(Node::R1, "reject with icmpx admin-prohibited");
    for (family, message) in [(Family::V4, "ICMP type 3 code 13"), (Family::V6, "ICMPv6 type 1 code 1")] {
        let ended = lab.run(Node::C, Who::Root, &["throughput", Node::S.address(family), "-t", "1"]).code(3);
        let router = Node::R1.address(family);
        let text =
            format!("the router {router} rejects it ({message}: communication administratively prohibited)");
        ended.says(&text).says("allow TCP and UDP port 5210 there");
    }
}

#[test]
fn an_outage_in_mid_test_is_a_result() {
    let Some(lab) = Lab::new("an_outage_in_mid_test") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for transport in [&["--udp", "-b", "2M"][..], &[]] {
        let words = [&["throughput", Node::S.address(Family::V4), "-t", "7", "--json"], transport].concat();
        let client = Running::start(lab.command(Node::C, Who::Root, &words));
        std::thread::sleep(Duration::from_secs(2));
        lab.forward(Node::R1, "drop");
        std::thread::sleep(Duration::from_millis(2500));
        lab.sh(Node::R1, "nft delete table inet lab");
        let run = client.end().code(0).json();
        let outage = find(&run, "outage").unwrap_or_else(|| panic!("{:#}", run["findings"]));
        assert_eq!(outage["direction"], "up");
        assert!(outage["evidence"]["length_ns"].as_u64().unwrap() >= 1_000_000_000, "{outage:#}");
        assert_eq!(outage["evidence"]["end_state"], "data came again");
    }
}

#[test]
fn a_router_that_dies_in_mid_test_is_named_whatever_the_kernels_timers() {
    let Some(lab) = Lab::new("a_router_that_dies_in_mid_test") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let words = ["throughput", Node::S.address(Family::V4), "-t", "6", "--json"];
    let client = Running::start(lab.command(Node::C, Who::Root, &words));
    std::thread::sleep(Duration::from_secs(2));
    lab.nft(
        Node::R1,
        "table netdev dead {\nchain arriving {\ntype filter hook ingress device \"near\" priority 0;\ndrop\n}\n}\n",
    );
    let run = client.end().json();
    let failed = find(&run, "neighbour-failed").unwrap_or_else(|| panic!("{run:#}"));
    assert_eq!(failed["evidence"]["next_hop_address"], Node::R1.address(Family::V4));
    assert!(failed["title"].as_str().unwrap().contains("stopped answering ARP"), "{failed:#}");
}

#[test]
fn what_waits_from_the_omitted_time_is_no_goodput() {
    let Some(lab) = Lab::new("what_waits_from_the_omitted_time") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    lab.plain_links();
    // Half a second waits in it.
    lab.sh(Node::R1, "tc qdisc add dev far root tbf rate 20mbit burst 5kb limit 1250kb");
    let busy = Busy::new();
    let runs = [&["--udp", "-b", "60M"][..], &[]].map(|transport| {
        let words = ["throughput", Node::S.address(Family::V4), "-t", "2", "-O", "1", "--json"];
        lab.run(Node::C, Who::Root, &[&words[..], transport].concat()).json()
    });
    drop(busy);
    for run in runs {
        let up = &run["summary"]["up"];
        let goodput = up["goodput_bps"].as_f64().unwrap_or_else(|| panic!("{run:#}"));
        // What the shaper lets through of frames of 1514 bytes, and its burst once.
        let most = 20e6 * 1472.0 / 1514.0 + 8.0 * 5120.0 / 2.0;
        assert!(goodput > 0.0 && goodput <= most, "{goodput} of at most {most}: {up:#}");
    }
}

/// More programs than CPUs, until it is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn new() -> Busy {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell starts");
        Busy((0..4).map(|_| busy()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for one in &mut self.0 {
            one.kill().ok();
            one.wait().ok();
        }
    }
}
