//! Neighbours that do not answer, families that are dead, links that work one way: made of namespaces and a bridge, found
//! and named by the built program. Nothing here asserts a time; every wait has a limit.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod bridged;
#[path = "../mtu/lab.rs"]
#[expect(dead_code, reason = "shared with the tests of `mtu`, which use more of it")]
mod lab;
mod limit;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
mod routed;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;

use bridged::{Bridged, CLIENT, SERVER, SERVER_V6};
use serde_json::Value;
use support::{Running, pathmeter};

#[test]
fn a_clean_path_raises_none() {
    let Some(net) = Bridged::new("a_clean_path_raises_none") else { return };
    let _server = net.serve();
    let run = net.client(&["measure", SERVER, "--quick", "--json"]).code(0).json();
    for id in ["neighbour-failed", "one-family-only", "one-way-reachable"] {
        assert!(find(&run, id).is_none(), "{id}: {:#}", run["findings"]);
    }
    let reach = &run["summary"]["reach"];
    let families: Vec<(&str, &str)> = list(&reach["families"])
        .iter()
        .map(|family| (family["address"].as_str().unwrap(), family["contact"].as_str().unwrap()))
        .collect();
    assert_eq!(families, [("10.78.0.2:5210", "open"), ("[2001:db8:78::2]:5210", "open")]);
    assert!(reach["families"][0]["first_packet_ns"].as_u64().unwrap() > 0);
    let hops = list(&reach["next_hops"]);
    assert_eq!(hops.len(), 2, "{hops:#?}");
    for hop in hops {
        assert_eq!((&hop["failures"], &hop["is_far_host"]), (&0.into(), &true.into()), "{hop:#}");
    }
    // A measurement of one family reports nothing of the other.
    let run = net.client(&["measure", SERVER, "-4", "--quick", "--json"]).code(0).json();
    assert_eq!(list(&run["summary"]["reach"]["families"]).len(), 1);
}

#[test]
fn neighbour_discovery_dropped_on_a_bridge() {
    let Some(net) = Bridged::new("neighbour_discovery_dropped_on_a_bridge") else { return };
    let _server = net.serve();
    net.drop_on_bridge("icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert }");
    let run = net.client(&["measure", SERVER, "--quick", "--json"]).code(0).json();
    let dead = find(&run, "one-family-only").expect("IPv6 is dead");
    assert_eq!(dead["evidence"]["dead_address"], "2001:db8:78::2");
    assert!(dead["title"].as_str().unwrap().starts_with("IPv4 works, IPv6 does not"), "{dead:#}");
    let failed = find(&run, "neighbour-failed").expect("its neighbour is silent");
    assert_eq!(failed["evidence"]["next_hop_address"], "2001:db8:78::2");
    assert!(failed["title"].as_str().unwrap().contains("never answered"), "{failed:#}");
    assert!(find(&run, "one-way-reachable").is_none(), "{:#}", run["findings"]);
    assert_eq!(run["verdict"]["status"], "problem");
    // The dead family itself cannot be measured, and the reason is named.
    let ended = net.client(&["measure", SERVER_V6, "--quick"]).code(3);
    ended
        .prints(
            "neighbour solicitation for 2001:db8:78::2 (the host itself) on eth0 is not answered (FAILED)",
        )
        .prints("ICMPv6 types 135 and 136");
}

/// A filter of multicast, as macvtap and snooping bridges are: broadcast passes, and so does what is sent to one host.
#[test]
fn multicast_that_is_filtered_is_not_taken_for_a_dead_host() {
    let Some(net) = Bridged::new("multicast_that_is_filtered") else { return };
    let _server = net.serve();
    net.drop_on_bridge("ether daddr & ff:ff:00:00:00:00 == 33:33:00:00:00:00");
    assert!(net.ping(&net.client, SERVER), "IPv4 works");
    net.client(&["throughput", SERVER_V6, "--connect-timeout", "4s"])
        .code(3)
        .prints("ARP for 10.78.0.2 on eth0 is answered")
        .prints("ip link set dev eth0 allmulticast on");
}

/// A router answers ARP for an address that is not behind it.
#[test]
fn one_hardware_address_of_two_hosts_is_named() {
    let Some(net) = Bridged::new("one_hardware_address_of_two_hosts") else { return };
    let line = "sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv4.conf.eth0.proxy_arp=1 net.ipv4.neigh.eth0.proxy_delay=0 && \
                ip link add behind type bridge && ip link set behind up && ip route add 10.78.0.77/32 dev behind";
    let argv = ["netns", "exec", &net.server, "sh", "-c", line];
    assert!(std::process::Command::new("ip").args(argv).status().unwrap().success());
    assert!(net.ping(&net.client, SERVER));
    net.client(&["throughput", "10.78.0.77", "--connect-timeout", "2s"])
        .code(3)
        .prints("10.78.0.77 and 10.78.0.2 have one hardware address on eth0");
}

/// A second host has the server's address.
#[test]
fn one_address_of_two_hosts_is_named() {
    let Some(net) = Bridged::new("one_address_of_two_hosts") else { return };
    let _server = net.serve();
    let _other = net.another(SERVER);
    net.forget(&net.client);
    // Its kernel takes the first answer: of the two hosts one listens.
    let ended =
        net.client(&["hops", SERVER, "--protocol", "icmp", "-c", "2", "-i", "100ms", "--json"]).code(0);
    let run = ended.json();
    let found = find(&run, "duplicate-address").unwrap_or_else(|| panic!("{:#}", run["findings"]));
    assert_eq!(found["evidence"]["next_hop_address"], SERVER);
    assert_eq!(list(&found["evidence"]["answers_address"]).len(), 2, "{found:#}");
    // One that refuses may be the wrong one.
    net.client(&["throughput", &format!("{SERVER}:9"), "-t", "1"])
        .code(3)
        .prints("2 devices answer ARP for 10.78.0.2 on eth0")
        .prints("give one of them another address");
}

/// Packets to the server leave by one interface, and answers arrive by another.
#[test]
fn answers_that_rp_filter_drops_are_named() {
    let Some(net) = Bridged::new("answers_that_rp_filter_drops") else { return };
    let _server = net.serve();
    // A second cable between the hosts; the server answers by it.
    let [client, server] = [net.client.as_str(), net.server.as_str()];
    net::ip(&["-n", client, "link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", server]);
    for (ns, host) in [(client, 1), (server, 2)] {
        net::ip(&["-n", ns, "link", "set", "eth1", "up"]);
        net::ip(&["-n", ns, "address", "add", &format!("10.78.9.{host}/24"), "dev", "eth1"]);
    }
    net::ip(&["-n", server, "route", "add", "10.78.0.1/32", "via", "10.78.9.1", "dev", "eth1"]);
    let strict = "for f in all eth0; do echo 0 > /proc/sys/net/ipv4/conf/$f/rp_filter; done; echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter";
    // The server requests the client's address with its own of that cable, which the client's filter lets pass.
    let loose = "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done; echo 2 > /proc/sys/net/ipv4/conf/eth1/arp_announce";
    for (ns, line) in [(client, strict), (server, loose)] {
        let argv = ["netns", "exec", ns, "sh", "-c", line];
        assert!(std::process::Command::new("ip").args(argv).status().unwrap().success());
    }
    net.client(&["throughput", SERVER, "--connect-timeout", "2s"]).code(3).prints(
        "this host drops what comes by eth1, as packets to 10.78.0.2 leave by eth0 (rp_filter is 1, strict",
    );
}

#[test]
fn ipv6_that_is_off_is_named() {
    let Some(net) = Bridged::new("ipv6_that_is_off_is_named") else { return };
    let off = "net.ipv6.conf.all.disable_ipv6=1";
    let argv = ["netns", "exec", &net.client, "sysctl", "-qw", off, "net.ipv6.conf.lo.disable_ipv6=1"];
    assert!(std::process::Command::new("ip").args(argv).status().expect("ip").success());
    net.client(&["throughput", SERVER_V6])
        .code(3)
        .prints("IPv6 is off on this host")
        .prints("disable_ipv6=0");
}

#[test]
fn arp_answered_on_one_side_only() {
    let Some(net) = Bridged::new("arp_answered_on_one_side_only") else { return };
    let _server = net.serve();
    net.drop_on_bridge("iifname \"server\" arp operation reply");
    net.client(&["throughput", SERVER])
        .code(3)
        .prints("ARP for 10.78.0.2 (the host itself) on eth0 is not answered (FAILED)")
        .prints("tcpdump -eni eth0 arp");
    net.client(&["mtu", SERVER])
        .code(3)
        .prints("ARP for 10.78.0.2 (the host itself) on eth0 is not answered");
    // IPv6 works, over which the far end reports its IPv4 address; then it sends a request for ours, which we receive.
    let measuring =
        Running::start(pathmeter(Some(&net.client), &["measure", SERVER_V6, "--quick", "--json"]));
    measuring.wait_for("2/5");
    net.forget(&net.server);
    assert!(net.ping(&net.server, CLIENT), "the other side is answered");
    let run = measuring.end().code(0).json();
    let one_way = find(&run, "one-way-reachable").expect("one side alone is answered");
    assert_eq!(one_way["evidence"]["working_direction"], "down");
    assert!(
        one_way["title"].as_str().unwrap().starts_with("Frames of 10.78.0.2 arrive on eth0"),
        "{one_way:#}"
    );
    assert_eq!(find(&run, "neighbour-failed").expect("it failed")["evidence"]["next_hop_address"], SERVER);
    assert_eq!(find(&run, "one-family-only").expect("IPv4 is dead")["evidence"]["dead_address"], SERVER);
}

#[test]
fn a_neighbour_that_dies_midway_is_named() {
    let Some(net) = Bridged::new("a_neighbour_that_dies_midway_is_named") else { return };
    let _server = net.serve();
    net.hurry(&net.client);
    let measuring = Running::start(pathmeter(Some(&net.client), &["measure", SERVER, "-4", "--json"]));
    measuring.wait_for("2/5");
    net.unplug_server();
    let ended = measuring.end().code(3);
    let run = ended.json();
    let failed = find(&run, "neighbour-failed").expect("it is gone");
    assert!(failed["title"].as_str().unwrap().contains("stopped answering ARP"), "{failed:#}");
    assert_eq!(failed["evidence"]["interface_name"], "eth0");
    assert!(failed["evidence"]["unanswered_ns"].as_u64().unwrap() > 0);
    assert_ne!(run["verdict"]["status"], "ok");
    assert!(run["verdict"]["text"].as_str().unwrap().contains("ARP"), "{}", run["verdict"]);
}

#[test]
fn a_host_that_is_silent_is_not_taken_for_one_that_is_not_there() {
    let Some(net) = Bridged::new("a_host_that_is_silent") else { return };
    // The host is on the link, and drops TCP.
    net::nft(
        &net.server,
        "table ip t {\nchain c {\ntype filter hook input priority 0;\nmeta l4proto tcp drop\n}\n}\n",
    );
    net.client(&["throughput", SERVER, "--connect-timeout", "1s"])
        .code(3)
        .prints("ARP for it on eth0 is answered")
        .prints("silently drops");
    net.client(&["throughput", "192.0.2.1"]).code(3).prints("this host has no route to 192.0.2.1");
    // A router that is not there.
    net::ip(&["-n", &net.client, "route", "add", "192.0.2.0/24", "via", "10.78.0.9"]);
    net.client(&["throughput", "192.0.2.1"])
        .code(3)
        .prints("ARP for 10.78.0.9 (the router) on eth0 is not answered");
}

/// All methods of probing wait at once: the kernel asks for the neighbour a few times, and not for each of them.
#[test]
fn packet_sizes_of_a_dead_neighbour_name_it_after_few_requests() {
    let Some(net) = Bridged::new("packet_sizes_of_a_dead_neighbour") else { return };
    net.unplug_server();
    net.forget(&net.client);
    net.count_on_bridge("arp operation request");
    net.client(&["mtu", SERVER, "-4"])
        .code(3)
        .prints("ARP for 10.78.0.2 (the host itself) on eth0 is not answered");
    let requests = net.counted_on_bridge();
    assert!((1..=6).contains(&requests), "{requests} requests: two rounds of three at most");
}

fn find<'a>(run: &'a Value, id: &str) -> Option<&'a Value> {
    list(&run["findings"]).iter().find(|finding| finding["id"] == id)
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}
