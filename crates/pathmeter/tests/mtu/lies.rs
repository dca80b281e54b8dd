//! Messages of routers that lie, are about something else, or are rationed: they never make a wrong answer.

use super::helper::{self, LIARS_HOPS};
use super::judge::{found, measured_path};
use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

#[test]
fn a_lie_about_our_probes_on_a_clean_path_is_no_answer() {
    let Some(lab) = Lab::new("a_lie_about_our_probes_on_a_clean_path") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let _liar = liar(&lab, family, 1300, 1300, 0);
        for who in [Who::Root, Who::Unprivileged] {
            lab.forget();
            let args = ["mtu", Node::S.address(family), "--json"];
            let run = lab.run(Node::C, who, &args).code(0).json();
            assert_path(&run, 1500);
            let up = &run["summary"]["path"]["up"];
            assert_eq!(up["discovery"], "lies", "{who:?} {family:?}: {up:#}");
            let wrong = ("mtu-discovery-wrong".to_owned(), "up".to_owned());
            assert_eq!(found(&run), [wrong], "{who:?} {family:?}: {:#}\n{:#}", run["findings"], up);
        }
    }
}

#[test]
fn a_lie_about_a_smaller_link_is_reported_as_one() {
    let Some(lab) = Lab::new("a_lie_about_a_smaller_link") else { return };
    lab.middle(1400);
    silence_but_for_liars(&lab);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        // Less than crosses; more than does; and nothing, as routers before RFC 1191 do.
        for reported in [1300, 1450, 0] {
            lab.forget();
            let _liar = liar(&lab, family, reported.max(1400), reported, 0);
            let run = measured_path(&lab, family, &[]);
            assert_path(&run, 1400);
            let up = &run["summary"]["path"]["up"];
            assert_eq!(up["discovery"], "lies", "{family:?} {reported}: {up:#}");
            let router = Node::R1.address(family);
            let reports = up["too_big"].as_array().unwrap();
            assert!(reports.iter().all(|one| one["mtu"] == reported && one["from"] == router), "{up:#}");
            let wrong = ("mtu-discovery-wrong".to_owned(), "up".to_owned());
            assert!(found(&run).contains(&wrong), "{:#}", run["findings"]);
        }
    }
}

#[test]
fn what_is_reported_of_another_flow_is_not_heard() {
    let Some(lab) = Lab::new("what_is_reported_of_another_flow") else { return };
    lab.middle(1400);
    silence_but_for_liars(&lab);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let _liar = liar(&lab, family, 1300, 1300, 1);
        let run = measured_path(&lab, family, &[]);
        assert_path(&run, 1400);
        let up = &run["summary"]["path"]["up"];
        assert_eq!(up["discovery"], "silent", "{family:?}: {up:#}");
        assert_eq!(up["too_big"], Value::Array(Vec::new()), "{family:?}");
    }
}

#[test]
fn rationed_messages_are_enough() {
    let Some(lab) = Lab::new("rationed_messages_are_enough") else { return };
    lab.middle(1400);
    for router in [Node::R1, Node::R2] {
        lab.nft(
            router,
            "table inet ration {\nchain leaving {\ntype filter hook output priority 0;\n\
             icmp type destination-unreachable limit rate 1/second burst 1 packets accept\n\
             icmp type destination-unreachable drop\n\
             icmpv6 type packet-too-big limit rate 1/second burst 1 packets accept\n\
             icmpv6 type packet-too-big drop\n}\n}\n",
        );
    }
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &[]);
        assert_path(&run, 1400);
        for direction in ["up", "down"] {
            let direction = &run["summary"]["path"][direction];
            assert_eq!(direction["discovery"], "works", "{family:?}: {direction:#}");
        }
    }
}

fn liar(lab: &Lab, family: Family, above: u32, reported: u32, shift: u16) -> super::support::Running {
    let (peer, own) = (Node::C.address(family), Node::R1.address(family));
    helper::start(lab, Node::R1, &format!("liar near {peer} {own} {above} {reported} {shift}"))
}

fn silence_but_for_liars(lab: &Lab) {
    for router in [Node::R1, Node::R2] {
        lab.nft(
            router,
            &format!(
                "table inet silence {{\nchain leaving {{\ntype filter hook output priority 0;\n\
                 icmp type destination-unreachable icmp code 4 ip ttl != {LIARS_HOPS} drop\n\
                 icmpv6 type packet-too-big ip6 hoplimit != {LIARS_HOPS} drop\n}}\n}}\n"
            ),
        );
    }
}

/// Each direction carries this, exactly.
#[track_caller]
fn assert_path(run: &Value, mtu: u32) {
    for name in ["up", "down"] {
        let direction = &run["summary"]["path"][name];
        assert_eq!(
            (&direction["path_mtu"], &direction["bound"]),
            (&mtu.into(), &"exact".into()),
            "{name}: {run:#}"
        );
    }
}
