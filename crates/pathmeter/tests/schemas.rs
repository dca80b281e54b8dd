//! The published schemas are those of the code. `UPDATE_SCHEMAS=1 cargo test -p pathmeter --features schema --test schemas` writes them anew.

use insight::{analysis::Analysis, run_of_events};
#[cfg(feature = "lab")]
use lab_run::catalogue::{TopologyDocument, TopologyRow};
#[cfg(feature = "fleet")]
use mesh::{allowed::Allowed, roster::Roster, runs::RunList};
use model::doctor::Check;
use model::dut::{BenchmarkPlan, DutReport};
use model::experiment::{Experiment, Outline};
use model::history::Entry;
use model::line_rate::LineRate;
use model::mesh::MeshReport;
use model::{lab::LabReport, plan::Plan, run::Run};
use report::document::{ErrorDocument, Published, PublishedEvent, PublishedPlan, UNITS};
use report::format::compared::Compared;
use report::format::rfc2544::StreamLine;
use report::format::trend::Trends;
use schemars::{Schema, schema_for};
use std::fs;
use std::path::Path;

#[test]
fn published_schemas_are_those_of_the_code() {
    let published = [
        ("result", schema_for!(Published<Run>)),
        ("plan", schema_for!(PublishedPlan)),
        ("event", schema_for!(PublishedEvent)),
        ("analysis", schema_for!(Analysis)),
        ("lab", schema_for!(Published<LabReport>)),
        ("experiment", schema_for!(Published<Experiment>)),
        ("mesh", schema_for!(Published<MeshReport>)),
        ("experiment-plan", schema_for!(Outline)),
        ("rfc2544", schema_for!(Published<DutReport>)),
        ("rfc2544-plan", schema_for!(BenchmarkPlan)),
        ("rfc2544-stream", schema_for!(StreamLine)),
        ("comparison", schema_for!(Compared)),
        ("history", schema_for!(Vec<Published<Entry>>)),
        ("trend", schema_for!(Trends)),
        ("doctor", schema_for!(Vec<Check>)),
        ("error", schema_for!(ErrorDocument)),
        ("linerate", schema_for!(LineRate)),
        #[cfg(feature = "lab")]
        ("lab-list", schema_for!(Vec<TopologyRow>)),
        #[cfg(feature = "lab")]
        ("lab-show", schema_for!(TopologyDocument<'static>)),
        #[cfg(feature = "fleet")]
        ("agents", schema_for!(Roster)),
        #[cfg(feature = "fleet")]
        ("agent-rules", schema_for!(Allowed)),
        #[cfg(feature = "fleet")]
        ("mesh-runs", schema_for!(RunList)),
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
                "{} is stale: UPDATE_SCHEMAS=1 cargo test -p pathmeter --features schema --test schemas",
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

/// A key of a plan has its unit, or `units` beside it has.
#[test]
fn amounts_in_a_plan_have_a_unit() {
    let schema = schema_for!(Plan).to_value();
    let amounts = ["Nanos", "BitRate", "Bytes", "PacketRate"].map(|name| format!("\"#/$defs/{name}\""));
    let mut named = 0;
    let parts = schema["$defs"].as_object().expect("parts of a plan").values();
    let kinds = parts.clone().flat_map(|part| part["oneOf"].as_array().into_iter().flatten());
    for part in parts.chain(kinds) {
        for (key, of) in part["properties"].as_object().into_iter().flatten() {
            let text = of.to_string();
            if amounts.iter().any(|amount| text.contains(amount)) {
                let has_suffix = ["_ns", "_bps", "_bytes", "_pps"].iter().any(|suffix| key.ends_with(suffix));
                assert!(has_suffix || UNITS.iter().any(|(name, _)| name == key), "{key} has no unit");
                named += 1;
            }
        }
    }
    assert!(named >= 9, "the walk finds the amounts: {named}");
}

fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a schema is JSON");
    text.push('\n');
    text
}
