//! Paths that lose packets of every size: more is sent, and no loss is taken for a limit.

use super::judge::{found, measured_path};
use super::lab::{Family, Lab, Node, Who};

#[test]
fn a_tenth_lost_changes_no_answer() {
    let Some(lab) = Lab::new("a_tenth_lost_changes_no_answer") else { return };
    lab.silence();
    lab.forward(Node::R1, "meta l4proto udp numgen inc mod 10 == 0 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for mtu in [1500, 1400] {
        lab.middle(mtu);
        for family in Family::BOTH {
            let run = measured_path(&lab, family, &[]);
            for name in ["up", "down"] {
                let direction = &run["summary"]["path"][name];
                assert_eq!(
                    (&direction["path_mtu"], &direction["bound"]),
                    (&mtu.into(), &"exact".into()),
                    "{direction:#}"
                );
                assert_eq!(direction["fragments"]["fate"], "pass", "{family:?} {mtu}: {direction:#}");
                assert_eq!(direction["changed"], false, "{direction:#}");
            }
            let hole = |direction: &str| ("mtu-black-hole".to_owned(), direction.to_owned());
            let expected = if mtu == 1400 { vec![hole("down"), hole("up")] } else { Vec::new() };
            assert_eq!(found(&run), expected, "{family:?}: {:#}", run["findings"]);
        }
    }
}

#[test]
fn large_packets_that_are_lost_more_often_are_reported() {
    let Some(lab) = Lab::new("large_packets_that_are_lost_oftener") else { return };
    lab.forward(Node::R1, "iifname near meta l4proto udp meta length > 1400 numgen inc mod 4 == 0 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        let run = measured_path(&lab, family, &[]);
        let path = &run["summary"]["path"];
        for name in ["up", "down"] {
            let direction = &path[name];
            assert_eq!(
                (&direction["path_mtu"], &direction["bound"]),
                (&1500.into(), &"exact".into()),
                "{direction:#}"
            );
        }
        let loss = &path["up"]["size_dependent_loss"];
        assert!(loss["large"].as_f64() > loss["small"].as_f64(), "{family:?}: {:#}", path["up"]);
        assert!(path["down"]["size_dependent_loss"].is_null(), "{family:?}: {:#}", path["down"]);
        let reported = ("size-dependent-loss".to_owned(), "up".to_owned());
        assert!(found(&run).contains(&reported), "{family:?}: {:#}", run["findings"]);
    }
}

#[test]
fn a_third_lost_makes_no_wrong_answer() {
    let Some(lab) = Lab::new("a_third_lost_makes_no_wrong_answer") else { return };
    lab.silence();
    // Small ones open the session.
    lab.forward(Node::R1, "meta l4proto udp meta length > 200 numgen random mod 3 == 0 drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for mtu in [1500, 1400] {
        lab.middle(mtu);
        for family in Family::BOTH {
            let run = measured_path(&lab, family, &[]);
            for name in ["up", "down"] {
                let direction = &run["summary"]["path"][name];
                let found = direction["path_mtu"].as_u64();
                match direction["bound"].as_str() {
                    Some("exact") => assert_eq!(found, Some(mtu.into()), "{family:?} {name}: {direction:#}"),
                    Some("at_least") => {
                        assert!(found <= Some(mtu.into()), "{family:?} {name}: {direction:#}")
                    }
                    bound => assert_eq!((bound, found), (Some("unknown"), None), "{direction:#}"),
                }
                assert!(mtu == 1400 || direction["black_hole"].is_null(), "{family:?} {name}: {direction:#}");
            }
        }
    }
}
