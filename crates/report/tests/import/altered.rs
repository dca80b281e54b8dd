//! Each case with other hosts, ports, orders of keys and lines around it, with heads before its lines, in other encodings, in archives
//! and in other documents: its figures and its verdict stay. With other digits its figures are those.

use super::properties::{Random, shuffled};
use super::{fixture, near};
use flate2::{Compression, write::GzEncoder};
use pathmeter_report::import::{Imported, Known, read, texts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

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

/// The figures of the results in the bytes of a file.
fn figures_in(bytes: Vec<u8>) -> Result<Vec<Value>, String> {
    let mut all = Vec::new();
    for (_, text) in texts(bytes)? {
        all.extend(figures(&read("file", &text, Known::default()).map_err(|error| error.to_string())?));
    }
    Ok(all)
}

fn right(name: &str, text: &str) -> Vec<Value> {
    figures(&read("file", text, Known::default()).unwrap_or_else(|error| panic!("{name}: {error}")))
}

#[test]
fn cases_stay_right_whatever_is_altered_around_their_figures() {
    let mut random = Random(0x7f4a_7c15_9e37_79b9);
    for (name, text) in cases() {
        let right = right(&name, &text);
        for _ in 0..12 {
            let altered = altered(&text, &mut random);
            let found = figures_in(altered.clone().into_bytes());
            assert_eq!(found, Ok(right.clone()), "{name}:\n{altered}");
        }
    }
}

/// How logs, mails, pages and terminals show a line: the head before it and the tail behind it, of its number.
type Shown = fn(usize) -> (String, &'static str);

const SHOWN: [(&str, Shown); 24] = [
    ("journald", |line| (format!("Nov 25 10:{} host-1 run-test.sh[4711]: ", clock(line)), "")),
    ("journald, exact", |line| (format!("2026-11-25T10:{}.123456+0100 host-1 run[4711]: ", clock(line)), "")),
    ("docker compose", |_| ("client-1  | ".into(), "")),
    ("docker compose 1", |_| ("client_1   | ".into(), "")),
    ("kubectl", |_| ("[pod/net-client-6d5f4-x7f2k/client] ".into(), "")),
    ("CRI", |line| (format!("2026-11-25T10:{}.123456789+01:00 stdout F ", clock(line)), "")),
    ("GitHub Actions", |line| (format!("2026-11-25T10:{}.1234567Z ", clock(line)), "")),
    ("gh run view", |line| (format!("test\tRun it\t2026-11-25T10:{}.1234567Z ", clock(line)), "")),
    ("Jenkins", |line| (format!("[2026-11-25T10:{}.123Z] ", clock(line)), "")),
    ("log4j", |line| (format!("2026-11-25 10:{},123 INFO  [main] ", clock(line)), "")),
    ("ts", |line| (format!("Nov 25 10:{} ", clock(line)), "")),
    ("ts -s", |line| (format!("00:{} ", clock(line)), "")),
    ("ts %.s", |line| (format!("{}.123456 ", 1_795_245_000 + line), "")),
    ("grep", |_| ("results/run1.log:".into(), "")),
    ("grep -n", |line| (format!("results/run1.log:{}:", line + 1), "")),
    ("cat -n", |line| (format!("{:6}\t", line + 1), "")),
    ("a quotation", |_| ("> ".into(), "")),
    ("a quotation in one", |_| ("> > ".into(), "")),
    ("indented", |_| ("    ".into(), "")),
    ("a tab", |_| ("\t".into(), "")),
    ("a list", |_| ("  * ".into(), "")),
    ("a comment", |_| ("# ".into(), "")),
    ("Windows", |_| (String::new(), "\r")),
    ("colours", |_| ("\u{1b}[32m".into(), "\u{1b}[0m")),
];

/// Minutes and seconds of a line, one in a second.
fn clock(line: usize) -> String {
    format!("{:02}:{:02}", line / 60 % 60, line % 60)
}

fn shown(text: &str, shown: Shown) -> String {
    let lines = text.lines().enumerate().map(|(number, line)| {
        let (head, tail) = shown(number);
        format!("{head}{line}{tail}\n")
    });
    lines.collect()
}

#[test]
fn cases_stay_right_behind_heads() {
    let mut wrong = Vec::new();
    for (name, text) in cases() {
        let right = right(&name, &text);
        for (what, how) in SHOWN {
            // A head of its own would have the name of another source, or its time.
            if HEADED.contains(&name.as_str()) && what != "Windows" {
                continue;
            }
            let found = figures_in(shown(&text, how).into_bytes());
            if found != Ok(right.clone()) {
                wrong.push(format!("{name}: {what}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Cases whose lines have heads already.
const HEADED: [&str; 6] = [
    "docker-compose.txt",
    "mail-quoted.txt",
    "quoted-nbsp.txt",
    "timestamps-option.txt",
    "ping-prefixed.txt",
    "iperf2-indented.txt",
];

/// The lines broken at blanks, as mail programs do, or in the last column, as terminals do.
fn broken(text: &str, width: usize, at_blanks: bool) -> String {
    let mut broken = String::new();
    for mut line in text.lines().map(str::trim_end) {
        while line.chars().count() > width {
            let full = line.char_indices().nth(width).map_or(line.len(), |(at, _)| at);
            let fits = if line[full..].starts_with(' ') { Some(full) } else { line[..full].rfind(' ') };
            let blank = fits.filter(|at| at_blanks && *at > 0);
            let (begin, rest) = line.split_at(blank.unwrap_or(full));
            broken += begin.trim_end();
            broken.push('\n');
            line = if at_blanks { rest.trim_start() } else { rest };
        }
        broken += line;
        broken.push('\n');
    }
    broken
}

#[test]
fn cases_stay_right_in_broken_lines() {
    let mut wrong = Vec::new();
    for (name, text) in cases().into_iter().filter(|(name, _)| may_be_broken(name)) {
        let right = right(&name, &text);
        for (width, at_blanks, head) in BREAKS {
            let broken = broken(&text, width, at_blanks);
            let shown: String = broken.lines().map(|line| format!("{head}{line}\n")).collect();
            let found = figures_in(shown.into_bytes());
            if found != Ok(right.clone()) {
                wrong.push(format!("{name}: {width} {at_blanks} {head:?} {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The rest of a broken line has no head; the tables of netperf are refused without the begins of their rows; the heading of a German
/// ping ends in a word of the language.
fn may_be_broken(name: &str) -> bool {
    let is_read = !name.starts_with("netperf") && name != "ping-windows-de.txt";
    name.ends_with(".txt") && is_read && (!HEADED.contains(&name) || name.contains("quoted"))
}

/// Columns, whether lines are broken at blanks, and what a mail program puts before each.
const BREAKS: [(usize, bool, &str); 5] =
    [(72, true, ""), (65, true, ""), (76, true, "> "), (80, false, ""), (100, false, "")];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes).expect("memory");
    gzip.finish().expect("memory")
}

#[test]
fn cases_stay_right_in_what_holds_them() {
    let mut wrong = Vec::new();
    for (name, text) in cases() {
        let right = right(&name, &text);
        let units = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let cells = escaped.lines().map(|line| format!("<tr><td>{line}</td></tr>\n")).collect::<String>();
        let held: [(&str, Vec<u8>); 12] = [
            ("gzip", gzip(text.as_bytes())),
            ("gzip in gzip", gzip(&gzip(text.as_bytes()))),
            ("UTF-16", [vec![0xff, 0xfe], units(u16::to_le_bytes)].concat()),
            ("UTF-16, its bytes swapped", [vec![0xfe, 0xff], units(u16::to_be_bytes)].concat()),
            ("UTF-16 without a mark", units(u16::to_le_bytes)),
            ("a mark of the byte order", format!("\u{feff}{text}").into_bytes()),
            (
                "a fence",
                format!(
                    "# Results\n\n1. One:\n\n   ```console\n{}   ```\n\nthanks\n",
                    shown(&text, |_| ("   ".into(), ""))
                )
                .into_bytes(),
            ),
            (
                "a page",
                format!("<!DOCTYPE html><html><body><pre>\n{escaped}</pre></body></html>\n").into_bytes(),
            ),
            ("a table", format!("<html><table>{cells}</table></html>\n").into_bytes()),
            ("a string of JSON", json!({"host": "a", "stdout": text}).to_string().into_bytes()),
            (
                "lines in a list",
                serde_json::to_vec_pretty(&json!({"rc": 0, "lines": text.lines().collect::<Vec<_>>()}))
                    .expect("JSON"),
            ),
            (
                "a log of JSON",
                text.lines()
                    .map(|line| json!({"log": format!("{line}\n"), "stream": "stdout"}).to_string() + "\n")
                    .collect::<String>()
                    .into_bytes(),
            ),
        ];
        for (what, bytes) in held {
            if figures_in(bytes) != Ok(right.clone()) {
                wrong.push(format!("{name}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A decimal number times a whole one, with its own decimals.
fn times(number: &str, factor: u64) -> Option<String> {
    let decimals = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits: u64 = number.replace('.', "").parse().ok()?;
    let product = format!("{:0width$}", digits.checked_mul(factor)?, width = decimals + 1);
    let (whole, fraction) = product.split_at(product.len() - decimals);
    Some(if decimals == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

/// The same with all amounts and rates of rows, all times of pings and of SockPerf as many times as large.
fn multiplied(text: &str, factor: u64) -> String {
    let line = |line: &str| {
        let tokens: Vec<&str> = line.split(' ').collect();
        let is_row = line.contains(" sec ");
        let mut amounts = 0;
        let word = |(at, word): (usize, &&str)| {
            let next = tokens[at + 1..].iter().find(|next| !next.is_empty()).copied().unwrap_or_default();
            let is_amount = is_row && (next.contains("Bytes") || next.contains("bits")) && amounts < 2;
            amounts += usize::from(is_amount);
            let is_trip = line.starts_with("sockperf: ---> ") && tokens[..at].contains(&"=");
            let (name, number) = word.rsplit_once('=').map_or(("", *word), |(name, number)| (name, number));
            let before = tokens[..at].iter().rev().find(|word| !word.is_empty()).copied().unwrap_or_default();
            let is_apart = ["avg-lat=", "avg-latency=", "avg-rtt="].contains(&before);
            let is_time = ["time", "avg-latency", "avg-lat", "avg-rtt"].iter().any(|of| name.ends_with(of));
            let times = |number: &str| times(number, factor).unwrap_or_else(|| number.to_owned());
            match () {
                () if is_amount || is_trip || is_apart => times(word),
                () if is_time => format!("{name}={}", times(number)),
                () if line.contains("min/avg/max") && word.matches('/').count() > 1 => {
                    word.split('/').map(times).collect::<Vec<_>>().join("/")
                }
                () => (*word).to_owned(),
            }
        };
        tokens.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

/// The cases whose amounts, rates and times are free to be others.
const FREE: [&str; 19] = [
    "iperf3-megabytes.txt",
    "iperf3-bidir-p2.txt",
    "iperf3-server-three-clients.txt",
    "iperf3-bytes.txt",
    "iperf3-interrupted-p2.txt",
    "iperf2-2.0-tradeoff.txt",
    "iperf2-1.7-windows.txt",
    "iperf2-kilobytes.txt",
    "iperf2-rounded-time.txt",
    "longer-than-60s.txt",
    "docker-compose.txt",
    "mail-quoted.txt",
    "timestamps-option.txt",
    "idle-server-stopped.txt",
    "idle-server-then-client.txt",
    "ping-macos.txt",
    "ping-openbsd.txt",
    "sockperf-dropped.txt",
    "sockperf-3.5-pp.txt",
];

#[test]
fn cases_with_other_digits_have_those_figures() {
    for (name, text) in cases().into_iter().filter(|(name, _)| FREE.contains(&name.as_str())) {
        let plain = right(&name, &text);
        for factor in [2, 3, 7] {
            let altered = multiplied(&text, factor);
            assert_ne!(altered, text, "{name}");
            let other = right(&name, &altered);
            assert_eq!(other.len(), plain.len(), "{name}:\n{altered}");
            for (one, other) in plain.iter().zip(&other) {
                let mut held = 0;
                for pointer in [
                    "/up/3",
                    "/down/3",
                    "/up/1/bytes",
                    "/down/0/bytes",
                    "/round_trips/1/mean",
                    "/round_trips/1/max",
                    "/round_trips/1/min",
                ] {
                    let figure = |value: &Value| {
                        value.pointer(pointer).and_then(Value::as_f64).filter(|figure| *figure > 0.0)
                    };
                    assert_eq!(figure(one).is_some(), figure(other).is_some(), "{name}: {pointer}");
                    if let (Some(one), Some(other)) = (figure(one), figure(other)) {
                        near(other, one * factor as f64, 0.006);
                        held += 1;
                    }
                }
                assert!(held > 1, "{name}: {one}");
                // How long a round trip is weighs in what is found of it.
                let keys = ["tool", "version", "status", "findings"];
                for key in keys.iter().take(if one["round_trips"].is_null() { 4 } else { 2 }) {
                    assert_eq!(one[key], other[key], "{name} times {factor}: {key}\n{altered}");
                }
                assert_eq!(one["up"][7], other["up"][7], "{name}");
            }
        }
    }
}
