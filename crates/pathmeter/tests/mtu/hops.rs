//! `pathmeter hops` on paths made of namespaces: what a router keeps to itself is no loss, what nftables drops is, to the
//! packet; equal paths, circles, refusals and sizes, with and without privilege.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

/// A trace to the far host; what it found, and the ids of its findings.
#[track_caller]
fn hops(lab: &Lab, who: Who, args: &[&str]) -> (Value, Vec<String>) {
    let run = lab.run(Node::C, who, &[&["hops", "--json"], args].concat()).code(0).json();
    let ids =
        run["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap().to_owned());
    let ids = ids.collect();
    (run["summary"]["hops"].clone(), ids)
}

/// Nothing limits the answers of routers and hosts.
fn without_limits(lab: &Lab) {
    for node in [Node::R1, Node::R2, Node::S] {
        lab.sysctl(node, "net/ipv4/icmp_ratelimit", "0");
        lab.sysctl(node, "net/ipv6/icmp/ratelimit", "0");
    }
}

/// The routers that answered at each hop.
fn routers(found: &Value) -> Vec<Vec<String>> {
    let address = |router: &'_ Value| router["address"].as_str().unwrap().to_owned();
    let hops = found["hops"].as_array().unwrap().iter();
    hops.map(|hop| hop["routers"].as_array().unwrap().iter().map(address).collect()).collect()
}

#[test]
fn every_protocol_finds_the_routers_and_only_echo_needs_privilege() {
    let Some(lab) = Lab::new("every_protocol_finds_the_routers") else { return };
    without_limits(&lab);
    for family in Family::BOTH {
        let far = Node::S.address(family);
        let last_router = if family == Family::V4 { "10.71.12.2" } else { "fd71:12::2" };
        for (protocol, who) in
            [("udp", Who::Unprivileged), ("tcp", Who::Unprivileged), ("icmp", Who::Root), ("udp", Who::Root)]
        {
            let (found, ids) = hops(&lab, who, &[far, "--protocol", protocol, "-c", "4", "-i", "20ms"]);
            let expected = [vec![Node::R1.address(family)], vec![last_router], vec![far]];
            assert_eq!(routers(&found), expected, "{protocol}: {found:#}");
            for hop in found["hops"].as_array().unwrap() {
                assert_eq!(
                    (&hop["sent"], &hop["answered"], &hop["missing"]),
                    (&4.into(), &4.into(), &"none".into())
                );
                let back = &hop["routers"][0]["hops_back"];
                // A connection does not report the TTL of what opened or reset it.
                assert!(*back == hop["ttl"] || protocol == "tcp" && back.is_null(), "{protocol}: {hop:#}");
            }
            assert_eq!((&found["end"], &found["path_mtu"]), (&"reached".into(), &1500.into()), "{found:#}");
            assert_eq!(ids, Vec::<String>::new(), "{protocol}");
        }
        let refused = lab.run(Node::C, Who::Unprivileged, &["hops", far, "--protocol", "icmp"]).code(2);
        refused.prints("net.ipv4.ping_group_range").prints("--protocol udp");
    }
}

#[test]
fn limits_of_routers_and_of_the_far_end_are_no_loss() {
    let Some(lab) = Lab::new("limits_of_routers_are_no_loss") else { return };
    for family in Family::BOTH {
        for protocol in ["icmp", "udp"] {
            let args = [Node::S.address(family), "--protocol", protocol, "-c", "40", "-i", "10ms"];
            let (found, ids) = hops(&lab, Who::Root, &args);
            let limited =
                found["hops"].as_array().unwrap().iter().filter(|hop| hop["missing"] == "own_answers");
            assert!(limited.count() >= 1, "{family:?} {protocol}: {found:#}");
            assert!(found["loss"].is_null(), "{found:#}");
            assert_eq!(ids, ["icmp-rate-limited"], "{family:?} {protocol}: {found:#}");
        }
    }
}

#[test]
fn loss_is_what_nftables_counts_and_begins_where_it_does() {
    let Some(lab) = Lab::new("loss_is_what_nftables_counts") else { return };
    without_limits(&lab);
    // The first crosses, so that none is sent beyond the far end.
    lab.forward(Node::R2, "icmp type echo-request numgen inc mod 4 == 3 counter drop");
    let args = [Node::S.address(Family::V4), "--protocol", "icmp", "-c", "60", "-i", "10ms", "--no-mtu"];
    let (found, ids) = hops(&lab, Who::Root, &args);
    let rules = lab.sh(Node::R2, "nft list ruleset");
    let counted = rules.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let counted: u64 = counted.parse().unwrap();
    assert_eq!(counted, 15);
    let loss = &found["loss"];
    assert_eq!(loss["sent"].as_u64().unwrap() - loss["answered"].as_u64().unwrap(), counted, "{found:#}");
    assert_eq!((&loss["clean"], &loss["seen"]), (&2.into(), &Value::Null));
    assert_eq!(ids, ["loss-from-hop"]);
}

#[test]
fn a_drop_of_answers_alone_is_the_hops_own() {
    let Some(lab) = Lab::new("a_drop_of_answers_alone") else { return };
    without_limits(&lab);
    lab.nft(
        Node::R1,
        "table inet lab {\nchain leaving {\ntype filter hook output priority 0;\n\
         icmp type time-exceeded numgen inc mod 2 == 0 drop\n}\n}\n",
    );
    let args = [Node::S.address(Family::V4), "-c", "40", "-i", "10ms", "--no-mtu"];
    let (found, ids) = hops(&lab, Who::Root, &args);
    let missing: Vec<&str> =
        found["hops"].as_array().unwrap().iter().map(|hop| hop["missing"].as_str().unwrap()).collect();
    assert_eq!(missing, ["own_answers", "none", "none"]);
    assert_eq!(ids, ["icmp-rate-limited"]);
}

#[test]
fn three_legs_are_distinguished_by_flow() {
    let Some(lab) = Lab::new("three_legs_are_distinguished") else { return };
    without_limits(&lab);
    lab.legs();
    let args = [Node::S.address(Family::V4), "--flows", "24", "-c", "48", "-i", "5ms", "--no-mtu"];
    let (found, ids) = hops(&lab, Who::Root, &args);
    let at = routers(&found);
    let mut legs = at[1].clone();
    legs.sort_unstable();
    // That one of three is missed by all of 24 flows happens once in 5,600 looks.
    assert_eq!(legs, ["10.71.12.2", "10.71.14.2", "10.71.15.2"], "{found:#}");
    let flows = found["hops"][1]["routers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|router| router["flows"].as_array().unwrap());
    assert_eq!(flows.map(Vec::len).sum::<usize>(), 24, "no flow took two of them: {found:#}");
    assert_eq!(ids, ["paths-differ"]);
}

/// One of three legs drops everything, and the far end limits its answers as Linux does.
#[test]
fn a_leg_that_drops_everything_is_named_with_its_flows() {
    let Some(lab) = Lab::new("a_leg_that_drops_everything") else { return };
    lab.legs();
    lab.forward(Node::R2, "iifname leg15 drop");
    let (found, ids) = hops(&lab, Who::Unprivileged, &[Node::S.address(Family::V4), "--flows", "8"]);
    let flows = found["flows"].as_array().unwrap();
    let dead = |flow: &&Value| flow["again"]["answered"] == 0;
    // Once in 25 looks none of eight flows takes a third of the legs, or all of them do.
    let count = flows.iter().filter(dead).count();
    assert_eq!(ids.contains(&"dead-flows".to_owned()), count > 0 && count < 8, "{ids:?} {found:#}");
    for flow in flows {
        let took = |number: usize| {
            let routers = found["hops"][1]["routers"].as_array().unwrap();
            let is_its = |router: &&Value| router["flows"].as_array().unwrap().contains(&number.into());
            routers.iter().find(is_its).map(|router| router["address"].as_str().unwrap().to_owned())
        };
        let number = flows.iter().position(|other| other == flow).unwrap();
        let is_dead = took(number).as_deref() == Some("10.71.15.2");
        assert_eq!(flow["reached_at"].is_null(), is_dead, "{number}: {found:#}");
    }
}

#[test]
fn a_circle_is_named() {
    let Some(lab) = Lab::new("a_circle_is_named") else { return };
    without_limits(&lab);
    lab.sh(Node::R1, "ip route add 10.71.99.0/24 via 10.71.12.2");
    lab.sh(Node::R2, "ip route add 10.71.99.0/24 via 10.71.12.1");
    let (found, ids) =
        hops(&lab, Who::Unprivileged, &["10.71.99.9", "-c", "4", "-i", "10ms", "--flows", "1"]);
    let mut circle: Vec<&str> =
        found["circle"].as_array().unwrap().iter().map(|router| router.as_str().unwrap()).collect();
    circle.sort_unstable();
    assert_eq!(circle, ["10.71.1.1", "10.71.12.2"], "{found:#}");
    assert_eq!(ids, ["routing-loop"]);
}

#[test]
fn refusals_and_sizes_have_their_router() {
    let Some(lab) = Lab::new("refusals_and_sizes_have_their_router") else { return };
    without_limits(&lab);
    lab.middle(1400);
    for family in Family::BOTH {
        let (found, ids) = hops(&lab, Who::Unprivileged, &[Node::S.address(family), "-c", "4", "-i", "10ms"]);
        assert_eq!(
            (&found["path_mtu"], &found["hops"][0]["routers"][0]["next_mtu"]),
            (&1400.into(), &1400.into())
        );
        assert_eq!(ids, ["mtu-from-hop"]);
    }
    lab.forward(Node::R2, "meta l4proto udp reject with icmpx type admin-prohibited");
    for (family, refused) in [(Family::V4, [3, 13]), (Family::V6, [1, 1])] {
        let (found, _) = hops(&lab, Who::Unprivileged, &[Node::S.address(family), "-c", "4", "-i", "10ms"]);
        assert_eq!(found["end"], "refused", "{found:#}");
        assert_eq!(found["hops"][2]["routers"][0]["refused"], serde_json::json!(refused), "{found:#}");
    }
}

#[test]
fn a_refusal_that_comes_late_is_heard() {
    let Some(lab) = Lab::new("a_refusal_that_comes_late") else { return };
    // The router has no error left for what it refuses as long as the trace goes on.
    let refusing = "iifname near limit rate 1/second burst 1 packets reject with icmpx type admin-prohibited";
    lab.forward(Node::R2, &format!("{refusing}\niifname near drop"));
    let (found, _) = hops(&lab, Who::Root, &[Node::S.address(Family::V4), "-c", "4", "-i", "200ms"]);
    assert_eq!(found["end"], "refused", "{found:#}");
    assert_eq!(found["hops"][2]["routers"][0]["refused"], serde_json::json!([3, 13]), "{found:#}");
}

#[test]
fn a_pathmeter_at_the_far_end_traces_the_return_path() {
    let Some(lab) = Lab::new("the_far_end_traces_the_return_path") else { return };
    without_limits(&lab);
    for who in [Who::Unprivileged, Who::Root] {
        let _server = lab.serve(Node::S, who, &[]);
        for family in Family::BOTH {
            let far = Node::S.address(family);
            let (found, ids) = hops(&lab, Who::Unprivileged, &[far, "-c", "4", "-i", "20ms"]);
            let back = &found["back"];
            let first_router = if family == Family::V4 { "10.71.12.1" } else { "fd71:12::1" };
            let expected =
                [vec![Node::R2.address(family)], vec![first_router], vec![Node::C.address(family)]];
            assert_eq!(routers(back), expected, "{who:?}: {back:#}");
            assert_eq!((&back["end"], &back["counted_on_arrival"]), (&"reached".into(), &true.into()));
            for hop in back["hops"].as_array().unwrap() {
                assert_eq!((&hop["sent"], &hop["answered"]), (&4.into(), &4.into()), "{hop:#}");
                // What arrives here makes no round trip.
                assert_eq!(hop["rtt_ns"].is_null(), hop["far_end"] == true, "{hop:#}");
            }
            let port = back["flows"][0]["flow"]["from"].as_str().unwrap();
            assert!(port.ends_with(":5210"), "{port}");
            assert_eq!(ids, Vec::<String>::new());
        }
    }
    let (found, _) = hops(&lab, Who::Unprivileged, &[Node::S.address(Family::V4), "-c", "1"]);
    assert!(found["back"].is_null(), "nothing listens there any more");
}

#[test]
fn loss_is_distinguished_by_direction() {
    let Some(lab) = Lab::new("loss_is_distinguished_by_direction") else { return };
    without_limits(&lab);
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let args =
        [Node::S.address(Family::V4), "--protocol", "icmp", "-c", "60", "-i", "10ms", "--no-mtu", "--json"];
    // Those of the server's packets that would end at the client: they cross the router with their last TTL but one.
    lab.forward(Node::R1, "udp sport 5210 ip ttl 1 numgen inc mod 4 == 3 counter drop");
    let run = lab.run(Node::C, Who::Root, &[&["hops"], &args[..]].concat()).code(0).json();
    let (found, back) = (&run["summary"]["hops"], &run["summary"]["hops"]["back"]);
    assert_eq!((&found["loss"], &back["loss"]["clean"]), (&Value::Null, &2.into()), "{found:#}");
    assert_eq!((&back["loss"]["sent"], &back["loss"]["answered"]), (&60.into(), &45.into()), "{back:#}");
    let finding = &run["findings"][0];
    assert_eq!((&finding["id"], &finding["direction"]), (&"loss-from-hop".into(), &"down".into()));
    lab.sh(Node::R1, "nft flush ruleset");
    lab.forward(Node::R1, "icmp type echo-request numgen inc mod 4 == 3 counter drop");
    let run = lab.run(Node::C, Who::Root, &[&["hops"], &args[..]].concat()).code(0).json();
    assert!(run["summary"]["hops"]["back"]["loss"].is_null());
    let [finding] = run["findings"].as_array().unwrap().as_slice() else { panic!("{:#}", run["findings"]) };
    let title = finding["title"].as_str().unwrap();
    assert!(title.contains("the return path lost 0 of 60, so it is the path there"), "{title}");
}

#[test]
fn a_missing_route_is_named() {
    let Some(lab) = Lab::new("a_missing_route_is_named") else { return };
    lab.sh(Node::C, "ip route del default");
    lab.sh(Node::C, "ip -6 route del default");
    for (address, command) in [("203.0.113.9", "ip route get"), ("2001:db8::9", "ip -6 route get")] {
        for args in [&["hops", address][..], &["mtu", address, "--protocol", "udp"]] {
            let ended = lab.run(Node::C, Who::Unprivileged, args).code(3);
            let route = format!("this host has no route to {address}");
            ended
                .prints(&route)
                .prints(&format!("`{command} {address}`"))
                .prints("route add default via ROUTER");
        }
    }
}
