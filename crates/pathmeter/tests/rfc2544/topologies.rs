//! Every device of the lab that forwards: each is built, tested and taken away, and what is sent arrives.

use super::device::{LITTLE, device, steps, turn};
use super::net::may_make_networks;
use super::support::{Running, pathmeter};
use serde_json::Value;

/// Alone, in the lab, with few frames; absent where this process may not.
fn tested(test: &str, lab: &str, args: &[&str]) -> Option<Value> {
    if !may_make_networks(test) {
        return None;
    }
    let _turn = turn();
    let all = [&["rfc2544", "--lab", lab, "--json"], &LITTLE[..], args].concat();
    Some(Running::start(pathmeter(None, &all)).end().code(0).json())
}

#[test]
fn cable_switch_router_and_tunnel_lose_nothing_of_little() {
    let test = "cable_switch_router_and_tunnel_lose_nothing_of_little";
    let args = ["--frame", "128", "--tests", "loss", "-4", "-6"];
    let Some(report) = tested(test, "direct,bridge,forward,ipip6", &args) else { return };
    let devices = report["devices"].as_array().unwrap();
    let names: Vec<&Value> = devices.iter().map(|device| &device["name"]).collect();
    assert_eq!(names, ["direct", "bridge", "forward", "ipip6"]);
    for device in devices {
        let rows = device["rows"].as_array().unwrap();
        let networks: Vec<&Value> = rows.iter().map(|row| &row["stream"]["network"]).collect();
        assert_eq!(networks, ["v4", "v6"], "{device:#}");
        for row in rows {
            assert_eq!(steps(row), [(200, 200), (180, 180)], "{}: {row:#}", device["name"]);
        }
    }
}

#[test]
fn the_rate_of_a_router_both_directions_is_what_was_asked_for() {
    let test = "the_rate_of_a_router_both_directions_is_what_was_asked_for";
    let args = ["--frame", "128", "--tests", "throughput", "--goals", "throughput,ndr,pdr", "--both"];
    let Some(report) = tested(test, "forward", &args) else { return };
    let row = &report["devices"][0]["rows"][0];
    assert_eq!((&row["stream"]["ways"], &row["limit"]), (&"both".into(), &"asked".into()), "{row:#}");
    let rates = row["rates"].as_array().unwrap();
    let goals: Vec<&Value> = rates.iter().map(|rate| &rate["goal"]).collect();
    assert_eq!(goals, ["throughput", "ndr", "pdr"]);
    for rate in rates {
        let (lower, upper) = (rate["lower_pps"].as_f64(), &rate["upper_pps"]);
        assert_eq!((lower, upper), (Some(1000.0), &Value::Null), "{rate:#}");
        assert!(rate["irregular"].to_string().contains("no-upper-bound"), "{rate:#}");
    }
    let directions: Vec<&Value> =
        row["flood"].as_array().unwrap().iter().map(|direction| &direction["way"]).collect();
    assert_eq!(directions, ["up", "down"]);
}

/// A reset takes the link down for a tenth of a second.
#[test]
fn a_reset_interrupts_for_a_time() {
    let Some(report) = may_make_networks("a_reset_interrupts_for_a_time").then(|| {
        let _turn = turn();
        let args = ["rfc2544", "--lab", "forward", "--quick", "--max-rate", "200pps", "--time", "2s"];
        let all = [&args[..], &["--frame", "128", "--tests", "reset", "--json"]].concat();
        device(&Running::start(pathmeter(None, &all)).end().code(0))
    }) else {
        return;
    };
    let reset = &report["rows"][0]["reset"];
    assert!(reset["how"].as_str().unwrap().contains("was taken down and up again"), "{report:#}");
    let run = &reset["runs"][0];
    for method in ["by_time_ns", "by_loss_ns"] {
        assert!(
            run[method].as_u64().unwrap_or_else(|| panic!("{method}: {report:#}")) >= 50_000_000,
            "{run:#}"
        );
    }
}
