//! `pathmeter import`: files, standard input, several at once, and what is none.

use super::{Ended, Scratch, run, succeed};
use std::io::Write;
use std::process::{Command, Stdio};

/// An output of a real tool.
fn fixture(name: &str) -> String {
    format!("{}/../report/tests/import/outputs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn an_output_is_reported_with_its_reasons() {
    let text = succeed(&format!("import {}", fixture("iperf3-udp-fragmented.txt")));
    let text = text.replace(&fixture(""), "");
    insta::assert_snapshot!("import_fragmented", text);
}

#[test]
fn several_files_are_read_one_after_another() {
    let (one, two) = (fixture("iperf3-udp-1472.txt"), fixture("iperf3-tcp-p20-summary.txt"));
    let csv = succeed(&format!("import {one} {two} --format csv"));
    assert!(csv.contains("163891"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("run,")).count(), 1);
    let json = succeed(&format!("import {one} {two} --json"));
    let runs: Vec<serde_json::Value> = serde_json::from_str(&json).expect("one JSON document: an array");
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["schema"], "pathmeter/result/1");
    assert_eq!(runs[1]["summary"]["up"]["streams"].as_array().map(Vec::len), Some(20));
}

#[test]
fn standard_input_is_read_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pathmeter"))
        .args(["import", "-", "--link", "10G"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let text = std::fs::read(fixture("iperf3-udp-1472.txt")).expect("the fixture");
    child.stdin.take().expect("piped").write_all(&text).expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    let reported = String::from_utf8_lossy(&out.stdout);
    assert!(
        reported.starts_with("--- standard input:1: iPerf3\n") && reported.contains("line rate"),
        "{reported}"
    );
}

#[test]
fn what_is_no_output_is_named_and_keeps_nothing_back() {
    let scratch = Scratch::new("import");
    let letter = scratch.0.join("letter.txt");
    std::fs::write(&letter, "Dear Sir,\n").expect("it can be written");
    let ended = run(&format!("import {} /nowhere/x {}", letter.display(), fixture("iperf3-udp-1472.txt")));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stdout.contains("163\u{a0}891"), "{}", ended.stdout);
    let expected =
        "letter.txt holds no output that can be read: it looks like text that begins with \"Dear Sir,\"";
    assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    assert!(ended.stderr.contains("/nowhere/x: No such file"), "{}", ended.stderr);
}

/// The part of a gzip before its cut or damage is imported, and the damage is named.
#[test]
fn a_gzip_that_is_cut_off_is_read_so_far() {
    let scratch = Scratch::new("import-cut");
    let output = std::fs::read_to_string(fixture("iperf3-udp-1472.txt")).expect("the fixture");
    let log: String = (0..400).map(|run| format!("host:~$ run {run}\n{output}")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(log.as_bytes()).expect("memory");
    let packed = gzip.finish().expect("memory");
    let count = |ended: &Ended| ended.stdout.matches(": iPerf3\n").count();
    for (name, length, least) in [("half.gz", packed.len() / 2, 100), ("end.gz", packed.len() - 4, 400)] {
        let file = scratch.0.join(name);
        std::fs::write(&file, &packed[..length]).expect("it can be written");
        let ended = run(&format!("import {}", file.display()));
        assert_eq!(ended.code, Some(2));
        let damage = format!("{name} is read in part: it is gzip that is cut off");
        assert!(ended.stderr.contains(&damage), "{}", ended.stderr);
        assert!((least..=400).contains(&count(&ended)), "{} of {name}", count(&ended));
        // The readable part is analysed.
        let analysed = run(&format!("analyse {}", file.display()));
        assert_eq!(analysed.code, Some(0), "{}", analysed.stderr);
        assert!(analysed.stderr.contains("is read in part"), "{}", analysed.stderr);
    }
    let file = scratch.0.join("nothing.gz");
    std::fs::write(&file, &packed[..12]).expect("it can be written");
    let ended = run(&format!("import {}", file.display()));
    assert!(ended.stderr.contains("nothing.gz is not read: it is gzip that is cut off"), "{}", ended.stderr);
    assert_eq!(ended.code, Some(2));
}
