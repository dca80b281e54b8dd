//! Routers between the hosts that fail in mid-test, or reject what they are to pass on.

use super::find;
use super::lab::{Family, Lab, Node, Who};
use super::support::Running;
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
