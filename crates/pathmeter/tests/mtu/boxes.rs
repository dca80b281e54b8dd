//! Boxes on the path that answer for others or change what they pass on, hosts whose own interface is the smaller one, and the labels
//! of IPv6 flows.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

fn ids(run: &Value) -> Vec<&str> {
    run["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[track_caller]
fn finding<'a>(run: &'a Value, id: &str) -> &'a Value {
    let found = run["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} among {:?}: {:#}", ids(run), run["summary"]))
}

#[track_caller]
fn hops(lab: &Lab, who: Who, args: &[&str]) -> Value {
    let always = ["hops", Node::S.address(Family::V4), "--json", "--one-way", "-c", "8", "-i", "20ms"];
    lab.run(Node::C, who, &[&always, args].concat()).code(0).json()
}

fn without_limits(lab: &Lab) {
    for node in [Node::R1, Node::R2, Node::S] {
        lab.sysctl(node, "net/ipv4/icmp_ratelimit", "0");
        lab.sysctl(node, "net/ipv6/icmp/ratelimit", "0");
    }
}

#[test]
fn an_open_port_answers_at_once_and_a_proxy_is_none_of_the_far_ends() {
    let Some(lab) = Lab::new("an_open_port_answers_at_once") else { return };
    without_limits(&lab);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let tcp = ["--protocol", "tcp", "--port", "5210"];
    let run = hops(&lab, Who::Root, &tcp);
    let found = &run["summary"]["hops"];
    assert_eq!((&found["end"], ids(&run)), (&"reached".into(), Vec::new()), "{found:#}");
    // Connections were noticed by chance alone, some half a second later.
    let median = found["hops"][2]["rtt_ns"]["p50"].as_u64().unwrap();
    assert!(median < 200_000_000, "{found:#}");
    lab.nft(Node::R1, "table ip proxy {\nchain arriving {\ntype nat hook prerouting priority -100;\ntcp dport 5210 redirect\n}\n}\n");
    let _proxy = lab.serve(Node::R1, Who::Root, &[]);
    let run = hops(&lab, Who::Root, &tcp);
    let proxy = finding(&run, "answered-on-path");
    assert_eq!(
        (&proxy["evidence"]["answered_at_hops"], &proxy["evidence"]["far_end_hops"]),
        (&1.into(), &3.into())
    );
    assert_eq!(proxy["evidence"]["router_address"], Node::R1.address(Family::V4));
    assert_eq!(ids(&hops(&lab, Who::Root, &[])), Vec::<&str>::new(), "datagrams are not redirected");
}

#[test]
fn answers_from_another_address_a_set_ttl_and_untranslated_quotes() {
    let Some(lab) = Lab::new("answers_from_another_address") else { return };
    without_limits(&lab);
    lab.nft(
        Node::S,
        "table ip other {\nchain leaving {\ntype filter hook output priority 0;\nicmp type destination-unreachable ip saddr set 10.71.2.77\n}\n}\n",
    );
    let run = hops(&lab, Who::Root, &[]);
    let found = &run["summary"]["hops"];
    assert_eq!((&found["end"], &found["hops"][2]["far_end"]), (&"reached".into(), &true.into()), "{found:#}");
    assert_eq!(found["hops"][2]["routers"][0]["address"], "10.71.2.77");
    let text = run["verdict"]["text"].as_str().unwrap();
    assert!(text.contains("It answers from 10.71.2.77, not 10.71.2.2."), "{text}");
    lab.sh(Node::S, "nft flush ruleset");

    lab.nft(Node::R1, "table ip ttl {\nchain leaving {\ntype filter hook postrouting priority -150;\noifname far ip ttl set 65\n}\n}\n");
    let set = hops(&lab, Who::Root, &[]);
    assert_eq!(finding(&set, "ttl-rewritten")["evidence"]["quoted_ttl_hops"], 64, "{:#}", set["findings"]);
    // Without privilege it is one of two reasons.
    let set = hops(&lab, Who::Unprivileged, &[]);
    let open = finding(&set, "ttl-rewritten");
    assert_eq!(
        (&open["severity"], &open["evidence"]["return_hops"]),
        (&"info".into(), &3.into()),
        "{open:#}"
    );
    lab.sh(Node::R1, "nft flush ruleset");

    lab.nft(
        Node::R1,
        "table ip nat {\nchain leaving {\ntype filter hook postrouting priority 300;\noifname far ip saddr 10.71.1.2 ip saddr set 10.71.12.77\n}\n\
         chain arriving {\ntype filter hook prerouting priority -300;\niifname far ip daddr 10.71.12.77 ip daddr set 10.71.1.2\n}\n}\n",
    );
    lab.sh(Node::R2, "ip route add 10.71.12.77/32 via 10.71.12.1");
    let run = hops(&lab, Who::Root, &["--no-mtu"]);
    let found = &run["summary"]["hops"];
    assert_eq!((&found["end"], &found["untranslated"]), (&"reached".into(), &16.into()), "{found:#}");
    assert_eq!(ids(&run), ["quotes-untranslated"], "{found:#}");
}

#[test]
fn no_hop_is_named_behind_a_router_that_sets_the_ttl() {
    let Some(lab) = Lab::new("no_hop_is_named_behind_a_set_ttl") else { return };
    without_limits(&lab);
    lab.sh(Node::R2, "ip route replace 10.71.2.0/24 dev far mtu lock 1400");
    lab.silence();
    let far = Node::S.address(Family::V4);
    let server = lab.serve(Node::S, Who::Root, &[]);
    let native = || lab.run(Node::C, Who::Root, &["mtu", far, "--json"]).json();
    let run = native();
    assert_eq!(run["summary"]["path"]["up"]["limiting_hop"]["ttl"], 2, "{:#}", run["summary"]["path"]["up"]);
    lab.nft(Node::R1, "table ip ttl {\nchain leaving {\ntype filter hook postrouting priority -150;\noifname far ip ttl set 65\n}\n}\n");
    let run = native();
    let up = &run["summary"]["path"]["up"];
    assert_eq!((&up["path_mtu"], &up["limiting_hop"]), (&1400.into(), &Value::Null), "{up:#}");
    assert_eq!(finding(&run, "ttl-rewritten")["direction"], "up");
    drop(server);
    for who in [Who::Root, Who::Unprivileged] {
        let run = lab.run(Node::C, who, &["mtu", far, "--json"]).json();
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["limiting_hop"]), (&1400.into(), &Value::Null), "{who:?}: {up:#}");
    }
}

#[test]
fn the_far_hosts_own_interface_is_named_where_it_is_the_smaller_one() {
    let Some(lab) = Lab::new("the_far_hosts_own_interface") else { return };
    without_limits(&lab);
    lab.every(9000);
    lab.mtu(Node::S, "eth0", 1500);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = lab.run(Node::C, Who::Root, &["mtu", Node::S.address(family), "--json"]).json();
        let hole = finding(&run, "mtu-black-hole");
        let (title, advice) = (hole["title"].as_str().unwrap(), hole["advice"].as_str().unwrap());
        assert!(title.contains("the interface of the far host has an MTU of 1500"), "{title}");
        assert!(advice.contains("ip link set dev eth0 mtu 9000` there"), "{advice}");
        assert!(!advice.contains("1504"), "{advice}");
    }
}

#[test]
fn packets_made_by_hand_bear_the_label_of_their_flow() {
    let Some(lab) = Lab::new("packets_made_by_hand_bear_a_label") else { return };
    lab.nft(
        Node::R1,
        "table ip6 labels {\nset flows {\ntypeof udp sport . ip6 flowlabel; flags dynamic\n}\nchain passing {\ntype filter hook forward priority \
         0;\niifname near udp dport 5210 add @flows { udp sport . ip6 flowlabel }\n}\n}\n",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    lab.run(Node::C, Who::Root, &["mtu", Node::S.address(Family::V6), "--json"]).code(0);
    let set = lab.sh(Node::R1, "nft list set ip6 labels flows");
    let elements = set.split("elements = {").nth(1).and_then(|rest| rest.split('}').next()).unwrap();
    let flows: Vec<(&str, &str)> =
        elements.split(',').filter_map(|element| element.trim().split_once(" . ")).collect();
    let ports: std::collections::BTreeSet<&str> = flows.iter().map(|(port, _)| *port).collect();
    // What opened a flow left before it had the label that all of its probes bear, also those that the kernel makes. The session of the return
    // path has no more than that.
    assert_eq!((ports.len(), flows.len()), (6, 11), "{set}");
    let of_port = |port: &&str| flows.iter().filter(|(other, _)| other == port).count();
    assert!(ports.iter().all(|port| of_port(port) <= 2), "{set}");
    assert!(flows.iter().all(|(_, label)| !matches!(*label, "0" | "0x0" | "0x00000")), "{set}");
}
