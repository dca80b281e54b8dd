//! Each case with other hosts, ports, numbers of streams, orders of keys and lines around it: its figures and its verdict stay.

use super::fixture;
use super::properties::{Random, shuffled};
use pathmeter_report::import::{Imported, Known, read, texts};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The cases, as texts.
fn cases() -> Vec<(String, String)> {
    let folder = format!("{}/tests/import/outputs/cases", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        // One is of UTF-16, and one is of a tool that is named and not read.
        .filter(|name| !name.starts_with("utf16") && !name.starts_with("fping"))
        .collect();
    names.sort();
    assert!(names.len() > 30, "the cases are here");
    let text = |name: String| (name.clone(), fixture(&format!("cases/{name}")));
    names.into_iter().map(text).collect()
}

/// What must not change: the figures of each run, its findings and its verdict.
fn figures(all: &[Imported]) -> Vec<Value> {
    let direction = |one: &Imported, name: &str| {
        let value = serde_json::to_value(&one.run.summary).expect("JSON")[name].clone();
        let keys = [
            "sent",
            "received",
            "seconds",
            "goodput_bps",
            "loss",
            "reordered",
            "jitter_ns",
            "retransmits",
            "mss",
        ];
        keys.map(|key| value[key].clone())
    };
    let of_run = |one: &Imported| {
        let findings: Vec<&str> = one.run.findings.iter().map(|finding| finding.id.as_str()).collect();
        let counted = one.run.summary.egress_paths.first().map(|path| (path.counted, path.rtt));
        json!({
            "tool": one.tool.to_string(), "version": one.version, "status": one.run.verdict.status, "findings": findings,
            "up": direction(one, "up"), "down": direction(one, "down"), "round_trips": counted
        })
    };
    all.iter().map(of_run).collect()
}

/// Words of digits and dots, with what stands between them.
fn replaced(text: &str, mut replace: impl FnMut(&str, &str) -> Option<String>) -> String {
    let is_word = |c: char| c.is_ascii_digit() || c == '.';
    let mut altered = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_word) {
        altered.push_str(&rest[..at]);
        let word = &rest[at..];
        let word = &word[..word.find(|c| !is_word(c)).unwrap_or(word.len())];
        let before = altered.clone();
        let behind = before.get(before.len().saturating_sub(24)..).unwrap_or_default();
        altered.push_str(&replace(behind, word).unwrap_or_else(|| word.to_owned()));
        rest = &rest[at + word.len()..];
    }
    altered + rest
}

/// Other hosts and ports, each for one, wherever it stands.
fn with_other_hosts(text: &str, random: &mut Random) -> String {
    let mut hosts: BTreeMap<String, String> = BTreeMap::new();
    let mut ports: BTreeMap<String, u64> = BTreeMap::new();
    replaced(text, |before, word| {
        let octets: Vec<&str> = word.trim_end_matches('.').split('.').collect();
        let is_host = octets.len() == 4 && octets.iter().all(|octet| octet.parse::<u8>().is_ok());
        if is_host {
            let dots = &word[word.trim_end_matches('.').len()..];
            let host = hosts.entry(octets.join(".")).or_insert_with(|| random.address());
            return Some(format!("{host}{dots}"));
        }
        let is_port = before.ends_with("port ") && word.len() > 4;
        is_port.then(|| {
            ports.entry(word.to_owned()).or_insert_with(|| random.within(30_000, 65_000)).to_string()
        })
    })
}

/// Empty lines, and blanks at the ends of lines; other ends of lines.
fn with_other_lines(text: &str, random: &mut Random) -> String {
    let end = ["\n", "\r\n"][random.within(0, 1) as usize];
    let mut altered = String::new();
    for line in text.lines() {
        if random.within(0, 7) == 0 {
            altered.push_str(end);
        }
        altered += line;
        altered += ["", " ", "   "][random.within(0, 2) as usize];
        altered += end;
    }
    altered
}

fn altered(text: &str, random: &mut Random) -> String {
    let text = with_other_hosts(text, random);
    match serde_json::from_str::<Value>(&text) {
        Ok(value) => shuffled(&value, random),
        Err(_) => with_other_lines(&text, random),
    }
}

#[test]
fn cases_stay_right_whatever_is_altered_around_their_figures() {
    let mut random = Random(0x7f4a_7c15_9e37_79b9);
    for (name, text) in cases() {
        let right = figures(&read("file", &text, Known::default()).unwrap_or_else(|error| panic!("{error}")));
        for _ in 0..12 {
            let altered = altered(&text, &mut random);
            let (_, decoded) = texts(altered.clone().into_bytes()).expect("a text").remove(0);
            let read = read("file", &decoded, Known::default())
                .unwrap_or_else(|error| panic!("{name}: {error}\n{altered}"));
            assert_eq!(figures(&read), right, "{name}:\n{altered}");
        }
    }
}
