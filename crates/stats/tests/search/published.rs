//! Our MLRsearch against the authors' own (PyPI `MLRsearch` 1.2.1), on the same simulated devices.
//!
//! The devices are deterministic and both searches choose loads by the same rules, so both must run the same trials in the
//! same order and find the same bounds. Both reckon a load as `min × exp(…)`, in another order of operations, and we keep
//! durations in whole nanoseconds: hence the tolerance of a ten-millionth, far below any width of a goal.

use crate::device::{Device, Kind};
use pathmeter_stats::search::{Goal, GoalOutcome, Limits, Load, Mlr, MlrConfig, Search};
use serde_json::{Value, json};
use std::env;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use units::Nanos;

struct Case {
    config: MlrConfig,
    device: Device,
}

fn case(kind: Kind, goals: &[Goal], max: f64, overhead: Nanos) -> Case {
    let goals = goals.iter().map(|goal| Goal { fail_fast: false, ..goal.clone() }).collect();
    let limits = Limits { min: Load(9001.0), max: Load(max) };
    let config =
        MlrConfig { limits, goals, warm_up: Some(Nanos::from_secs(1)), budget: Nanos::from_secs(1_000_000) };
    Case { config, device: Device::new(kind, overhead) }
}

fn kinds() -> Vec<Kind> {
    let capacities = [9_500.0, 123_456.7, 4_321_000.0, 29_000_000.0, 99_000_000.0];
    let each = |make: fn(f64) -> Kind| capacities.map(make);
    let mut kinds = Vec::new();
    kinds.extend(each(|capacity| Kind::Sharp { capacity }));
    kinds.extend(each(|capacity| Kind::Livelock { capacity }));
    kinds.extend(each(|capacity| Kind::Buffered { capacity, buffer: 100_000 }));
    kinds.extend(each(|capacity| Kind::Noisy { capacity, every: 3, per: 100 }));
    kinds.extend(each(|capacity| Kind::Noisy { capacity, every: 2, per: 1000 }));
    kinds.extend([
        Kind::Inverted { from: 100_000.0, to: 150_000.0, capacity: 500_000.0 },
        Kind::Inverted { from: 1_000_000.0, to: 8_000_000.0, capacity: 9_000_000.0 },
        Kind::SlowGenerator { most: 2_222_222.0 },
        Kind::Duplicating { from: 777_777.0 },
        Kind::Dead,
    ]);
    kinds
}

fn cases() -> Vec<Case> {
    let pdr = Goal::pdr;
    let csit = [Goal::ndr(), pdr()];
    // ETSI GS NFV-TST 009, with loss verification: the better of two trials of 60 seconds.
    let verified = Goal { exceed_ratio: 0.5, duration_sum: Nanos::from_secs(120), ..Goal::rfc2544() };
    let standards = [Goal::rfc2544(), verified];
    let mixed = [
        Goal { width: 0.02, loss_ratio: 0.1, expansion: 3, ..pdr() },
        Goal { width: 0.003, exceed_ratio: 0.2, final_duration: Nanos::from_secs(5), ..pdr() },
        Goal { preceding: 4, duration_sum: Nanos::from_secs(60), ..Goal::ndr() },
    ];
    let mut cases = Vec::new();
    for kind in kinds() {
        cases.push(case(kind, &csit, 30_000_000.0, Nanos::ZERO));
        cases.push(case(kind, &standards, 30_000_000.0, Nanos::ZERO));
        cases.push(case(kind, &mixed, 40_000_000.0, Nanos::from_millis(500)));
    }
    cases
}

#[test]
fn the_published_package_runs_the_same_trials_and_finds_the_same_bounds() {
    let Some(python) = python() else { return };
    let cases = cases();
    let theirs = run_published(&python, &Value::Array(cases.iter().map(to_json).collect()));
    let theirs = theirs.as_array().unwrap();
    assert_eq!(theirs.len(), cases.len());
    for (case, theirs) in cases.iter().zip(theirs) {
        let (trials, outcome) = run_ours(case);
        let what = format!("{:?}\n{:?}", case.device, case.config.goals);
        let their_trials = theirs["trials"].as_array().unwrap();
        for (index, (load, duration)) in trials.iter().enumerate() {
            let trial = &their_trials[index.min(their_trials.len() - 1)];
            assert_near(Some(load.0), &trial[0], &format!("load of trial {index}: {what}"));
            assert_near(Some(duration.as_secs_f64()), &trial[1], &format!("length of trial {index}: {what}"));
        }
        assert_eq!(trials.len(), their_trials.len(), "number of trials: {what}");
        for (ours, theirs) in outcome.iter().zip(theirs["goals"].as_array().unwrap()) {
            assert_near(ours.lower.map(|bound| bound.load.0), &theirs["lower"], &what);
            assert_near(ours.upper.map(|load| load.0), &theirs["upper"], &what);
            let throughput = ours.lower.map(|bound| bound.conditional_throughput.0);
            assert_near(throughput, &theirs["conditional_throughput"], &what);
        }
    }
}

fn run_ours(case: &Case) -> (Vec<(Load, Nanos)>, Vec<GoalOutcome>) {
    let mut search = Mlr::new(&case.config).expect("the limits and goals are good");
    let mut device = case.device;
    let mut trials = Vec::new();
    while let Some(trial) = search.trial() {
        trials.push((trial.load, trial.duration));
        search.take(&device.measure(&trial));
    }
    (trials, search.outcome())
}

fn to_json(case: &Case) -> Value {
    let goal = |goal: &Goal| {
        json!({
            "loss_ratio": goal.loss_ratio,
            "exceed_ratio": goal.exceed_ratio,
            "relative_width": goal.width,
            "initial_trial_duration": goal.initial_duration.as_secs_f64(),
            "final_trial_duration": goal.final_duration.as_secs_f64(),
            "duration_sum": goal.duration_sum.as_secs_f64(),
            "preceding_targets": goal.preceding,
            "expansion_coefficient": goal.expansion,
            "fail_fast": goal.fail_fast,
        })
    };
    let mut json = device_to_json(&case.device);
    json["min"] = case.config.limits.min.0.into();
    json["max"] = case.config.limits.max.0.into();
    json["warm_up"] = case.config.warm_up.expect("every case has a warm-up").as_secs_f64().into();
    json["goals"] = case.config.goals.iter().map(goal).collect();
    json
}

/// A device as the Python side reads it.
fn device_to_json(device: &Device) -> Value {
    let kind = match device.kind {
        Kind::Sharp { capacity } => json!({"kind": "sharp", "capacity": capacity}),
        Kind::Buffered { capacity, buffer } => {
            json!({"kind": "buffered", "capacity": capacity, "buffer": buffer})
        }
        Kind::Noisy { capacity, every, per } => {
            json!({"kind": "noisy", "capacity": capacity, "every": every, "per": per})
        }
        Kind::Livelock { capacity } => json!({"kind": "livelock", "capacity": capacity}),
        Kind::Inverted { from, to, capacity } => {
            json!({"kind": "inverted", "from": from, "to": to, "capacity": capacity})
        }
        Kind::SlowGenerator { most } => json!({"kind": "slow-generator", "most": most}),
        Kind::Duplicating { from } => json!({"kind": "duplicating", "from": from}),
        Kind::Dead => json!({"kind": "dead"}),
    };
    json!({"device": kind, "overhead": device.overhead.as_secs_f64()})
}

fn assert_near(ours: Option<f64>, theirs: &Value, what: &str) {
    let near = match (ours, theirs.as_f64()) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-7 * theirs,
        (ours, theirs) => ours.is_none() && theirs.is_none(),
    };
    assert!(near, "ours {ours:?}, theirs {theirs}: {what}");
}

fn run_published(python: &PathBuf, cases: &Value) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/search/mlrsearch.py");
    let mut command = Command::new(python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("Python starts");
    // The script reads all of it before it writes a byte.
    child
        .stdin
        .take()
        .expect("stdin is piped")
        .write_all(cases.to_string().as_bytes())
        .expect("the script reads all of it");
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success(), "{script} failed: {}", output.status);
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

/// The Python that has the package: scripts/test installs it.
fn python() -> Option<PathBuf> {
    let root = env::var_os("MLRSEARCH_VENV").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/mlrsearch")),
        PathBuf::from,
    );
    let python = root.join("bin/python");
    // Python alone is there too when the package could not be had.
    if root.join("installed").exists() {
        return Some(python);
    }
    skip::skip(format!("the package MLRsearch is missing in {}: run scripts/test", root.display()));
    None
}
