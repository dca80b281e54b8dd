//! Every shipped topology that this host can build shows what its file expects, two labs at a time.

use super::support::{run, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::thread;

#[test]
fn each_shows_what_it_expects_two_at_once() {
    let Some(names) = buildable("each_shows_what_it_expects") else { return };
    for certain in
        ["direct", "bridge", "forward", "vxlan", "ipip6", "nat44", "black-hole", "rp-filter", "demo"]
    {
        assert!(names.iter().any(|name| name == certain), "{certain} is not among {names:?}");
    }
    let before = interfaces();
    let halves = names.chunks(names.len().div_ceil(2));
    thread::scope(|scope| {
        halves.for_each(|half| drop(scope.spawn(|| measured(half))));
    });
    // Where an ordinary user runs this, what is swept is that user's.
    let swept = run(&["lab", "sweep", "--dry-run"]).code(0);
    assert!(!swept.stdout.contains("kill"), "{}", swept.stdout);
    assert_eq!(interfaces(), before, "nothing of a lab is on this host");
}

/// Path MTUs to the byte, who answers, and the findings that sizes and fragments give.
fn measured(names: &[String]) {
    let mut args = vec!["lab", "run", "--tests", "mtu", "--json"];
    args.extend(names.iter().map(String::as_str));
    let report = run(&args).code(0).json();
    let variants = report["variants"].as_array().unwrap();
    assert_eq!(variants.len(), names.len());
    for variant in variants {
        let name = variant["name"].as_str().unwrap();
        assert!(variant["unavailable"].is_null(), "{name}: {variant:#}");
        for expectation in variant["expectations"].as_array().unwrap() {
            assert_ne!(expectation["held"], false, "{name}: {expectation:#}");
            // The rest comes of tests that are not run here.
            let what = expectation["what"].as_str().unwrap();
            if what.starts_with("path MTU") || what.starts_with("the far end") {
                assert_eq!(expectation["held"], true, "{name}: {expectation:#}");
            }
        }
        let shown = run(&["lab", "show", name, "--json"]).code(0).json();
        let raised = raised(variant);
        for id in shown["expect"]["findings"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()) {
            // The others come of loads and of both families at once, which are not measured here.
            if OF_SIZES.contains(&id) {
                assert!(raised.contains(id), "{name}: {id} is not among {raised:?}");
            }
        }
        for id in shown["expect"]["absent"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()) {
            assert!(!raised.contains(id), "{name}: {id} is among {raised:?}");
        }
    }
}

fn raised(variant: &Value) -> BTreeSet<String> {
    let findings = variant["findings"].as_array().unwrap().iter();
    findings
        .filter_map(|found| found["finding"]["id"].as_str().or(found["id"].as_str()))
        .map(str::to_owned)
        .collect()
}

/// Names of the topologies that need neither a machine nor something this host lacks.
pub(super) fn buildable(test: &str) -> Option<Vec<String>> {
    let list = run(&["lab", "list", "--json"]).code(0).json();
    let rows = list.as_array().unwrap().iter().filter(|row| row["lacks"].as_array().unwrap().is_empty());
    let names: Vec<String> = rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    if names.is_empty() {
        skip(test, "nothing can be built: it needs root or user namespaces");
        return None;
    }
    let is_plain = |name: &String| {
        let shown = run(&["lab", "show", name, "--json"]).code(0).json();
        let nodes = shown["nodes"].as_array().unwrap();
        // A topology whose neighbour dies has no path to measure in the end.
        nodes.iter().all(|node| node["place"] == "namespace") && name != "neighbour-dies"
    };
    Some(names.into_iter().filter(is_plain).collect())
}

/// Interfaces of this host.
fn interfaces() -> BTreeSet<String> {
    let found = std::fs::read_dir("/sys/class/net").unwrap();
    found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Findings that a measurement of sizes alone raises.
const OF_SIZES: &[&str] = &[
    "mtu-black-hole",
    "mtu-asymmetric",
    "mtu-reduced",
    "mss-clamped",
    "fragments-dropped",
    "tcp-blackhole",
    "mtu-discovery-wrong",
    "paths-differ",
];
