//! The limit of a path's rate is named: shapers and packet rates made in routers, and nothing where no router limits. A busy
//! host may make it not known; a kind that is not there is never named.

use super::lab::{Family, Lab, Node, Who};
use serde_json::Value;

/// Measures up to three times, until the limit is this kind; it is never a kind of the path that is another one.
fn limit_of(lab: &Lab, kind: &str) -> Value {
    let far = Node::S.address(Family::V4);
    let mut last = Value::Null;
    for _ in 0..3 {
        let run = lab.run(Node::C, Who::Root, &["throughput", far, "-t", "3", "--json"]).code(0).json();
        let limit = &run["summary"]["up"]["limit"];
        assert!(
            [kind, "not-known", "ramp-up"].contains(&limit["kind"].as_str().unwrap()),
            "{:#}",
            run["summary"]
        );
        last = run;
        if last["summary"]["up"]["limit"]["kind"] == kind {
            return last;
        }
    }
    panic!("{kind} was not named: {:#}", last["summary"]);
}

fn near(value: &Value, wanted: f64, share: f64) {
    let value = value.as_f64().unwrap();
    assert!((value - wanted).abs() <= share * wanted, "{value} is not {wanted}");
}

#[test]
fn a_shaper_in_a_router_is_named_and_leaves_the_verdict_ok() {
    let Some(lab) = Lab::new("a_shaper_in_a_router") else { return };
    lab.plain_links();
    lab.sh(Node::R1, "tc qdisc replace dev far root tbf rate 20mbit burst 20kb limit 150kb");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = limit_of(&lab, "shaper");
    let limit = &run["summary"]["up"]["limit"];
    near(&limit["rate_bps"], 20e6, 0.03);
    near(&limit["queue_ns"], 61e6, 0.2);
    assert_eq!(limit["per_flow"], false, "{limit:#}");
    let place = &limit["place"];
    assert!(
        place.is_null() || (place["first"].as_u64() <= Some(2) && place["last"].as_u64() >= Some(2)),
        "{place}"
    );
    assert_eq!(run["verdict"]["status"], "ok", "{:#}", run["findings"]);
}

/// A server of an older version has no reports over the flows of the load; here a router drops them.
#[test]
fn a_far_end_that_reports_over_its_connection_alone_names_the_limit_too() {
    let Some(lab) = Lab::new("a_far_end_that_reports_over_its_connection") else { return };
    lab.plain_links();
    lab.sh(Node::R1, "tc qdisc replace dev far root tbf rate 20mbit burst 20kb limit 100kb");
    // `PMTRPRB` and the kind of a report, behind the header of UDP.
    lab.forward(Node::R1, "meta l4proto udp @th,64,64 0x504d545250524206 counter drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = limit_of(&lab, "shaper");
    near(&run["summary"]["up"]["limit"]["rate_bps"], 20e6, 0.03);
    let dropped = lab.sh(Node::R1, "nft list chain inet lab passing");
    assert!(!dropped.contains("counter packets 0"), "{dropped}");
}

#[test]
fn a_limit_of_packets_is_named_with_a_warning() {
    let Some(lab) = Lab::new("a_limit_of_packets") else { return };
    lab.plain_links();
    lab.forward(Node::R1, "iifname near limit rate over 1500/second burst 40 packets drop");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let run = limit_of(&lab, "packet-rate");
    near(&run["summary"]["up"]["limit"]["packets_per_second"], 1500.0, 0.05);
    let finding = super::find(&run, "packet-rate").unwrap_or_else(|| panic!("{:#}", run["findings"]));
    assert_eq!(finding["severity"], "warning", "{finding:#}");
    assert!(super::find(&run, "path-loss").is_none(), "{:#}", run["findings"]);
}

/// UDP at this rate: up to three times, until a limit is named.
fn limit_of_datagrams(lab: &Lab, rate: &str) -> Value {
    let far = Node::S.address(Family::V4);
    let mut last = Value::Null;
    for _ in 0..3 {
        last =
            lab.run(Node::C, Who::Root, &["throughput", far, "-u", "-b", rate, "-t", "2", "--json"]).json();
        if last["summary"]["up"]["limit"]["kind"].as_str().is_some_and(|kind| kind != "not-known") {
            break;
        }
    }
    last
}

#[test]
fn datagrams_above_a_limit_name_it() {
    let Some(lab) = Lab::new("datagrams_above_a_limit") else { return };
    lab.plain_links();
    let _server = lab.serve(Node::S, Who::Root, &[]);
    lab.sh(Node::R1, "tc qdisc replace dev far root tbf rate 20mbit burst 20kb limit 150kb");
    let run = limit_of_datagrams(&lab, "30M");
    assert_eq!(run["summary"]["up"]["limit"]["kind"], "shaper", "{:#}", run["summary"]);
    near(&run["summary"]["up"]["limit"]["rate_bps"], 20e6, 0.03);
    let finding = super::find(&run, "path-loss").unwrap_or_else(|| panic!("{:#}", run["findings"]));
    let text = finding["title"].as_str().unwrap();
    assert!(text.contains(": a shaper of "), "{text}");
    lab.sh(Node::R1, "tc qdisc del dev far root");
    lab.forward(Node::R1, "iifname near limit rate over 2500 kbytes/second burst 60 kbytes drop");
    let run = limit_of_datagrams(&lab, "30M");
    assert_eq!(run["summary"]["up"]["limit"]["kind"], "policer", "{:#}", run["summary"]);
    assert!(super::find(&run, "policer").is_some(), "{:#}", run["findings"]);
    assert!(super::find(&run, "path-loss").is_none(), "the loss has a cause: {:#}", run["findings"]);
}

#[test]
fn a_router_that_is_observed_confirms_its_shaper() {
    let Some(lab) = Lab::new("a_router_that_is_observed") else { return };
    lab.plain_links();
    lab.sh(Node::R1, "tc qdisc replace dev far root tbf rate 20mbit burst 20kb limit 150kb");
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let _router = lab.serve(Node::R1, Who::Root, &[]);
    let (far, router) = (Node::S.address(Family::V4), Node::R1.address(Family::V4));
    // Nothing serves at the second router.
    let args = ["throughput", far, "-t", "3", "--observe", router, "--observe", "10.71.12.2", "--json"];
    let run = lab.run(Node::C, Who::Root, &args).code(0).json();
    let observed = run["summary"]["observed"].as_array().unwrap();
    let (first, second) = (&observed[0], &observed[1]);
    assert_eq!(first["is_this_host"], true, "all namespaces have one name: {first:#}");
    assert_eq!(first["links"], 1, "{first:#}");
    assert_eq!(first["interfaces"], serde_json::json!(["near", "far"]), "{first:#}");
    let held = first["facts"].as_array().unwrap().iter().find(|fact| fact["name"] == "queue-held").unwrap();
    assert_eq!(held["object"], "tbf of far", "{first:#}");
    assert!(second["note"].as_str().unwrap().contains("10.71.12.2"), "{second:#}");
    let limit = &run["summary"]["up"]["limit"];
    if limit["kind"] == "shaper" {
        let cause = limit["cause"].as_str().unwrap_or_else(|| panic!("{limit:#}"));
        assert!(cause.contains("tbf of far") && cause.contains(&format!("({router})")), "{cause}");
    }
}

#[test]
fn a_path_without_a_limit_has_none() {
    let Some(lab) = Lab::new("a_path_without_a_limit") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let far = Node::S.address(Family::V4);
    for direction in [&[][..], &["-R"]] {
        let args = [&["throughput", far, "-t", "2", "--json"], direction].concat();
        let run = lab.run(Node::C, Who::Root, &args).code(0).json();
        let side = if direction.is_empty() { "up" } else { "down" };
        let kind = run["summary"][side]["limit"]["kind"].as_str().unwrap_or("not-known").to_owned();
        let of_hosts = ["not-known", "sender-cpu", "receiver-cpu", "host-drop", "ramp-up", "receiver-window"];
        assert!(of_hosts.contains(&kind.as_str()), "{:#}", run["summary"][side]["limit"]);
    }
}

#[test]
fn nothing_is_loaded_where_that_is_not_wanted() {
    let Some(lab) = Lab::new("nothing_is_loaded") else { return };
    let _server = lab.serve(Node::S, Who::Root, &[]);
    let far = Node::S.address(Family::V4);
    let args = ["throughput", far, "-t", "1", "--no-explain", "--json"];
    let run = lab.run(Node::C, Who::Root, &args).code(0).json();
    assert!(run["summary"]["load_probing"].is_null(), "{:#}", run["summary"]["load_probing"]);
}
