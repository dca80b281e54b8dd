//! The published schemas are those of the code. `UPDATE_SCHEMAS=1 cargo test --test schemas` writes them anew.

use insight::{analysis::Analysis, run_of_events};
use model::history::Entry;
use model::{dut::DutReport, event::Event, lab::LabReport, plan::Plan, run::Run};
use report::format::compared::Compared;
use report::format::trend::Trends;
use schemars::{Schema, schema_for};
use std::fs;
use std::path::Path;

#[test]
fn published_schemas_are_those_of_the_code() {
    let published = [
        ("result", schema_for!(Run)),
        ("plan", schema_for!(Plan)),
        ("event", schema_for!(Event)),
        ("analysis", schema_for!(Analysis)),
        ("lab", schema_for!(LabReport)),
        ("rfc2544", schema_for!(DutReport)),
        ("comparison", schema_for!(Compared)),
        ("history", schema_for!(Vec<Entry>)),
        ("trend", schema_for!(Trends)),
    ];
    for (name, schema) in published {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
        let text = text(&schema);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, text).expect("write the schema");
        } else {
            let stored = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                stored == text,
                "{} is stale: UPDATE_SCHEMAS=1 cargo test --test schemas",
                path.display()
            );
        }
    }
}

/// A document as the code writes it has no key that the schema does not name, and all that it demands.
#[test]
fn the_result_schema_names_the_keys_of_a_result() {
    let schema = schema_for!(Run).to_value();
    let run = serde_json::to_value(run_of_events("1", "throughput", &[])).expect("a run is JSON");
    let keys = run.as_object().expect("a run is an object");
    let named = schema["properties"].as_object().expect("the schema of an object");
    for key in keys.keys() {
        assert!(named.contains_key(key), "{key} is not in the schema");
    }
    for required in schema["required"].as_array().expect("required keys") {
        assert!(keys.contains_key(required.as_str().expect("a name")), "{required} is missing");
    }
}

fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
    text.push('\n');
    text
}
