//! Real and complete documents, to hold expectations against and to spoil.

use model::dut::DutReport;
use model::run::Run;
use report::format::rfc2544;
use report::import::{Known, read};
use std::path::Path;

/// A run of each kind: those whose documents the tests of the formats hold.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn runs() -> Vec<Run> {
    let imported = |text: String| read("sample", &text, Known::default()).ok();
    let runs: Vec<Run> = documents().filter_map(imported).flatten().map(|one| one.run).collect();
    assert!(runs.len() > 10, "{} documents are runs", runs.len());
    runs
}

/// Benchmarks of devices: one with every test, a quick one, and one of several devices.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn devices() -> Vec<DutReport> {
    let devices: Vec<DutReport> = documents().filter_map(|text| rfc2544::read(&text).ok()).collect();
    assert!(devices.len() >= 3, "{} documents are benchmarks of devices", devices.len());
    devices
}

/// The documents that the tests of the formats hold.
fn documents() -> impl Iterator<Item = String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/report/tests/formats/snapshots");
    let files = std::fs::read_dir(&folder).expect("the documents are in the repository");
    let mut paths: Vec<_> = files.map(|file| file.expect("it is listed").path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".json.snap"));
    paths.sort();
    paths.into_iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("it is text");
        // A snapshot begins with what it is of, between two rules.
        text.splitn(3, "---\n").nth(2).unwrap_or(&text).to_owned()
    })
}
