//! Cases A, B, F, F2, G and G2: links and routes that are too small, and whether they say so.

use super::judge::About::{Back, Both, There};
use super::judge::{OneWay, Wanted, each_family, found, judge, measured_path};
use super::lab::{Family, Lab, Node, Who};

#[test]
fn a_clean_path_is_found_clean() {
    let Some(lab) = Lab::new("a_clean_path_is_found_clean") else { return };
    judge(&lab, |family| {
        let mss = if family == Family::V4 { 1460 } else { 1440 };
        let direction = OneWay::clean(1500).mss(mss, mss);
        Some(Wanted::new(direction.clone(), direction, &[]))
    });
}

#[test]
fn case_a_a_smaller_link_that_is_reported() {
    let Some(lab) = Lab::new("case_a") else { return };
    lab.middle(1400);
    judge(&lab, |_| {
        let there = OneWay::clean(1500).one_way_by(1400, Node::R1);
        let back = OneWay::clean(1500).one_way_by(1400, Node::R2);
        Some(Wanted::new(there, back, &[("mtu-reduced", There), ("mtu-reduced", Back)]))
    });
}

#[test]
fn case_b_a_smaller_link_that_is_not_reported() {
    let Some(lab) = Lab::new("case_b") else { return };
    lab.middle(1400);
    lab.silence();
    judge(&lab, |_| {
        let there = OneWay::clean(1500).silent(1400, Node::R1, "icmp_filtered");
        let back = OneWay::clean(1500).silent(1400, Node::R2, "icmp_filtered");
        Some(Wanted::new(there, back, &[("mtu-black-hole", There), ("mtu-black-hole", Back)]))
    });
}

#[test]
fn a_black_hole_of_any_size_is_found_to_the_byte() {
    black_holes("a_black_hole_of_any_size", &[1499, 1372]);
}

#[test]
fn a_black_hole_of_pppoe_is_found_to_the_byte() {
    black_holes("a_black_hole_of_pppoe", &[1493, 1281]);
}

#[test]
fn a_black_hole_of_what_ipv6_needs_is_found_to_the_byte() {
    black_holes("a_black_hole_of_what_ipv6_needs", &[1280]);
}

fn black_holes(test: &str, sizes: &[u32]) {
    let Some(lab) = Lab::new(test) else { return };
    lab.silence();
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for mtu in sizes {
        lab.middle(*mtu);
        for run in each_family(|family| measured_path(&lab, family, &[])) {
            for direction in ["up", "down"] {
                let direction = &run["summary"]["path"][direction];
                assert_eq!(
                    (&direction["path_mtu"], &direction["bound"]),
                    (&(*mtu).into(), &"exact".into()),
                    "{direction:#}"
                );
                assert_eq!(direction["black_hole"]["first"], mtu + 1, "{direction:#}");
            }
        }
    }
}

#[test]
fn a_black_hole_of_less_than_ipv6_needs_is_found_to_the_byte() {
    let Some(lab) = Lab::new("a_black_hole_of_less") else { return };
    lab.silence();
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for mtu in [1279, 600, 577] {
        lab.middle(mtu);
        let run = measured_path(&lab, Family::V4, &[]);
        assert_eq!(run["summary"]["path"]["up"]["path_mtu"], mtu, "{run:#}");
        assert_eq!(run["summary"]["path"]["down"]["path_mtu"], mtu, "{run:#}");
    }
}

#[test]
fn case_f_two_directions_that_differ() {
    let Some(lab) = Lab::new("case_f") else { return };
    lab.route(Node::R1, "2::", "12::2", Some(1400));
    lab.route(Node::R2, "1::", "12::1", Some(1300));
    judge(&lab, |_| {
        let there = OneWay::clean(1500).one_way_by(1400, Node::R1);
        let back = OneWay::clean(1500).one_way_by(1300, Node::R2);
        let findings = [("mtu-reduced", There), ("mtu-reduced", Back), ("mtu-asymmetric", Both)];
        Some(Wanted::new(there, back, &findings))
    });
}

#[test]
fn one_direction_alone_is_smaller() {
    let Some(lab) = Lab::new("one_direction_alone_is_smaller") else { return };
    lab.route(Node::R2, "1::", "12::1", Some(1400));
    judge(&lab, |_| {
        let back = OneWay::clean(1500).one_way_by(1400, Node::R2);
        Some(Wanted::new(OneWay::clean(1500), back, &[("mtu-reduced", Back), ("mtu-asymmetric", Both)]))
    });
}

#[test]
fn case_f2_two_ends_of_a_link_that_disagree() {
    let Some(lab) = Lab::new("case_f2") else { return };
    lab.plain_links();
    lab.mtu(Node::R2, "near", 1400);
    judge(&lab, |family| {
        // A VLAN tag's 4 bytes are let in on top.
        let there =
            OneWay::clean(1500).silent(1404, Node::R1, "link_mismatch").delivery("pass", by_kernel(family));
        let back = OneWay::clean(1500).one_way_by(1400, Node::R2);
        let findings = [("mtu-black-hole", There), ("mtu-reduced", Back), ("mtu-asymmetric", Both)];
        Some(Wanted::new(there, back, &findings))
    });
}

#[test]
fn case_g_jumbo_frames() {
    let Some(lab) = Lab::new("case_g") else { return };
    lab.every(9000);
    judge(&lab, |_| Some(Wanted::clean(9000)));
    lab.middle(1500);
    judge(&lab, |_| {
        let there = OneWay::clean(9000).one_way_by(1500, Node::R1);
        let back = OneWay::clean(9000).one_way_by(1500, Node::R2);
        Some(Wanted::new(there, back, &[("mtu-reduced", There), ("mtu-reduced", Back)]))
    });
}

#[test]
fn case_g2_a_switch_that_takes_less_than_its_hosts() {
    let Some(lab) = Lab::new("case_g2") else { return };
    lab.every(9000);
    lab.plain_links();
    lab.switch(9000, 1500);
    judge(&lab, |family| {
        let there =
            OneWay::clean(9000).silent(1504, Node::R1, "link_mismatch").delivery("pass", by_kernel(family));
        let back =
            OneWay::clean(9000).silent(1504, Node::R2, "link_mismatch").delivery("pass", by_kernel(family));
        Some(Wanted::new(there, back, &[("mtu-black-hole", There), ("mtu-black-hole", Back)]))
    });
}

#[test]
fn the_least_of_ipv6() {
    let Some(lab) = Lab::new("the_least_of_ipv6") else { return };
    lab.middle(1280);
    judge(&lab, |_| {
        let there = OneWay::clean(1500).one_way_by(1280, Node::R1);
        let back = OneWay::clean(1500).one_way_by(1280, Node::R2);
        Some(Wanted::new(there, back, &[("mtu-reduced", There), ("mtu-reduced", Back)]))
    });
    lab.every(1280);
    judge(&lab, |_| Some(Wanted::clean(1280)));
}

#[test]
fn what_the_kernel_remembers_is_reported_and_not_believed() {
    let Some(lab) = Lab::new("what_the_kernel_remembers") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    for family in Family::BOTH {
        lab.middle(1400);
        let line = format!("ping -n -M do -c 1 -W 1 -s 1440 {}", Node::S.address(family));
        lab.try_sh(Node::C, &line);
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["cached_mtu"], &up["path_mtu"]), (&1400.into(), &1400.into()), "{up:#}");
        assert_eq!(up["discovery"], "works", "probes bypass what the kernel believes: {up:#}");
        lab.middle(1500);
        let run = measured_path(&lab, family, &[]);
        let up = &run["summary"]["path"]["up"];
        assert_eq!((&up["cached_mtu"], &up["path_mtu"]), (&1400.into(), &1500.into()), "{up:#}");
        let found = found(&run);
        assert!(found.contains(&("stale-path-mtu".to_owned(), "up".to_owned())), "{found:?}");
        lab.forget();
    }
}

/// What an unprivileged sender can know of fragments where large packets vanish: IPv4's pieces are as large as its
/// interface takes, and that they are lost shows nothing about fragments; IPv6's may be small.
fn by_kernel(family: Family) -> &'static str {
    if family == Family::V4 { "unknown" } else { "pass" }
}
