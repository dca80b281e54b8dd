//! Hosts that answer little or nothing.

use super::lab::{Family, Lab, Node, Who};

#[test]
fn a_host_that_answers_nothing_is_unreachable_and_what_was_tried_is_told() {
    let Some(lab) = Lab::new("foreign_silent") else { return };
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nicmpv6 type { nd-neighbor-solicit, \
         nd-neighbor-advert } accept\nmeta l4proto { icmp, ipv6-icmp, udp, tcp } drop\n}\n}\n",
    );
    for family in Family::BOTH {
        for who in [Who::Root, Who::Nobody] {
            let words = ["mtu", Node::S.address(family)];
            let ended = lab.run(Node::C, who, &words).code(3);
            ended
                .says("answers nothing")
                .says("UDP to port")
                .says("ICMP echo")
                .says("TCP to ports 443, 80 and 22");
        }
    }
}

#[test]
fn a_host_without_ping_tells_the_way_there() {
    let Some(lab) = Lab::new("foreign_no_ping") else { return };
    lab.middle(1400);
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nicmp type echo-request drop\nicmpv6 type \
         echo-request drop\n}\n}\n",
    );
    for family in Family::BOTH {
        let words = ["mtu", Node::S.address(family), "--json"];
        let run = lab.run(Node::C, Who::Root, &words).code(0).json();
        let path = &run["summary"]["path"];
        assert_eq!((&path["method"], &path["up"]["path_mtu"]), (&"udp".into(), &1400.into()), "{path:#}");
        assert!(path["down"]["path_mtu"].is_null(), "{path:#}");
        let unknown = path["unknown"].as_array().unwrap();
        let told = |one: &serde_json::Value| one["why"].as_str().unwrap().contains("answered none of");
        assert!(unknown.iter().any(told), "{path:#}");
    }
}

#[test]
fn a_host_that_answers_ping_alone_tells_both_ways() {
    let Some(lab) = Lab::new("foreign_ping_alone") else { return };
    lab.route(Node::R1, "2::", "12::2", Some(1400));
    lab.route(Node::R2, "1::", "12::1", Some(1300));
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nmeta l4proto { udp, tcp } drop\n}\n}\n",
    );
    for family in Family::BOTH {
        let words = ["mtu", Node::S.address(family), "--json"];
        let run = lab.run(Node::C, Who::Root, &words).code(0).json();
        let path = &run["summary"]["path"];
        assert_eq!((&path["method"], &path["up"]["path_mtu"]), (&"icmp".into(), &1400.into()), "{path:#}");
        assert_eq!(path["down"]["path_mtu"], 1300, "{path:#}");
    }
}
