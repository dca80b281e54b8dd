//! Routers between the hosts that fail in mid-test, or reject what they are to pass on.

use super::find;
use super::lab::{Family, Lab, Node, Who};
use super::support::Running;
use std::time::Duration;

#[test]
fn a_host_that_rejects_a_connection_is_named_with_the_code() {
    let Some(lab) = Lab::new("a_host_that_rejects_a_connection") else { return };
    lab.forward(Node::R1, "reject with icmpx admin-prohibited");
    for (family, message) in [(Family::V4, "ICMP type 3 code 13"), (Family::V6, "ICMPv6 type 1 code 1")] {
        let ended = lab.run(Node::C, Who::Root, &["throughput", Node::S.address(family), "-t", "1"]).code(3);
        let router = Node::R1.address(family);
        let text =
            format!("the router {router} rejects it ({message}: communication administratively prohibited)");
        ended.prints(&text).prints("allow TCP and UDP port 5210 there");
    }
}

#[test]
fn an_outage_of_eight_seconds_is_a_result() {
    let Some(lab) = Lab::new("an_outage_of_eight_seconds") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let far = Node::S.address(Family::V4);
    // TCP comes back with its next retransmission: 12.6 s after the first that was lost, where its timer began with 200 ms.
    let all = [
        &["throughput", far, "-t", "18", "--json", "--udp", "-b", "2M"][..],
        &["throughput", far, "-t", "18", "--json", "-b", "20M"],
        &["latency", far, "-t", "18", "--json", "--wait", "block"],
    ];
    let clients = all.map(|args| Running::start(lab.command(Node::C, Who::Root, args)));
    std::thread::sleep(Duration::from_secs(2));
    lab.forward(Node::R1, "drop");
    std::thread::sleep(Duration::from_secs(8));
    lab.sh(Node::R1, "nft delete table inet lab");
    for (client, args) in clients.into_iter().zip(all) {
        let run = client.end().code(0).json();
        let outage = find(&run, "outage").unwrap_or_else(|| panic!("{args:?} {:#}", run["findings"]));
        // Less than the least that it can be, lest a busy host's delays count.
        assert!(outage["evidence"]["length_ns"].as_u64().unwrap() >= 7_000_000_000, "{outage:#}");
        let again = if args[0] == "latency" { "replies came again" } else { "data came again" };
        assert_eq!(outage["evidence"]["end_state"], again, "{outage:#}");
        if args[0] == "latency" || args.contains(&"--udp") {
            assert!(outage["evidence"]["lost_count"].as_u64().unwrap() > 0, "{outage:#}");
        }
    }
}

#[test]
fn a_router_that_dies_in_mid_test_is_named_whatever_the_kernels_timers() {
    let Some(lab) = Lab::new("a_router_that_dies_in_mid_test") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let clients = [&[][..], &["-R"]].map(|direction| {
        let args = [&["throughput", Node::S.address(Family::V4), "-t", "6", "--json"], direction].concat();
        Running::start(lab.command(Node::C, Who::Root, &args))
    });
    std::thread::sleep(Duration::from_secs(2));
    lab.nft(
        Node::R1,
        "table netdev dead {\nchain arriving {\ntype filter hook ingress device \"near\" priority 0;\ndrop\n}\n}\n",
    );
    for client in clients {
        let ended = client.end();
        // No end closed anything.
        assert!(!ended.stderr.contains("closed the control connection"), "{}", ended.stderr);
        let run = ended.json();
        let failed = find(&run, "neighbour-failed").unwrap_or_else(|| panic!("{run:#}"));
        assert_eq!(failed["evidence"]["next_hop_address"], Node::R1.address(Family::V4));
        assert!(failed["title"].as_str().unwrap().contains("stopped answering ARP"), "{failed:#}");
    }
}

#[test]
fn a_link_that_goes_down_in_mid_test_is_reported_to_have() {
    let Some(lab) = Lab::new("a_link_that_goes_down_in_mid_test") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let args = ["throughput", Node::S.address(Family::V4), "-t", "6", "--json", "--udp", "-b", "2M"];
    let client = Running::start(lab.command(Node::C, Who::Root, &args));
    std::thread::sleep(Duration::from_secs(1));
    lab.sh(Node::R1, "ip link set near down");
    std::thread::sleep(Duration::from_secs(2));
    lab.sh(Node::R1, "ip link set near up");
    let run = client.end().code(0).json();
    let failed = find(&run, "neighbour-failed").unwrap_or_else(|| panic!("{:#}", run["findings"]));
    assert!(failed["title"].as_str().unwrap().contains("lost its carrier 1 time"), "{failed:#}");
    assert!(failed["advice"].as_str().unwrap().contains("`ip -s link show dev eth0`"), "{failed:#}");
}

#[test]
fn what_waits_from_the_omitted_time_is_no_goodput() {
    let Some(lab) = Lab::new("what_waits_from_the_omitted_time") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    lab.plain_links();
    // Half a second waits in it.
    lab.sh(Node::R1, "tc qdisc add dev far root tbf rate 20mbit burst 5kb limit 1250kb");
    // TCP that a busy receiver has waiting in its socket when counting begins is counted; datagrams are not.
    let runs = [(&["--udp", "-b", "60M"][..], 0.0), (&[], 65536.0)].map(|(transport, waiting)| {
        let args = ["throughput", Node::S.address(Family::V4), "-t", "2", "-O", "1", "--json"];
        (lab.run(Node::C, Who::Root, &[&args[..], transport].concat()).json(), waiting)
    });
    for (run, waiting) in runs {
        let up = &run["summary"]["up"];
        let goodput = up["goodput_bps"].as_f64().unwrap_or_else(|| panic!("{run:#}"));
        // The sum of the shaper's rate in frames of 1514 bytes, and its burst. The shaper's queue is twenty times what waits.
        let most = 20e6 * 1472.0 / 1514.0 + 8.0 * (5120.0 + waiting) / 2.0;
        assert!(goodput > 0.0 && goodput <= most, "{goodput} of at most {most}: {up:#}");
    }
}
