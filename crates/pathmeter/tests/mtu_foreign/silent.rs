//! Hosts that answer little or nothing.

use super::lab::{Family, Lab, Node, Who};

#[test]
fn a_host_that_answers_nothing_is_unreachable_and_what_was_tried_is_reported() {
    let Some(lab) = Lab::new("foreign_silent") else { return };
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nicmpv6 type { nd-neighbor-solicit, \
         nd-neighbor-advert } accept\nmeta l4proto { icmp, ipv6-icmp, udp, tcp } drop\n}\n}\n",
    );
    for family in Family::BOTH {
        for who in [Who::Root, Who::Unprivileged] {
            let args = ["mtu", Node::S.address(family)];
            let ended = lab.run(Node::C, who, &args).code(3);
            ended
                .prints("answers nothing")
                .prints("UDP to port")
                .prints("ICMP echo")
                .prints("TCP to ports 443, 80 and 22");
        }
    }
}

#[test]
fn a_path_of_86_bytes_is_found_to_the_byte() {
    let Some(lab) = Lab::new("foreign_86") else { return };
    lab.forward(Node::R1, "iifname near meta length > 86 drop");
    // Its greeting does not fit either.
    let _server = lab.serve(Node::S, Who::Unprivileged, &[]);
    for args in [&["--protocol", "icmp"][..], &[]] {
        let args = [&["mtu", Node::S.address(Family::V4), "--json"], args].concat();
        let run = lab.run(Node::C, Who::Root, &args).code(0).json();
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["black_hole"]["first"]), (&86.into(), &87.into()), "{up:#}");
    }
}

/// The kernel makes no fragments of less than 1280 bytes, the least MTU of IPv6.
#[test]
fn a_path_of_less_than_ipv6_needs_is_no_internal_error() {
    let Some(lab) = Lab::new("foreign_1000") else { return };
    lab.forward(Node::R1, "iifname near meta length > 1000 drop");
    for who in [Who::Root, Who::Unprivileged] {
        let run = lab.run(Node::C, who, &["mtu", Node::S.address(Family::V6), "--json"]).code(0).json();
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["black_hole"]["first"]), (&1000.into(), &1001.into()), "{up:#}");
    }
}

/// Some hosts answer large echo requests with short replies, which show that the requests arrive.
#[test]
fn replies_that_are_cut_short_show_the_forward_path_alone() {
    let test = "foreign_cut_replies";
    if std::process::Command::new("python3").arg("-V").output().is_err() {
        return super::support::skip(test, "it needs python3");
    }
    let Some(lab) = Lab::new(test) else { return };
    lab.sysctl(Node::S, "net/ipv4/icmp_echo_ignore_all", "1");
    lab.nft(
        Node::S,
        "table ip quiet {\nchain coming {\ntype filter hook input priority 0;\nip protocol udp drop\n}\n}\n",
    );
    lab.forward(Node::R1, "iifname near meta length > 1400 drop");
    let ns = lab.ns(Node::S);
    let mut echo = std::process::Command::new("ip");
    echo.args(["netns", "exec", &ns, "python3", "-c", CUTS_REPLIES]);
    let mut responder = echo.spawn().unwrap();
    lab.sh(
        Node::C,
        &format!(
            "for i in $(seq 50); do ping -c 1 -W 1 {} && exit 0; done; exit 1",
            Node::S.address(Family::V4)
        ),
    );
    let args = ["mtu", Node::S.address(Family::V4), "--protocol", "icmp", "--json"];
    let ended = lab.run(Node::C, Who::Root, &args);
    responder.kill().unwrap();
    responder.wait().unwrap();
    let run = ended.code(0).json();
    let path = &run["summary"]["path"];
    assert_eq!((&path["up"]["path_mtu"], &path["up"]["bound"]), (&1400.into(), &"exact".into()), "{path:#}");
    assert_eq!(path["down"]["path_mtu"], serde_json::Value::Null, "{path:#}");
    assert!(path["unknown"].to_string().contains("cuts its echo replies to 96 bytes"), "{path:#}");
}

/// Answers echo requests with 68 bytes of their payload.
const CUTS_REPLIES: &str = "
import socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def checksum(b):
    b += bytes(len(b) % 2)
    t = sum(struct.unpack('!%dH' % (len(b) // 2), b))
    t = (t >> 16) + (t & 65535)
    return ~(t + (t >> 16)) & 65535
while True:
    packet, sender = s.recvfrom(65535)
    echo = packet[(packet[0] & 15) * 4:]
    if echo[0] == 8:
        rest = echo[4:8 + 68]
        s.sendto(bytes(2) + struct.pack('!H', checksum(bytes(4) + rest)) + rest, sender)
";

#[test]
fn a_host_without_ping_shows_the_forward_path() {
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
fn a_host_that_answers_ping_alone_shows_both_directions() {
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
fn silence_is_waited_for_for_all_methods_at_once() {
    let Some(lab) = Lab::new("foreign_at_once") else { return };
    lab.nft(
        Node::S,
        "table inet quiet {\nchain coming {\ntype filter hook input priority 0;\nmeta l4proto { icmp, udp, tcp } drop\n}\n}\n",
    );
    // The kernel repeats a SYN after a second. What is asked before that is not behind what TCP waits for. Whether a pathmeter is
    // there is asked before all of it.
    lab.nft(
        Node::R1,
        "table ip order {\nset first {\ntypeof tcp sport . tcp dport; flags dynamic\n}\nset repeated {\ntype mark; flags dynamic\n}\n\
         chain passing {\ntype filter hook forward priority 0;\n\
         tcp dport != 5210 tcp flags & (syn | ack) == syn tcp sport . tcp dport @first add @repeated { meta mark }\n\
         tcp dport != 5210 tcp flags & (syn | ack) == syn add @first { tcp sport . tcp dport }\n\
         meta l4proto udp meta mark != @repeated counter comment \"udp\"\n\
         icmp type echo-request meta mark != @repeated counter comment \"echo\"\n\
         meta l4proto tcp meta mark @repeated counter comment \"late\"\n}\n}\n",
    );
    lab.run(Node::C, Who::Root, &["mtu", Node::S.address(Family::V4)]).code(3).prints("answers nothing");
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

/// One echo request per second is answered, and nothing else: the size is found all the same, one request after another.
#[test]
fn a_host_that_answers_one_echo_request_per_second_shows_the_size() {
    let Some(lab) = Lab::new("foreign_rationed") else { return };
    lab.nft(
        Node::S,
        "table ip quiet {\nchain coming {\ntype filter hook input priority 0;\nip protocol udp drop\nicmp type echo-request limit \
         rate over 1/second burst 1 packets drop\n}\n}\n",
    );
    lab.forward(Node::R1, "iifname near meta length > 1400 drop");
    let run = lab.run(Node::C, Who::Root, &["mtu", Node::S.address(Family::V4), "--json"]).code(0).json();
    let up = &run["summary"]["path"]["up"];
    assert_eq!((&up["path_mtu"], &up["bound"]), (&1400.into(), &"exact".into()), "{up:#}");
}
