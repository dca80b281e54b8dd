//! Two faults at once, and faults of one protocol or one flow alone: the right hop, the right direction, the right reason.

use super::judge::{found, measured_path};
use super::lab::{Family, Lab, Node, Who};
use serde_json::{Value, json};

/// The router's own addresses on the link between the two.
fn in_the_middle(node: Node, family: Family) -> &'static str {
    match (node, family) {
        (Node::R1, Family::V4) => "10.71.12.1",
        (Node::R1, Family::V6) => "fd71:12::1",
        (_, Family::V4) => "10.71.12.2",
        (_, Family::V6) => "fd71:12::2",
    }
}

fn pair(id: &str, direction: &str) -> (String, String) {
    (id.to_owned(), direction.to_owned())
}

#[track_caller]
fn assert_found(run: &Value, wanted: &[(&str, &str)]) {
    let mut wanted: Vec<_> = wanted.iter().map(|(id, direction)| pair(id, direction)).collect();
    wanted.sort();
    assert_eq!(found(run), wanted, "{:#}\n{:#}", run["findings"], run["summary"]["path"]);
}

#[test]
fn of_two_limits_in_a_row_the_silent_one_is_named() {
    let Some(lab) = Lab::new("of_two_limits_in_a_row") else { return };
    lab.middle(1400);
    lab.sh(
        Node::R2,
        "ip -4 route replace 10.71.2.0/24 dev far mtu lock 1300 && ip -6 route del fd71:2::/64 dev far && \
         ip -6 route add fd71:2::/64 dev far mtu lock 1300",
    );
    lab.silence_one(Node::R2);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["discovery"]), (&json!(1300), &json!("partial")), "{up:#}");
        let hop = &up["limiting_hop"];
        let address = in_the_middle(Node::R2, family);
        assert_eq!((&hop["address"], &hop["ttl"]), (&json!(address), &json!(2)), "{up:#}");
        let hole = &up["black_hole"];
        assert_eq!((&hole["first"], &hole["last"]), (&json!(1301), &json!(1400)), "{up:#}");
        assert!(up["too_big"].as_array().unwrap().iter().all(|reported| reported["mtu"] == 1400), "{up:#}");
        assert_found(
            &run,
            &[("mtu-black-hole", "up"), ("mtu-black-hole", "down"), ("mtu-asymmetric", "both")],
        );
        let advice = run["findings"].as_array().unwrap()[0]["advice"].as_str().unwrap();
        assert!(advice.contains(&format!("{} limits too", Node::R1.address(family))), "{advice}");
    }
}

#[test]
fn tcp_that_stalls_where_datagrams_cross_is_a_finding() {
    let Some(lab) = Lab::new("tcp_that_stalls_where_datagrams_cross") else { return };
    lab.plain_links();
    lab.forward(Node::R1, "iifname near meta l4proto tcp meta length > 1400 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["bound"]), (&json!(1500), &json!("exact")), "{up:#}");
        assert_eq!(up["tcp"]["smaller_mss"], 1200, "{up:#}");
        assert_found(&run, &[("tcp-blackhole", "up")]);
        assert_eq!(run["verdict"]["status"], "problem");
        let down = &run["summary"]["path"]["down"]["tcp"];
        assert_eq!((&down["stalled"], &down["smaller_mss"]), (&json!(false), &Value::Null), "{down:#}");
    }
}

#[test]
fn flows_over_paths_of_different_size_are_distinguished() {
    let Some(lab) = Lab::new("flows_over_paths_of_different_size") else { return };
    lab.second_path(1400);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        let sizes: Vec<u64> = [&up["path_mtu"]]
            .into_iter()
            .chain(up["other_flows"].as_array().unwrap().iter().map(|flow| &flow["path_mtu"]))
            .map(|mtu| mtu.as_u64().unwrap())
            .collect();
        assert_eq!(sizes.len(), 5, "{up:#}");
        assert!(sizes.contains(&1400) && sizes.contains(&1500), "{up:#}");
        assert!(found(&run).contains(&pair("paths-differ", "up")), "{:#}", run["findings"]);
        let advised = run["advice"].as_array().unwrap().iter().find(|one| one["setting"] == "udp_payload");
        assert_eq!(advised.unwrap()["value"], 1400 - family.headers(), "{:#}", run["advice"]);
        let down = &run["summary"]["path"]["down"]["other_flows"];
        assert!(down.as_array().unwrap().iter().all(|flow| flow["path_mtu"] == 1500), "{down:#}");
    }
}

#[test]
fn a_path_of_less_than_a_usual_fragment_is_no_filter_of_fragments() {
    let Some(lab) = Lab::new("a_path_of_less_than_a_usual_fragment") else { return };
    lab.forward(
        Node::R1,
        "iifname near meta nfproto ipv4 meta length > 500 drop\niifname near meta nfproto ipv6 meta length > 1200 drop",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for (family, mtu) in [(Family::V4, 500), (Family::V6, 1200)] {
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["bound"]), (&json!(mtu), &json!("exact")), "{up:#}");
        assert_eq!(up["fragments"]["fate"], "pass", "{up:#}");
        assert_found(&run, &[("mtu-black-hole", "up"), ("mtu-asymmetric", "both")]);
        let text = run.to_string();
        if family == Family::V6 {
            assert!(text.contains("less than the 1280 bytes that IPv6 needs"), "{:#}", run["findings"]);
            assert!(!text.contains("ip link set dev eth0 mtu 1200"), "{:#}", run["findings"]);
        }
    }
}

#[test]
fn a_path_that_shrinks_when_tcp_begins_is_searched_again() {
    let Some(lab) = Lab::new("a_path_that_shrinks_when_tcp_begins") else { return };
    lab.plain_links();
    // From the first full segment on nothing larger crosses, of whatever protocol: only then the search by UDP is over.
    lab.nft(
        Node::R1,
        "table inet shrink {\nset shrunk {\ntype mark; flags dynamic\n}\nchain passing {\ntype filter hook forward priority 0;\n\
         iifname near meta length > 1400 meta mark @shrunk drop\n\
         iifname near meta l4proto tcp meta length > 1400 add @shrunk { meta mark }\n}\n}\n",
    );
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = measured_path(&lab, Family::V4, &[]);
    let up = &run["summary"]["path"]["up"];
    assert_eq!((&up["path_mtu"], &up["changed"]), (&json!(1400), &json!(true)), "{up:#}");
    let ids = found(&run);
    assert!(ids.contains(&pair("path-changed", "up")), "{:#}", run["findings"]);
    assert!(!ids.contains(&pair("tcp-blackhole", "up")), "{:#}", run["findings"]);
}
