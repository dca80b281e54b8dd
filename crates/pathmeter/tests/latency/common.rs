//! What the tests of latency share: servers with foreign protocols, a run's figures, hand-made messages.

use super::support::{Ended, run};
use serde_json::Value;

/// A loaded machine must not make a reply late: no test here is about how fast anything is.
pub(super) const PATIENT: [&str; 2] = ["--timeout", "8s"];

/// `pathmeter latency` with these words.
#[track_caller]
pub(super) fn latency(host: &str, words: &[&str]) -> Ended {
    run(&[&["latency", host], words].concat())
}

/// The same with patience, successful, and as JSON.
#[track_caller]
pub(super) fn measured(host: &str, words: &[&str]) -> Value {
    latency(host, &[words, &PATIENT, &["--json"]].concat()).code(0).json()
}

/// The figures of its first way.
#[track_caller]
pub(super) fn way(run: &Value) -> &Value {
    let way = &run["summary"]["ways"][0];
    assert!(way.is_object(), "{run:#}");
    way
}

/// One of a way's counters.
#[track_caller]
pub(super) fn count(way: &Value, name: &str) -> u64 {
    way["counted"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {:#}", way["counted"]))
}

/// Some of a way's counters.
#[track_caller]
pub(super) fn counts<const N: usize>(way: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| count(way, name))
}

/// The whole number at this place.
#[track_caller]
pub(super) fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name}: {value:#}"))
}
