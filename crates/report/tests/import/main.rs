//! Outputs of real tools read back: every fixture with the figures that must be read out of it.

#[path = "../agree/mod.rs"]
mod agree;
mod altered;
mod analyse;
mod cases;
mod containers;
mod earlier;
mod iperf2;
mod iperf3;
mod json;
mod kinds;
mod languages;
mod live;
mod mixed;
mod netperf;
mod newer;
mod ping;
mod printed;
mod probes;
mod properties;
mod qperf;
mod recorded;
mod sockperf;
mod streamed;
mod variants;

use pathmeter_report::import::{Imported, Item, Known, Outputs, read};

/// The text of a fixture.
fn fixture(name: &str) -> String {
    let path = format!("{}/tests/import/outputs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Everything that a text holds.
fn items(text: &str) -> Vec<Item> {
    let outputs = Outputs::of_source(Box::new(std::io::Cursor::new(text.to_owned().into_bytes())));
    outputs.flat_map(|batch| batch.expect("a text").read("file", Known::default())).collect()
}

/// Every output of a text.
fn all(text: &str) -> Vec<Imported> {
    read("file", text, Known::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The only output of a text.
fn only(text: &str) -> Imported {
    let mut all = read("file", text, Known::default()).expect("it is an output");
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// The only output of a text of exact figures, which agrees with itself.
fn exact(text: &str) -> Imported {
    let imported = only(text);
    let found = agree::contradictions(&serde_json::to_value(&imported.run).expect("a document"));
    assert!(found.is_empty(), "{:?}: {}", imported.tool, found.join("\n"));
    imported
}

fn warned(imported: &Imported, id: &str) -> bool {
    imported.run.summary.warnings.iter().any(|warning| warning.id == id)
}

fn found(imported: &Imported, id: &str) -> bool {
    imported.run.findings.iter().any(|finding| finding.id == id)
}

#[track_caller]
fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} is not {expected}");
}
