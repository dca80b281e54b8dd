//! Cases C, D, D2, D3 and H: how fragments are handled.

use super::judge::About::{Back, There};
use super::judge::{OneWay, Wanted, judge};
use super::lab::{Family, Lab, Node, Who};

#[test]
fn case_c_all_fragments_are_dropped() {
    let Some(lab) = Lab::new("case_c") else { return };
    lab.forward(Node::R1, "ip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop");
    judge(&lab, |_| {
        let direction = OneWay::clean(1500).delivery("all_dropped", "all_dropped");
        Some(Wanted::new(
            direction.clone(),
            direction,
            &[("fragments-dropped", There), ("fragments-dropped", Back)],
        ))
    });
}

#[test]
fn case_d_all_but_the_first_are_dropped() {
    let Some(lab) = Lab::new("case_d") else { return };
    lab.forward(
        Node::R1,
        "iifname near ip frag-off & 0x1fff != 0 drop\niifname near frag frag-off != 0 drop",
    );
    judge(&lab, |_| {
        let there = OneWay::clean(1500).delivery("non_first_dropped", "non_first_dropped");
        Some(Wanted::new(there, OneWay::clean(1500), &[("fragments-dropped", There)]))
    });
}

#[test]
fn case_d2_the_first_is_dropped() {
    let Some(lab) = Lab::new("case_d2") else { return };
    lab.forward(
        Node::R1,
        "iifname near ip frag-off & 0x3fff == 0x2000 drop\niifname near frag frag-off 0 drop",
    );
    judge(&lab, |_| {
        let there = OneWay::clean(1500).delivery("first_dropped", "first_dropped");
        Some(Wanted::new(there, OneWay::clean(1500), &[("fragments-dropped", There)]))
    });
}

#[test]
fn case_d3_what_comes_before_the_first_is_dropped() {
    let Some(lab) = Lab::new("case_d3") else { return };
    lab.nft(Node::R1, OUT_OF_ORDER);
    judge(&lab, |_| {
        let there = OneWay::clean(1500).delivery("out_of_order_dropped", "pass");
        let mut wanted = Wanted::new(there, OneWay::clean(1500), &[("fragments-dropped", There)]);
        wanted.privileged.push("fragments-dropped");
        Some(wanted)
    });
}

#[test]
fn case_h_a_box_that_puts_datagrams_together() {
    let Some(lab) = Lab::new("case_h") else { return };
    lab.forward(Node::R1, "ct state new,established accept");
    judge(&lab, |_| {
        let direction = OneWay::clean(1500).delivery("reassembled", "pass");
        Some(Wanted::new(direction.clone(), direction, &[]))
    });
}

#[test]
fn a_smaller_link_and_fragments_that_are_dropped() {
    let Some(lab) = Lab::new("a_smaller_link_and_fragments_that_are_dropped") else { return };
    lab.middle(1400);
    lab.forward(Node::R2, "ip frag-off & 0x3fff != 0 drop\nexthdr frag exists drop");
    judge(&lab, |_| {
        let there = OneWay::clean(1500).one_way_by(1400, Node::R1).delivery("all_dropped", "all_dropped");
        let back = OneWay::clean(1500).one_way_by(1400, Node::R2).delivery("all_dropped", "all_dropped");
        let findings = [
            ("mtu-reduced", There),
            ("mtu-reduced", Back),
            ("fragments-dropped", There),
            ("fragments-dropped", Back),
        ];
        Some(Wanted::new(there, back, &findings))
    });
}

#[test]
fn pieces_of_some_sizes_alone_are_dropped() {
    let all = "ip frag-off & 0x3fff != 0 meta length > 1000";
    let last = "ip frag-off & 0x1fff != 0 meta length < 200";
    for (rule, title) in [(all, "Large fragments are dropped up"), (last, "Small fragments are dropped up")] {
        let Some(lab) = Lab::new("pieces_of_some_sizes_alone") else { return };
        lab.forward(Node::R1, &format!("iifname near {rule} drop"));
        let _server = lab.serve(Node::S, Who::Root, &[]);
        let host = Node::S.address(Family::V4);
        for args in [&["mtu", host][..], &["throughput", host, "--udp", "-l", "4000", "-b", "5M", "-t", "1s"]]
        {
            let run = lab.run(Node::C, Who::Root, &[args, &["--json"]].concat()).json();
            let findings = run["findings"].as_array().unwrap();
            let has = |id: &str, title: &str| {
                findings
                    .iter()
                    .any(|one| one["id"] == id && one["title"].as_str().unwrap().starts_with(title))
            };
            assert!(has("fragments-dropped", title) && !has("outage", ""), "{args:?}: {findings:#?}");
        }
    }
}

/// Fragments whose first has not arrived are dropped, which Azure's network does.
const OUT_OF_ORDER: &str = "\
table inet lab {
set first {
typeof ip saddr . ip daddr . ip id
flags dynamic,timeout
timeout 5s
}
set first6 {
typeof ip6 saddr . ip6 daddr . frag id
flags dynamic,timeout
timeout 5s
}
chain passing {
type filter hook forward priority 0;
iifname near ip frag-off & 0x3fff == 0x2000 add @first { ip saddr . ip daddr . ip id }
iifname near ip frag-off & 0x1fff != 0 ip saddr . ip daddr . ip id != @first drop
iifname near frag frag-off 0 add @first6 { ip6 saddr . ip6 daddr . frag id }
iifname near frag frag-off != 0 ip6 saddr . ip6 daddr . frag id != @first6 drop
}
}
";
