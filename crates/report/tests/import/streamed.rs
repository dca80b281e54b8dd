//! A text that is read in windows holds the same as one that is read whole, wherever the windows end.

use crate::fixture;
use pathmeter_report::import::{Imported, Known, Outputs, What, read};
use std::io::Cursor;

/// The runs of a text, read in windows of so many bytes.
fn streamed(text: &str, window: usize) -> Vec<Imported> {
    let source = Box::new(Cursor::new(text.to_owned().into_bytes()));
    let batches = Outputs::with_window(source, window);
    let items = batches.flat_map(|batch| batch.expect("a text").read("file", Known::default()));
    let runs = items.filter_map(|item| match item.what {
        What::Run(run) => Some(*run),
        What::Report(_) | What::Mark(_) => None,
    });
    runs.collect()
}

fn whole(text: &str) -> Vec<Imported> {
    read("file", text, Known::default()).unwrap_or_default()
}

#[track_caller]
fn alike(name: &str, text: &str, window: usize) {
    let (one, other) = (whole(text), streamed(text, window));
    let lines = |all: &[Imported]| all.iter().map(|one| (one.line, one.tool)).collect::<Vec<_>>();
    assert_eq!(lines(&other), lines(&one), "{name} in windows of {window} bytes");
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(other, one, "{name} in windows of {window} bytes");
    }
}

fn outputs() -> Vec<(String, String)> {
    let folder = format!("{}/tests/import/outputs", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of outputs")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter(|name| !name.ends_with(".zip") && !name.ends_with(".gz"))
        .collect();
    names.sort();
    let text = |name: &String| {
        let bytes = std::fs::read(format!("{folder}/{name}")).ok()?;
        Some((name.clone(), String::from_utf8(bytes).ok()?))
    };
    names.iter().filter_map(text).collect()
}

#[test]
fn each_output_is_the_same_in_windows() {
    let outputs = outputs();
    assert!(outputs.len() > 20, "the recorded outputs are here");
    for (name, text) in &outputs {
        for window in [700, 5000] {
            alike(name, text, window);
        }
    }
}

#[test]
fn a_log_of_many_outputs_is_the_same_in_windows() {
    let outputs = [
        "iperf3-udp-1472.txt",
        "iperf3-tcp-p20-summary.txt",
        "iperf2-tcp-p10-final.txt",
        "ping-do-1402-mtu1430.txt",
    ];
    let mut log = String::new();
    for round in 0..12 {
        for name in outputs {
            log += &format!("user@host:~$ run {round}\n{}\n", fixture(name));
        }
    }
    for window in [300, 4000, 20_000] {
        alike("the log", &log, window);
    }
}

/// Lines of others behind an output do not hold it open for ever, and what follows them is read.
#[test]
fn lines_of_others_do_not_make_a_window_grow() {
    let output = fixture("iperf3-tcp-p20-summary.txt");
    let others = "GET /index.html 200\n".repeat(60_000);
    let log = format!("{output}{others}{output}");
    let lines = |runs: &[Imported]| runs.iter().map(|run| run.line).collect::<Vec<_>>();
    let first = lines(&whole(&output))[0];
    assert_eq!(lines(&streamed(&log, 4000)), [first, output.matches('\n').count() + 60_000 + first]);
}
