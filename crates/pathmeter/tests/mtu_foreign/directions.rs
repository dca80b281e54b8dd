//! The results of answers for each case of the reference's lab.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

/// What a path is like.
#[derive(Clone, Copy)]
struct Path {
    /// Largest packet there.
    up: u32,
    /// The same back.
    down: u32,
    discovery: &'static str,
    /// Whether the first router is named as the one that limits.
    hop: bool,
    /// The largest that this host sends.
    interface: u32,
    /// Delivery of fragments there.
    delivery: &'static str,
}

const CLEAN: Path =
    Path { up: 1500, down: 1500, discovery: "not_needed", hop: false, interface: 1500, delivery: "pass" };
const LIMITED: Path = Path { up: 1400, down: 1400, discovery: "works", hop: true, ..CLEAN };

#[test]
fn a_clean_path_carries_what_the_interface_sends() {
    let Some(lab) = lab("foreign_clean") else { return };
    judge(&lab, CLEAN);
}

#[test]
fn case_a_routers_report_the_path_mtu() {
    let Some(lab) = lab("foreign_case_a") else { return };
    lab.middle(1400);
    judge(&lab, LIMITED);
    for method in ["icmp", "udp"] {
        for family in Family::BOTH {
            lab.forget();
            let run = measured_path(&lab, family, Who::Root, &["--protocol", method]);
            let path = &run["summary"]["path"];
            assert_eq!(
                (&path["method"], &path["up"]["path_mtu"]),
                (&method.into(), &1400.into()),
                "{path:#}"
            );
        }
    }
}

#[test]
fn case_b_a_black_hole_is_found_and_so_is_its_hop() {
    let Some(lab) = lab("foreign_case_b") else { return };
    lab.middle(1400);
    lab.silence();
    judge(&lab, Path { discovery: "silent", ..LIMITED });
}

#[test]
fn case_c_fragments_that_are_dropped_are_reported() {
    let Some(lab) = lab("foreign_case_c") else { return };
    lab.forward(Node::R1, "ip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop");
    judge(&lab, Path { delivery: "dropped", ..CLEAN });
}

#[test]
fn case_e_a_clamped_mss_is_reported_as_it_arrives() {
    let Some(lab) = lab("foreign_case_e") else { return };
    lab.forward(Node::R1, "tcp flags & (syn | ack) == syn | ack tcp option maxseg size set 1338");
    let _server = lab.serve(Node::S, Who::Unprivileged, &[]);
    for (family, sent) in [(Family::V4, 1460), (Family::V6, 1440)] {
        let run = measured_path(&lab, family, Who::Unprivileged, &["--protocol", "tcp", "--port", "5210"]);
        let path = &run["summary"]["path"];
        assert_eq!(path["up"]["tcp"]["mss_sent"], sent, "{path:#}");
        assert_eq!(path["down"]["tcp"]["mss_received"], 1338, "{path:#}");
        assert!(path["up"]["path_mtu"].is_null(), "TCP alone does not show it: {path:#}");
    }
}

#[test]
fn case_f_each_path_has_its_own() {
    for silent in [false, true] {
        let Some(lab) = lab("foreign_case_f") else { return };
        lab.route(Node::R1, "2::", "12::2", Some(1400));
        lab.route(Node::R2, "1::", "12::1", Some(1300));
        if silent {
            lab.silence();
        }
        let discovery = if silent { "silent" } else { "works" };
        judge(&lab, Path { down: 1300, discovery, ..LIMITED });
    }
}

#[test]
fn a_silent_return_path_is_not_taken_for_the_forward_path() {
    let Some(lab) = lab("a_silent_return_path") else { return };
    lab.route(Node::R2, "1::", "12::1", Some(1400));
    lab.silence();
    for args in [&["--protocol", "icmp"][..], &[]] {
        let run =
            lab.run(Node::C, Who::Root, &[&["mtu", Node::S.address(Family::V6), "--json"], args].concat());
        let run = run.code(0).json();
        let path = &run["summary"]["path"];
        assert_ne!(
            path["up"]["bound"].as_str().zip(path["up"]["path_mtu"].as_u64()),
            Some(("exact", 1400)),
            "{path:#}"
        );
        assert_eq!(path["up"]["black_hole"], Value::Null, "{path:#}");
        let hole = &path["echo_hole"];
        assert_eq!((&hole["first"], &hole["last"]), (&1401.into(), &1500.into()), "{path:#}");
        let findings = run["findings"].as_array().unwrap();
        let about = |id: &str| findings.iter().find(|finding| finding["id"] == id);
        let hole = about("mtu-black-hole").unwrap();
        assert_ne!(hole["direction"], "up", "{hole:#}");
        assert!(!run.to_string().contains("ip link set dev eth0 mtu 1400"), "{findings:#?}");
        assert_ne!(run["verdict"]["status"], "ok", "{:#}", run["verdict"]);
    }
}

/// A host that answers no large echo requests carries large packets all the same.
#[test]
fn an_echo_filter_is_no_limit_of_the_path() {
    let Some(lab) = lab("foreign_echo_filter") else { return };
    lab.nft(
        Node::S,
        "table inet short {\nchain arriving {\ntype filter hook input priority 0;\nicmp type echo-request meta length > 500 drop\n\
         icmpv6 type echo-request meta length > 500 drop\n}\n}\n",
    );
    for family in Family::BOTH {
        for args in [&[][..], &["--protocol", "icmp"]] {
            let run = measured_path(&lab, family, Who::Root, args);
            let path = &run["summary"]["path"];
            for name in ["up", "down"] {
                let direction = &path[name];
                assert!(direction["path_mtu"] == 1500 || direction["bound"] != "exact", "{name}: {path:#}");
            }
            // Datagrams to a closed port show that packets so large arrive; echo alone does not.
            let id = if args.is_empty() { "echo-filtered" } else { "mtu-black-hole" };
            let about = |id: &str| run["findings"].as_array().unwrap().iter().find(|one| one["id"] == id);
            let advice = about(id).unwrap_or_else(|| panic!("{path:#}"))["advice"].as_str().unwrap();
            assert!(!args.is_empty() || about("mtu-black-hole").is_none(), "{path:#}");
            assert!(advice.contains("a filter of large echo requests is likely"), "{advice}");
            let settings: Vec<_> =
                run["advice"].as_array().into_iter().flatten().map(|one| &one["value"]).collect();
            assert!(settings.iter().all(|value| value.as_u64() >= Some(1200)), "{settings:?}");
        }
    }
}

#[test]
fn case_g_jumbo_frames() {
    let Some(lab) = lab("foreign_case_g") else { return };
    lab.every(9000);
    judge(&lab, Path { up: 9000, down: 9000, interface: 9000, ..CLEAN });
    lab.middle(1500);
    judge(&lab, Path { up: 1500, down: 1500, interface: 9000, ..LIMITED });
}

#[test]
fn a_host_that_limits_its_messages_is_understood() {
    let Some(lab) = Lab::new("foreign_rationed") else { return };
    lab.middle(1400);
    lab.silence();
    for family in Family::BOTH {
        let run = measured_path(&lab, family, Who::Unprivileged, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["bound"]), (&1400.into(), &"exact".into()), "{up:#}");
    }
}

#[test]
fn loopback_has_no_larger_packet() {
    let Some(lab) = Lab::new("foreign_loopback") else { return };
    for (host, mtu) in [("127.0.0.1", 65_535), ("::1", 65_536)] {
        let run = lab.run(Node::C, Who::Root, &["mtu", host, "--json"]).code(0).json();
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["path_mtu"], &up["bound"]), (&mtu.into(), &"exact".into()), "{up:#}");
    }
}

/// A lab whose hosts say of every datagram that its port is closed.
fn lab(test: &str) -> Option<Lab> {
    let lab = Lab::new(test)?;
    for node in [Node::R1, Node::R2, Node::S] {
        lab.sysctl(node, "net/ipv4/icmp_ratelimit", "0");
        lab.sysctl(node, "net/ipv6/icmp/ratelimit", "0");
    }
    Some(lab)
}

/// The run as root, unprivileged, and unprivileged with the right to ping: all to the byte.
#[track_caller]
fn judge(lab: &Lab, path: Path) {
    for family in Family::BOTH {
        for (who, pings) in [(Who::Root, true), (Who::Unprivileged, false), (Who::Unprivileged, true)] {
            let groups = if pings && who == Who::Unprivileged { "0 65535" } else { "1 0" };
            lab.sysctl(Node::C, "net/ipv4/ping_group_range", groups);
            lab.forget();
            let run = measured_path(lab, family, who, &[]);
            let found = &run["summary"]["path"];
            let about = format!("{family:?} {who:?} pings {pings}: {found:#}");
            assert_up(&found["up"], family, path, &about);
            assert_down(found, pings, family, path, &about);
            assert!(found["packets"].as_u64().unwrap() < 400, "{about}");
        }
    }
}

fn assert_up(up: &Value, family: Family, path: Path, about: &str) {
    assert_eq!((&up["path_mtu"], &up["bound"]), (&path.up.into(), &"exact".into()), "up, {about}");
    assert_eq!(up["max_udp_payload"], path.up - family.headers(), "{about}");
    assert_eq!(up["interface_mtu"], path.interface, "{about}");
    assert_eq!(up["discovery"], path.discovery, "{about}");
    assert_eq!(up["fragments"]["fate"], path.delivery, "up, {about}");
    let hop = &up["limiting_hop"];
    let router = Node::R1.address(family);
    assert_eq!(hop["address"].as_str(), path.hop.then_some(router), "{about}");
    assert!(!path.hop || hop["ttl"] == 1, "{about}");
    let hole = (up["black_hole"]["first"].as_u64(), up["black_hole"]["last"].as_u64());
    let silent = path.discovery == "silent";
    let edges = (Some(u64::from(path.up) + 1), Some(u64::from(path.interface)));
    assert_eq!(hole, if silent { edges } else { (None, None) }, "{about}");
    let cause = if family == Family::V4 { "icmp_filtered" } else { "unknown" };
    assert!(!silent || up["black_hole"]["cause"] == cause, "{about}");
}

/// The return path: by echo alone, and in IPv6 not above what goes there whole unless a router reported it.
fn assert_down(found: &Value, pings: bool, family: Family, path: Path, about: &str) {
    let down = &found["down"];
    let unknown = found["unknown"].as_array().unwrap();
    let is_given = |args: &str| unknown.iter().any(|one| one["why"].as_str().unwrap().contains(args));
    if !pings {
        assert!(down["path_mtu"].is_null() && down["bound"] == "unknown", "{about}");
        assert!(is_given("setcap cap_net_admin,cap_net_raw") && is_given("ping_group_range"), "{about}");
        return;
    }
    assert_eq!(down["path_mtu"], path.down, "down, {about}");
    assert!(!is_given("setcap"), "{about}");
    let hidden = family == Family::V6 && path.discovery == "silent" && path.down == path.up;
    assert_eq!(down["bound"], if hidden { "at_least" } else { "exact" }, "down, {about}");
}

#[track_caller]
fn measured_path(lab: &Lab, family: Family, who: Who, args: &[&str]) -> Value {
    let host = Node::S.address(family);
    lab.run(Node::C, who, &[&["mtu", host, "--json"], args].concat()).json()
}
