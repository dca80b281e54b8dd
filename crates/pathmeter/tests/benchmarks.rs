//! The documents about speed show what is stored in `docs/benchmarks/`, and what is stored is judged by ranks.
//! `cargo bench --bench peers -- --tables` makes the documents anew.

#[path = "../benches/common/document/mod.rs"]
#[expect(dead_code, reason = "the benchmarks write what is only read here")]
mod document;

use document::judge::{Reached, judge};
use document::{Case, Contender, Figure, Goal, Measure, Record, Setting, Turn, pages, tables};
use std::fs;
use std::path::Path;

#[test]
fn documents_show_what_is_stored() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for (path, text) in pages::all(root).unwrap() {
        let shown = fs::read_to_string(&path).unwrap_or_default();
        assert!(shown == text, "{} is stale: cargo bench --bench peers -- --tables", path.display());
    }
    for name in pages::BENCHMARKS {
        let record = pages::load(root, name).unwrap();
        let text = fs::read_to_string(pages::stored(root, name)).unwrap_or_default();
        assert!(text.is_empty() || record.to_json().unwrap() == text, "{name}.json is not as it is written");
    }
}

#[test]
fn a_goal_is_held_against_the_strongest_setting_turn_by_turn() {
    // The machine's speed changes from turn to turn, which pairs of turns do not see.
    let speeds: Vec<f64> = (1..=10).map(|turn| f64::from(turn) * 10.0).collect();
    let times = |factor: f64| speeds.iter().map(|speed| speed * factor).collect::<Vec<_>>();
    let record = record(&[("ours", times(1.2)), ("weak", times(0.5)), ("strong", times(1.0))]);
    let reached = |figure: &str, wanted| {
        let judged = judge(&record, &record.cases[0], &goal(figure, &["weak", "strong"], wanted)).unwrap();
        (judged.peer, judged.reached)
    };
    assert_eq!(reached("rate", 1.1), ("strong".into(), Reached::Yes));
    assert_eq!(reached("rate", 1.3), ("strong".into(), Reached::No));
    // Less of a time is better: the weak one is the strong one.
    assert_eq!(reached("time", 2.5), ("weak".into(), Reached::Yes));
    assert_eq!(reached("time", 2.3), ("weak".into(), Reached::No));
}

#[test]
fn what_turns_do_not_decide_is_open() {
    let ours = vec![0.9, 1.2, 0.95, 1.1, 1.3, 0.8, 1.05, 0.97, 1.15, 1.02];
    let record = record(&[("ours", ours), ("peer", vec![1.0; 10])]);
    let reached =
        |wanted| judge(&record, &record.cases[0], &goal("rate", &["peer"], wanted)).unwrap().reached;
    assert_eq!(reached(1.0), Reached::CannotTell);
    assert_eq!(reached(0.9), Reached::Yes, "the second least of ten is the bound");
    assert_eq!(reached(1.25), Reached::No);
}

#[test]
fn too_few_turns_decide_nothing_and_disturbed_ones_do_not_count() {
    let mut record = record(&[("ours", vec![2.0; 8]), ("peer", vec![1.0; 8])]);
    let goal = goal("rate", &["peer"], 1.0);
    let judged = |record: &Record| judge(record, &record.cases[0], &goal).unwrap();
    assert_eq!(judged(&record).reached, Reached::Yes);
    // Two of ours and another one of the peer's: five are left.
    for (contender, turn) in [(0, 0), (0, 1), (1, 2)] {
        record.cases[0].contenders[contender].turns[turn].foreign = 0.5;
    }
    assert_eq!((judged(&record).group.runs, judged(&record).reached), (5, Reached::CannotTell));
    assert!(tables::case(&record, &record.cases[0]).contains("6, and 2 disturbed"));
}

#[test]
fn what_is_stored_is_read_again_and_cases_are_replaced_by_name() {
    let old = record(&[("ours", vec![1.0; 3])]);
    assert_eq!(serde_json::from_str::<Record>(&old.to_json().unwrap()).unwrap(), old);
    let mut merged = old.clone();
    let mut new = record(&[("ours", vec![2.0; 3])]);
    let mut other = new.cases[0].clone();
    other.name = "first".into();
    new.cases.push(other);
    let names = ["first", "case"].map(String::from);
    merged.merge(new, &names);
    assert_eq!(merged.cases.iter().map(|case| case.name.clone()).collect::<Vec<_>>(), names);
    assert_eq!(merged.cases[1].contenders[0].values("rate"), [2.0; 3]);
}

/// One case of one turn for each value, undisturbed; `time` is the same as `rate`, but less of it is better.
fn record(contenders: &[(&str, Vec<f64>)]) -> Record {
    let figure = |key: &str, higher_is_better| Figure {
        key: key.into(),
        title: key.into(),
        higher_is_better,
        beyond: None,
    };
    let turn = |(index, value): (usize, &f64)| Turn {
        turn: index + 1,
        foreign: 0.0,
        figures: [("rate".into(), *value), ("time".into(), *value)].into(),
    };
    let contender = |(label, values): &(&str, Vec<f64>)| Contender {
        label: (*label).into(),
        turns: values.iter().enumerate().map(turn).collect(),
        failed: None,
    };
    Record {
        figures: vec![figure("rate", true), figure("time", false)],
        cases: vec![Case {
            name: "case".into(),
            setting: Setting::default(),
            goals: Vec::new(),
            contenders: contenders.iter().map(contender).collect(),
        }],
    }
}

fn goal(figure: &str, peers: &[&str], wanted: f64) -> Goal {
    let peers = peers.iter().map(ToString::to_string).collect();
    Goal { figure: figure.into(), ours: "ours".into(), peers, measure: Measure::Ratio, wanted }
}
