//! Evidence of worlds whose limit is known, recorded live by `scripts/limit-worlds`: up to three of each kind, and those that were
//! named wrongly once. A line of `fixtures/limits.ndjson` has the seed and the direction, the kinds that are right, the evidence.

use model::limit::Evidence;
use pathmeter_insight::limit::limit_of;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Recording {
    seed: String,
    right: Vec<String>,
    evidence: Evidence,
}

const RECORDINGS: &str = include_str!("../fixtures/limits.ndjson");
/// Limits that a load cannot distinguish, too few steps at a low rate, and CPUs that forward less of a higher load.
const NOT_RIGHT: [&str; 4] = ["2682-down", "2739-down", "2798-up", "4679-down"];

#[test]
fn limits_of_recorded_worlds_are_named() {
    let mut not_right = BTreeMap::new();
    for line in RECORDINGS.lines() {
        let Recording { seed, right, evidence } = serde_json::from_str(line).expect("a recording");
        let kind = limit_of(&evidence).kind;
        // Where nothing of the path limits, kinds of the path are wrong, and all others right.
        let is_of_hosts = right.iter().any(|kind| kind == "host") && !kind.is_of_the_path();
        if !is_of_hosts && !right.contains(&kind.to_string()) {
            not_right.insert(seed, format!("{kind}, not {right:?}"));
        }
    }
    assert!(not_right.keys().eq(NOT_RIGHT), "{not_right:#?}");
    assert!(RECORDINGS.lines().count() > 70, "there are recordings");
}
