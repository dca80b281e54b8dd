//! Devices in topologies of the lab, from the command line to the result.

use super::device::turn;
use super::net::may_make_networks;
use super::support::{Running, pathmeter};
use serde_json::Value;

fn start(args: &[&str]) -> Running {
    Running::start(pathmeter(None, &[&["rfc2544", "--quick", "--max-rate", "5kpps"], args].concat()))
}

#[test]
fn devices_are_measured_one_after_the_other_and_compared() {
    let test = "devices_are_measured_one_after_the_other_and_compared";
    if !may_make_networks(test) {
        return;
    }
    let _turn = turn();
    let file = std::env::temp_dir().join(format!("pathmeter-dut-{}.json", std::process::id()));
    let before = file.to_str().expect("a plain path");
    let both = ["--lab", "direct,forward", "--tests", "mrr", "--frame", "64,9018", "-4", "-6", "--json"];
    start(&[&both[..], &["-o", before]].concat()).end().code(0).prints("direct: Two hosts on one cable");
    let stored = std::fs::read_to_string(&file).expect("the result was written");
    let report: Value = serde_json::from_str(&stored).expect("it is JSON");
    assert_eq!(report["schema"], "pathmeter/rfc2544/1");
    for (device, name) in [(0, "direct"), (1, "forward")] {
        let device = &report["devices"][device];
        assert_eq!((&device["name"], &device["unavailable"]), (&name.into(), &Value::Null));
        let rows = device["rows"].as_array().expect("rows");
        let streams: Vec<&Value> = rows.iter().map(|row| &row["stream"]["frames"]["name"]).collect();
        assert_eq!(streams, ["64", "78"], "frames of 9018 bytes are above the MTU");
        assert!(rows.iter().all(|row| row["mrr"]["forwarded"]["mean_pps"].as_f64() > Some(0.0)), "{rows:?}");
        let notes = device["notes"].to_string();
        assert!(notes.contains("IPv4 9018, IPv6 9018"), "{notes}");
    }
    assert_eq!(report["comparisons"][0]["compared"], "forward");

    let again = ["--lab", "forward", "--tests", "mrr", "--frame", "64", "--against", before];
    let expect = ["--expect", "forward.64.mrr>=1pps", "--expect", "ndr>=1pps"];
    let ended = start(&[&again[..], &expect].concat()).end().code(1);
    std::fs::remove_file(&file).expect("it is there");
    let ended = ended.prints("expectation broken: ndr>=1pps: not measured");
    assert!(!ended.stderr.contains("broken: forward.64.mrr"), "{}", ended.stderr);
    assert!(ended.stdout.contains("forward compared with forward of "), "{}", ended.stdout);
}

#[test]
fn what_was_measured_is_kept_when_it_is_stopped() {
    if !may_make_networks("what_was_measured_is_kept_when_it_is_stopped") {
        return;
    }
    let _turn = turn();
    let args = ["--lab", "forward", "--tests", "mrr,recovery", "--frame", "64", "--time", "10m"];
    let running = start(&args);
    running.wait_for("forward: IPv4 64, throughput");
    running.signal("INT");
    let ended = running.end().code(0);
    assert!(ended.stdout.contains("Stopped before all was measured"), "{}", ended.stdout);
    assert!(ended.stdout.contains("Most received"), "{}", ended.stdout);
}
