//! The lab is what it says: ping(8) finds each fault where it was put, and the recorded pings say what our arithmetic says.

use super::lab::{Family, Lab, Node};
use std::path::Path;

#[test]
fn pings_cross_the_clean_lab() {
    let Some(lab) = Lab::new("pings_cross_the_clean_lab") else { return };
    for family in Family::BOTH {
        assert!(crosses(&lab, Node::C, family, 1500), "{family:?}");
        assert!(crosses(&lab, Node::S, family, 1500), "{family:?}");
        assert!(!crosses(&lab, Node::C, family, 1501), "{family:?}: more than the interface takes");
    }
}

#[test]
fn a_smaller_link_is_told_of_and_a_silent_one_is_not() {
    let Some(lab) = Lab::new("a_smaller_link_is_told_of") else { return };
    lab.middle(1400);
    for family in Family::BOTH {
        for (from, told) in [(Node::C, Node::R1), (Node::S, Node::R2)] {
            assert!(crosses(&lab, from, family, 1400));
            let said = ping(&lab, from, family, 1500);
            assert!(said.contains(told.address(family)) && said.contains("1400"), "{family:?}: {said}");
        }
    }
    lab.forget();
    lab.silence();
    for family in Family::BOTH {
        let said = ping(&lab, Node::C, family, 1401);
        assert!(said.contains("100% packet loss") && !said.contains("mtu"), "{family:?}: {said}");
        assert!(crosses(&lab, Node::C, family, 1400));
    }
}

#[test]
fn routes_with_an_mtu_limit_each_direction_apart() {
    let Some(lab) = Lab::new("routes_with_an_mtu_limit_each_direction_apart") else { return };
    lab.route(Node::R1, "2::", "12::2", Some(1400));
    lab.route(Node::R2, "1::", "12::1", Some(1300));
    for family in Family::BOTH {
        let (up, down) = (ping(&lab, Node::C, family, 1500), ping(&lab, Node::S, family, 1500));
        assert!(up.contains("1400"), "{family:?}: {up}");
        assert!(down.contains("1300"), "{family:?}: {down}");
    }
    lab.forget();
    assert!(crosses(&lab, Node::C, Family::V4, 1400), "the reply is cut on its way");
}

#[test]
fn two_ends_of_a_link_that_disagree_lose_packets_without_a_word() {
    let Some(lab) = Lab::new("two_ends_of_a_link_that_disagree") else { return };
    lab.plain_links();
    lab.mtu(Node::R2, "near", 1400);
    for family in Family::BOTH {
        // A VLAN tag's 4 bytes are let in on top.
        let said = ping(&lab, Node::C, family, 1405);
        assert!(said.contains("100% packet loss") && !said.contains("mtu"), "{family:?}: {said}");
    }
    // The replies to these are cut.
    assert!(crosses(&lab, Node::C, Family::V4, 1404));
}

#[test]
fn recorded_pings_say_what_the_arithmetic_says() {
    for (mtu, passes) in [(1430, 1402), (1500, 1472)] {
        assert_eq!(mtu - model::path::headers(false), passes, "ICMP's header is as long as UDP's");
        for (payload, crosses) in [(passes, true), (passes + 1, false)] {
            let name = format!("ping-do-{payload}-mtu{mtu}.txt");
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/import/outputs");
            let text = std::fs::read_to_string(folder.join(&name)).expect("a recorded output");
            let packet = payload + model::path::headers(false);
            assert!(text.contains(&format!("{payload}({packet}) bytes of data")), "{name}");
            assert_eq!(packet <= mtu, crosses, "{name}");
            assert_eq!(text.contains("4 received"), crosses, "{name}");
            assert_eq!(text.contains("Message too long"), !crosses, "{name}");
        }
    }
}

/// Whether an echo of this size, whole packet, comes back to this end from the other.
fn crosses(lab: &Lab, from: Node, family: Family, size: u32) -> bool {
    ping(lab, from, family, size).contains(" 1 received")
}

fn ping(lab: &Lab, from: Node, family: Family, size: u32) -> String {
    let to = if from == Node::C { Node::S } else { Node::C };
    let line = format!("ping -n -M do -c 1 -W 1 -s {} {} 2>&1", size - family.headers(), to.address(family));
    String::from_utf8_lossy(&lab.try_sh(from, &line).stdout).into_owned()
}
