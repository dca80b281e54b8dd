//! Case E: boxes that change TCP's MSS.

use super::judge::About::{Back, There};
use super::judge::{OneWay, Wanted, judge};
use super::lab::{Family, Lab, Node};

fn own(family: Family) -> u32 {
    if family == Family::V4 { 1460 } else { 1440 }
}

#[test]
fn case_e_the_mss_is_clamped_both_directions() {
    let Some(lab) = Lab::new("case_e") else { return };
    lab.forward(Node::R1, "tcp flags syn tcp option maxseg size set 1338");
    judge(&lab, |family| {
        let direction = OneWay::clean(1500).mss(own(family), 1338);
        Some(Wanted::new(direction.clone(), direction, &[("mss-clamped", There), ("mss-clamped", Back)]))
    });
}

#[test]
fn the_mss_is_clamped_in_one_direction_alone() {
    let Some(lab) = Lab::new("the_mss_is_clamped_in_one_direction") else { return };
    lab.forward(Node::R1, "iifname near tcp flags syn tcp option maxseg size set 1338");
    judge(&lab, |family| {
        let there = OneWay::clean(1500).mss(own(family), 1338);
        let back = OneWay::clean(1500).mss(own(family), own(family));
        Some(Wanted::new(there, back, &[("mss-clamped", There)]))
    });
}
