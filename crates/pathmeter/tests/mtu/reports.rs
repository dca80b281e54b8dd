//! Worlds of public reports that no other test has; the rest, which take longer, are run by `scripts/mtu-cases`.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

fn result(lab: &Lab, args: &[&str]) -> Value {
    lab.run(Node::C, Who::Root, &[args, &["--json"]].concat()).json()
}

fn ids(run: &Value) -> Vec<&str> {
    let findings = run["findings"].as_array().unwrap().iter();
    findings.filter(|one| one["severity"] != "info").map(|one| one["id"].as_str().unwrap()).collect()
}

fn has(run: &Value, id: &str, direction: &str, first: u32) -> bool {
    let mut findings = run["findings"].as_array().unwrap().iter();
    findings.any(|one| {
        one["id"] == id && one["direction"] == direction && one["evidence"]["first_lost_bytes"] == first
    })
}

/// msxfaq.de, "Azure VPN und MTU": 1422 bytes cross, 1423 vanish, and from 1424 on a router reports 1423.
#[test]
fn a_router_that_reports_a_byte_too_many_is_wrong() {
    let Some(lab) = Lab::new("a_byte_too_many") else { return };
    lab.route(Node::R1, "2::", "12::2", Some(1423));
    lab.nft(
        Node::R1,
        "table ip short {\nchain leaving {\ntype filter hook postrouting priority 0;\noifname far meta length 1423 drop\n}\n}\n",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["mtu", Node::S.address(Family::V4)]);
    assert_eq!(run["summary"]["path"]["up"]["path_mtu"], 1422, "{:#}", run["summary"]["path"]["up"]);
    assert_eq!(ids(&run), ["mtu-discovery-wrong", "mtu-asymmetric"], "{:#}", run["findings"]);
}

/// linuxkit issue 2496: a container's 1500 in a network of 1460, behind address translation. And cilium issue 12968: the router's message
/// is lost where it comes back through that.
#[test]
fn a_smaller_network_behind_address_translation_is_named_with_its_cause() {
    let Some(lab) = Lab::new("a_smaller_network_behind_translation") else { return };
    lab.nft(
        Node::R1,
        "table ip nat {\nchain leaving {\ntype nat hook postrouting priority 100;\noifname far masquerade\n}\n}\n",
    );
    lab.sh(Node::R2, "ip route replace 10.71.2.0/24 dev far mtu lock 1420");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let host = Node::S.address(Family::V4);
    let run = result(&lab, &["mtu", host]);
    let up = &run["summary"]["path"]["up"];
    assert_eq!((&up["path_mtu"], &up["discovery"]), (&1420.into(), &"works".into()), "{up:#}");
    assert!(!ids(&run).contains(&"mtu-black-hole"), "{:#}", run["findings"]);
    lab.forget();
    lab.forward(Node::R1, "oifname near icmp type destination-unreachable icmp code frag-needed drop");
    let run = result(&lab, &["mtu", host]);
    let hole = &run["summary"]["path"]["up"]["black_hole"];
    assert_eq!((&hole["first"], &hole["cause"]), (&1421.into(), &"icmp_filtered".into()), "{hole:#}");
    assert_eq!(run["summary"]["path"]["up"]["limiting_hop"]["ttl"], 2);
    let run = result(&lab, &["throughput", host, "-t", "1s"]);
    assert_eq!(ids(&run), ["mtu-black-hole"], "{:#}", run["findings"]);
}

/// speedtest-cli issue 137: downloads work and uploads hang.
#[test]
fn an_upload_that_stalls_is_named_with_its_direction() {
    let Some(lab) = Lab::new("an_upload_that_stalls") else { return };
    lab.forward(Node::R1, "iifname near meta length > 1400 drop");
    let _server = lab.serve(Node::S, Who::Root, &["--http=8080"]);
    let url = format!("http://{}:8080", Node::S.address(Family::V4));
    let always = ["-n", "1", "--timeout", "1500ms"];
    let run = result(&lab, &[&["transfer", &format!("{url}/bytes/300k")][..], &always].concat());
    assert_eq!(ids(&run), Vec::<&str>::new(), "{:#}", run["findings"]);
    let upload = format!("{url}/upload");
    let run = result(&lab, &[&["transfer", &upload, "--size", "1MB"][..], &always].concat());
    assert!(has(&run, "mtu-black-hole", "up", 1401), "{:#}", run["findings"]);
    assert!(run["findings"].as_array().unwrap().iter().all(|one| one["direction"] != "down"));
}

/// opnsense issue 4484: an MSS that fits IPv4 is set for IPv6, too.
#[test]
fn a_clamp_that_fits_ipv4_alone_stalls_ipv6() {
    let Some(lab) = Lab::new("a_clamp_that_fits_ipv4_alone") else { return };
    lab.plain_links();
    lab.forward(
        Node::R1,
        "tcp flags syn tcp option maxseg size > 1452 tcp option maxseg size set 1452\nmeta length > 1492 drop",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["throughput", Node::S.address(Family::V6), "-t", "1s"]);
    assert!(has(&run, "mtu-black-hole", "up", 1493), "{:#}", run["findings"]);
    assert_eq!(ids(&run), ["mtu-black-hole"], "{:#}", run["findings"]);
    // At a rate that no CPU of a busy host limits.
    let run = result(&lab, &["throughput", Node::S.address(Family::V4), "-t", "1s", "-b", "50M"]);
    assert_eq!(ids(&run), Vec::<&str>::new(), "the clamp fits: {:#}", run["findings"]);
}

/// cilium issue 45339: fragments of ICMP alone are dropped.
#[test]
fn fragments_of_echo_that_are_dropped_are_no_limit_up() {
    let Some(lab) = Lab::new("fragments_of_echo_alone") else { return };
    lab.route(Node::R2, "1::", "12::1", Some(1400));
    lab.forward(Node::R1, "ip protocol icmp ip frag-off & 0x3fff != 0 drop");
    let run = result(&lab, &["mtu", Node::S.address(Family::V4)]);
    let path = &run["summary"]["path"];
    assert_eq!(path["up"]["path_mtu"], 1500, "{path:#}");
    let down = &path["down"];
    assert!(down["path_mtu"].is_null() || down["path_mtu"] == 1400, "{down:#}");
    assert!(!has(&run, "mtu-black-hole", "up", 1401), "{:#}", run["findings"]);
}

/// ovn issue 316: the first hop answers in the name of the far end.
#[test]
fn a_hop_that_answers_in_the_far_ends_name_is_none() {
    let Some(lab) = Lab::new("a_hop_in_the_far_ends_name") else { return };
    lab.nft(
        Node::R1,
        "table ip other {\nchain leaving {\ntype filter hook output priority 0;\nicmp type time-exceeded ip saddr set 10.71.2.2\n}\n}\n",
    );
    let args = ["hops", Node::S.address(Family::V4), "--one-way", "-c", "4", "-i", "50ms"];
    let run = result(&lab, &args);
    let found = &run["summary"]["hops"];
    assert_eq!((&found["end"], found["hops"].as_array().unwrap().len()), (&"reached".into(), 3), "{found:#}");
    assert!(ids(&run).iter().all(|id| *id != "routing-loop"), "{:#}", run["findings"]);
}

/// cilium issue 19720: routers choose among equal paths by IPv6's flow label, and one of them is smaller.
#[test]
fn legs_that_are_chosen_by_the_flow_label_are_distinguished() {
    let Some(lab) = Lab::new("legs_by_flow_label") else { return };
    lab.legs();
    lab.sh(
        Node::R1,
        "ip -6 route replace fd71:2::/64 nexthop via fd71:12::2 nexthop via fd71:14::2 && \
         echo 0 > /proc/sys/net/ipv6/fib_multipath_hash_policy",
    );
    lab.nft(
        Node::R2,
        "table ip6 short {\nchain passing {\ntype filter hook forward priority 0;\niifname leg14 meta length > 1400 drop\n}\n}\n",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let mut differ = 0;
    for _ in 0..3 {
        lab.forget();
        let run = result(&lab, &["mtu", Node::S.address(Family::V6)]);
        let up = &run["summary"]["path"]["up"];
        let others = up["other_flows"].as_array().unwrap().iter().map(|flow| flow["path_mtu"].as_u64());
        let sizes: std::collections::BTreeSet<Option<u64>> =
            others.chain([up["path_mtu"].as_u64()]).collect();
        assert!(sizes.iter().all(|size| matches!(size, Some(1400 | 1500))), "{up:#}");
        let expected = if sizes.len() == 2 { "paths-differ" } else { "mtu-black-hole" };
        if sizes.contains(&Some(1400)) {
            assert!(ids(&run).contains(&expected), "{sizes:?}: {:#}", run["findings"]);
        }
        differ += usize::from(sizes.len() == 2);
    }
    // Five flows all take one of two paths in one of 16 runs.
    assert!(differ > 0, "no run of three saw both paths");
}

/// A policer drops the end of every train of probes, and large packets before small ones: that is no limit of sizes.
#[test]
fn a_policer_is_no_limit_of_sizes() {
    let Some(lab) = Lab::new("a_policer_is_no_limit_of_sizes") else { return };
    // A joined packet is larger than the bucket, and would never pass.
    lab.plain_links();
    for node in [Node::R1, Node::R2] {
        lab.forward(node, "limit rate over 250 kbytes/second burst 8 kbytes drop");
    }
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = result(&lab, &["mtu", Node::S.address(Family::V4)]);
    for direction in ["up", "down"] {
        assert_eq!(run["summary"]["path"][direction]["path_mtu"], 1500, "{:#}", run["summary"]["path"]);
    }
    assert!(ids(&run).is_empty(), "{:#}", run["findings"]);
}
