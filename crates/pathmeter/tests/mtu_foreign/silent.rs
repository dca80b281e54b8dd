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
            let args = ["mtu", Node::S.address(family)];
            let ended = lab.run(Node::C, who, &args).code(3);
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
        let args = ["mtu", Node::S.address(family), "--json"];
        let run = lab.run(Node::C, Who::Root, &args).code(0).json();
        let path = &run["summary"]["path"];
        assert_eq!((&path["method"], &path["up"]["path_mtu"]), (&"udp".into(), &1400.into()), "{path:#}");
        assert!(path["down"]["path_mtu"].is_null(), "{path:#}");
        let unknown = path["unknown"].as_array().unwrap();
        let reported = |one: &serde_json::Value| one["why"].as_str().unwrap().contains("answered none of");
        assert!(unknown.iter().any(reported), "{path:#}");
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
        let args = ["mtu", Node::S.address(family), "--json"];
        let run = lab.run(Node::C, Who::Root, &args).code(0).json();
        let path = &run["summary"]["path"];
        assert_eq!((&path["method"], &path["up"]["path_mtu"]), (&"icmp".into(), &1400.into()), "{path:#}");
        assert_eq!(path["down"]["path_mtu"], 1300, "{path:#}");
    }
}

#[test]
fn silence_is_waited_for_in_all_ways_at_once() {
    let Some(lab) = Lab::new("foreign_at_once") else { return };
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nmeta l4proto { icmp, udp, tcp } drop\n}\n}\n",
    );
    // The kernel repeats a SYN after a second. What is asked before that is not behind what TCP waits for. Whether a pathmeter is
    // there is asked before all of it.
    lab.nft(
        Node::R1,
        "table ip order {\nset seen {\ntypeof tcp sport . tcp dport; flags dynamic\n}\nset repeated {\ntype mark; flags dynamic\n}\n\
         chain passing {\ntype filter hook forward priority 0;\n\
         tcp dport != 5210 tcp flags & (syn | ack) == syn tcp sport . tcp dport @seen add @repeated { meta mark }\n\
         tcp dport != 5210 tcp flags & (syn | ack) == syn add @seen { tcp sport . tcp dport }\n\
         meta l4proto udp meta mark != @repeated counter comment \"udp\"\n\
         icmp type echo-request meta mark != @repeated counter comment \"echo\"\n\
         meta l4proto tcp meta mark @repeated counter comment \"late\"\n}\n}\n",
    );
    lab.run(Node::C, Who::Root, &["mtu", Node::S.address(Family::V4)]).code(3).says("answers nothing");
    let rules = lab.sh(Node::R1, "nft list table ip order");
    let counted = |name: &str| -> u64 {
        let line = rules.lines().find(|line| line.contains(&format!("comment \"{name}\""))).unwrap();
        line.split("counter packets ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(counted("late") > 0, "SYNs were repeated, so the order is known: {rules}");
    assert!(counted("udp") > 0 && counted("echo") > 0, "asked before a SYN was repeated: {rules}");
}
