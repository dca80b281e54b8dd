//! Stalls and losses whose reason is not the path: the receiver's own firewall, one IP version alone, segments that are too small.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;
use std::path::PathBuf;

/// Names of hosts that are known in the namespace of one node, until dropped.
struct Names(PathBuf);

impl Names {
    fn begin(lab: &Lab, node: Node, lines: &str) -> Names {
        let folder = PathBuf::from("/etc/netns").join(lab.ns(node));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("hosts"), lines).unwrap();
        Names(folder)
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn finding<'a>(run: &'a Value, id: &str) -> &'a Value {
    let mut findings = run["findings"].as_array().unwrap().iter();
    findings.find(|one| one["id"] == id).unwrap_or_else(|| panic!("no {id}: {:#}", run["findings"]))
}

#[test]
fn a_transfer_that_stalls_over_ipv6_alone_names_it() {
    let Some(lab) = Lab::new("stalls_over_ipv6_alone") else { return };
    lab.forward(Node::R1, "iifname far meta nfproto ipv6 meta length > 1280 drop");
    let both =
        format!("{} both.test\n{} both.test\n", Node::S.address(Family::V6), Node::S.address(Family::V4));
    let _names = Names::begin(&lab, Node::C, &both);
    let _server = lab.serve(Node::S, Who::Root, &["--http=8080"]);
    let always = ["transfer", "http://both.test:8080/bytes/2M", "-n", "1", "--timeout", "2s", "--json"];
    let ended = lab.run(Node::C, Who::Root, &always).code(3);
    let run = ended.json();
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    let stalls = warnings.iter().find(|one| one["id"] == "ipv6-stalls");
    let text = stalls.unwrap_or_else(|| panic!("{warnings:#?}"))["text"].as_str().unwrap();
    assert!(text.contains("over IPv4 (10.71.2.2) it goes on. -4 measures that"), "{text}");
    // The reason is named beside it, and the advice is one that works.
    let hole = finding(&run, "mtu-black-hole");
    assert_eq!((&hole["direction"], &hole["evidence"]["first_lost_bytes"]), (&"down".into(), &1281.into()));
    lab.run(Node::C, Who::Root, &[&always[..], &["-4"]].concat()).code(0);
    // Where both stall, no other version is recommended.
    lab.nft(
        Node::R1,
        "table inet more {\nchain passing {\ntype filter hook forward priority 0;\niifname far meta length > 1280 drop\n}\n}\n",
    );
    let run = lab.run(Node::C, Who::Root, &always).code(3).json();
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().all(|one| one["id"] != "ipv6-stalls"), "{warnings:#?}");
}

#[test]
fn a_receivers_own_firewall_is_no_black_hole_of_the_path() {
    let Some(lab) = Lab::new("a_receivers_own_firewall") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for (node, direction, there) in [(Node::S, "up", "the far host"), (Node::C, "down", "this host")] {
        lab.nft(
            node,
            "table inet short {\nchain arriving {\ntype filter hook input priority 0;\nmeta length > 1400 drop\n}\n}\n",
        );
        for family in Family::BOTH {
            let host = Node::S.address(family);
            for args in [&["mtu", host][..], &["throughput", host, "-t", "1s", "--bidir", "-b", "200M"]] {
                let run = lab.run(Node::C, Who::Root, &[args, &["--json"]].concat()).json();
                let hole = finding(&run, "mtu-black-hole");
                let reason = (&hole["direction"], &hole["evidence"]["black_hole_cause"]);
                assert_eq!(reason, (&direction.into(), &"receiver_filter".into()), "{args:?}: {hole:#}");
                let (title, advice) = (hole["title"].as_str().unwrap(), hole["advice"].as_str().unwrap());
                assert!(
                    title.contains(&format!("they reach {there}, whose own kernel drops them")),
                    "{title}"
                );
                assert!(advice.starts_with(&format!("At {there} find the rule")), "{advice}");
                assert_eq!(hole["evidence"]["distance_hops"], Value::Null, "{hole:#}");
                let others =
                    run["findings"].as_array().unwrap().iter().filter(|one| one["severity"] != "info");
                assert_eq!(others.count(), 1, "{args:?}: {:#}", run["findings"]);
            }
        }
        lab.sh(node, "nft flush ruleset");
    }
}

#[test]
fn fragments_that_a_receivers_own_firewall_drops_cross_the_path() {
    let Some(lab) = Lab::new("fragments_at_the_receiver") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    // Fragments as they come, and datagrams that have been put together.
    let single =
        "type filter hook prerouting priority -450;\nip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop";
    let joined = "type filter hook input priority 0;\nmeta l4proto udp meta length > 2000 drop";
    for (node, rules, there) in
        [(Node::S, single, "the far host"), (Node::S, joined, "the far host"), (Node::C, joined, "this host")]
    {
        lab.nft(node, &format!("table inet frags {{\nchain arriving {{\n{rules}\n}}\n}}\n"));
        for family in Family::BOTH {
            // IPv6 puts datagrams together behind the rules of `input`.
            if rules == joined && family == Family::V6 {
                continue;
            }
            let run = lab.run(Node::C, Who::Root, &["mtu", Node::S.address(family), "--json"]).json();
            let dropped = finding(&run, "fragments-dropped");
            let title = dropped["title"].as_str().unwrap();
            assert!(
                title.contains(&format!("dropped by the kernel of {there} itself")),
                "{family:?}: {title}"
            );
        }
        lab.sh(node, "nft flush ruleset");
    }
}

#[test]
fn round_trips_without_a_reply_have_the_reason_of_their_size() {
    let Some(lab) = Lab::new("round_trips_without_a_reply") else { return };
    lab.forward(Node::R1, "iifname far meta l4proto udp meta length > 1300 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let args = ["latency", Node::S.address(Family::V4), "--size", "1400", "-t", "500ms", "--json"];
    let ended = lab.run(Node::C, Who::Root, &args).code(3);
    let hole = finding(&ended.json(), "mtu-black-hole").clone();
    assert_eq!((&hole["direction"], &hole["evidence"]["first_lost_bytes"]), (&"down".into(), &1301.into()));
    assert!(ended.stderr.contains("Packets of 1301 to 1500 bytes"), "{}", ended.stderr);
}

#[test]
fn a_mark_that_is_dropped_on_acknowledgements_is_no_outage() {
    let Some(lab) = Lab::new("a_mark_dropped_on_acknowledgements") else { return };
    lab.forward(Node::R1, "iifname far ip dscp ef drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let args = ["throughput", Node::S.address(Family::V4), "--dscp", "ef", "-t", "2s", "--json"];
    let run = lab.run(Node::C, Who::Root, &args).json();
    let dropped = finding(&run, "mark-dropped");
    assert_eq!(dropped["direction"], "down", "{dropped:#}");
    let findings = run["findings"].as_array().unwrap();
    assert!(findings.iter().all(|one| one["id"] != "outage"), "{findings:#?}");
}

#[test]
fn segments_smaller_than_any_path_needs_are_named() {
    let Some(lab) = Lab::new("segments_smaller_than_any_path_needs") else { return };
    lab.forward(Node::R1, "iifname near tcp flags & (syn | ack) == syn tcp option maxseg size set 200");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let host = Node::S.address(family);
        let run = lab.run(Node::C, Who::Root, &["throughput", host, "-R", "-t", "1s", "--json"]).json();
        let clamped = finding(&run, "mss-clamped");
        assert_eq!(
            (&clamped["direction"], &clamped["evidence"]["mss_received_bytes"]),
            (&"up".into(), &200.into()),
            "{clamped:#}"
        );
        // The other direction has its usual segments.
        let run = lab.run(Node::C, Who::Root, &["throughput", host, "-t", "1s", "--json"]).json();
        let findings = run["findings"].as_array().unwrap();
        assert!(findings.iter().all(|one| one["id"] != "mss-clamped"), "{findings:#?}");
    }
}
