//! The loopback, silence, changing paths, expectations, and ends of unequal privilege.

use super::judge::measured_path;
use super::lab::{Family, Lab, Node, Who};
use super::support::{Server, run};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn the_loopback_carries_the_largest_packets_there_are() {
    for (address, largest) in [("127.0.0.1", 65_535), ("::1", 65_536)] {
        let server = Server::at(None, address, &[]);
        let host = SocketAddr::new(address.parse().unwrap(), server.port).to_string();
        let run = run(&["mtu", &host, "--json"]).code(0).json();
        for name in ["up", "down"] {
            let direction = &run["summary"]["path"][name];
            // A UDP datagram is shorter than that over IPv6: its payload has 16 bits for a length, header included.
            let most = largest.min(65_507 + model::path::headers(address == "::1"));
            assert!(
                direction["path_mtu"] == largest || direction["path_mtu"] == most,
                "{name}: {direction:#}"
            );
            assert_eq!(direction["discovery"], "not_needed", "{direction:#}");
        }
        assert_eq!(run["findings"].as_array().unwrap().len(), 0, "{:#}", run["findings"]);
        assert!(run["summary"]["path"]["packets"].as_u64().unwrap() <= 300, "{run:#}");
        server.stop();
    }
}

#[test]
fn a_host_that_answers_nothing_is_reported_to() {
    let Some(lab) = Lab::new("a_host_that_answers_nothing") else { return };
    lab.nft(
        Node::S,
        "table inet deaf {\nchain arriving {\ntype filter hook input priority 0;\n\
         icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept\ndrop\n}\n}\n",
    );
    for family in Family::BOTH {
        for protocol in ["auto", "native"] {
            let host = Node::S.address(family);
            let args = ["mtu", host, "--protocol", protocol, "--connect-timeout", "1s"];
            let ended = lab.run(Node::C, Who::Root, &args).code(3).prints(host);
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        }
    }
}

#[test]
fn expectations_decide_the_exit_code() {
    let Some(lab) = Lab::new("expectations_decide_the_exit_code") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let host = Node::S.address(family);
        for (mtu, expectation, code) in [
            (1500, "up.path_mtu>=1500", 0),
            (1500, "down.path_mtu>=1501", 1),
            (1400, "up.path_mtu>=1500", 1),
            (1400, "down.path_mtu>=1500", 1),
            (1400, "down.path_mtu>=1400", 0),
        ] {
            lab.forget();
            lab.middle(mtu);
            lab.run(Node::C, Who::Root, &["mtu", host, "--expect", expectation]).code(code);
        }
    }
}

#[test]
fn a_path_that_changes_makes_no_wrong_answer() {
    let Some(lab) = Lab::new("a_path_that_changes") else { return };
    lab.silence();
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for mtu in [1400, 1500].into_iter().cycle() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                lab.middle(mtu);
                std::thread::sleep(Duration::from_millis(70));
            }
        });
        let host = Node::S.address(Family::V4);
        let ended: Vec<_> = (0..3).map(|_| lab.run(Node::C, Who::Root, &["mtu", host, "--json"])).collect();
        over.store(true, Ordering::Relaxed);
        for ended in ended {
            let run = ended.code(0).json();
            for name in ["up", "down"] {
                let direction = &run["summary"]["path"][name];
                let mtu = direction["path_mtu"].as_u64();
                if direction["bound"] == "exact" {
                    assert!(mtu == Some(1400) || mtu == Some(1500), "{name}: {direction:#}");
                }
                assert!(mtu <= Some(1500), "{name}: {direction:#}");
            }
        }
    });
}

#[test]
fn either_end_may_lack_privilege() {
    let Some(lab) = Lab::new("either_end_may_lack_privilege") else { return };
    lab.middle(1400);
    for (client, server) in [(Who::Root, Who::Unprivileged), (Who::Unprivileged, Who::Root)] {
        let serving = lab.serve(Node::S, server, &[]);
        for family in Family::BOTH {
            lab.forget();
            let args = ["mtu", Node::S.address(family), "--json"];
            let run = lab.run(Node::C, client, &args).code(0).json();
            let path = &run["summary"]["path"];
            for name in ["up", "down"] {
                assert_eq!(path[name]["path_mtu"], 1400, "{path:#}");
                assert_eq!(path[name]["discovery"], "works", "{path:#}");
                assert_eq!(path[name]["fragments"]["fate"], "pass", "{path:#}");
            }
            let lacking = if client == Who::Unprivileged { "up" } else { "down" };
            let unknown = path["unknown"].as_array().unwrap();
            let rights = unknown.iter().filter(|one| one["why"].as_str().unwrap().contains("CAP_NET_RAW"));
            let directions: Vec<_> = rights.map(|one| &one["direction"]).collect();
            assert_eq!(directions, [lacking], "{unknown:#?}");
        }
        serving.signal("TERM");
        serving.end().code(0);
    }
}

#[test]
fn no_larger_packet_than_asked_for_is_tried() {
    let Some(lab) = Lab::new("no_larger_packet_than_asked_for") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &["--largest", "1400"]);
        for name in ["up", "down"] {
            let direction = &run["summary"]["path"][name];
            assert_eq!(
                (&direction["path_mtu"], &direction["bound"]),
                (&1400.into(), &"at_least".into()),
                "{direction:#}"
            );
            let sizes = direction["sizes"].as_array().unwrap();
            assert!(sizes.iter().all(|size| size["size"].as_u64() <= Some(1400)), "{direction:#}");
        }
    }
}
