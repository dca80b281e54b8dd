//! Results that earlier versions wrote, one of each kind and version of its schema: they are read, and say what they reported.

use crate::items;
use model::history::Kept;
use model::run::Run;
use pathmeter_report::import::What;
use serde_json::{Map, Value};

/// The text of a file in `fixtures/results`.
fn result(name: &str) -> String {
    let path = format!("{}/tests/fixtures/results/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Such a document, and what reading it and writing it anew makes of it.
fn read_again(name: &str) -> (Value, Value) {
    let text = result(name);
    let before: Value = serde_json::from_str(&text).expect("JSON");
    let after = match items(&text).remove(0).what {
        What::Run(one) => serde_json::to_value(one.run),
        What::Report(Kept::Device(report)) => serde_json::to_value(report),
        What::Report(Kept::Lab(report)) => serde_json::to_value(report),
        other => panic!("{name} is {other:?}"),
    };
    (before, after.expect("JSON"))
}

/// The plan in a new document that had this key.
fn plan<'a>(run: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    run.get("work")?.get(if key == "plan" { "throughput" } else { key })
}

/// What the old document reports and the new one does not, as paths. What was added since does not count.
fn lost(path: &str, before: &Value, after: &Value, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (key, value) in before {
                let now = after.get(key).or_else(|| plan(after, key));
                lost(&format!("{path}.{key}"), value, now.unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                lost(&format!("{path}[{index}]"), before, after, found);
            }
        }
        // 0 and 0.0 are the same number.
        (Value::Number(before), Value::Number(after)) if before.as_f64() == after.as_f64() => {}
        // Nothing was reported.
        _ if before.is_null() || before.as_array().is_some_and(Vec::is_empty) => {}
        _ if before == after => {}
        _ => found.push(format!("{path}: {before} is {after} now")),
    }
}

/// The parts of a document that report what was measured, and how.
const REPORTED: [&str; 10] =
    ["summary", "tests", "plan", "latency", "path", "hops", "transfer", "intervals", "devices", "variants"];

#[test]
fn results_of_earlier_versions_report_what_they_reported() {
    for name in ["measure-1", "latency-1", "mtu-1", "transfer-1", "frames-1", "hops-1", "lab-1", "rfc2544-1"]
    {
        let (mut before, after) = read_again(name);
        let mut found = Vec::new();
        before.as_object_mut().expect("a document").retain(|key, _| REPORTED.contains(&key.as_str()));
        lost("", &before, &after, &mut found);
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

#[test]
fn a_result_with_a_key_for_each_kind_of_plan_is_read_by_run_read_alone() {
    for (name, kind) in [("latency-1", "latency"), ("mtu-1", "path"), ("hops-1", "hops")] {
        let document: Value = serde_json::from_str(&result(name)).expect("JSON");
        let direct = serde_json::from_value::<Run>(document.clone()).expect_err("it has no `work`");
        assert!(direct.to_string().contains("missing field `work`"), "{name}: {direct}");
        let run = Run::read(document.clone()).expect("a run");
        let work = serde_json::to_value(&run).expect("JSON")["work"][kind].clone();
        assert_eq!(work["target"], document[kind]["target"], "{name}");
        assert!(!run.target().is_empty(), "{name}");
    }
}
