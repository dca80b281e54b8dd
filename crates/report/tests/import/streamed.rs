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

/// A ping of many windows, with replies that are missing, late and doubled: nothing of it depends on where the windows end.
#[test]
fn a_long_ping_is_the_same_in_windows() {
    let reply = |sequence: u32| {
        let (host, rtt) = ("192.0.2.9", 10.0 + f64::from(sequence * 7919 % 100) / 10.0);
        format!("64 bytes from {host}: icmp_seq={sequence} ttl=57 time={rtt:.1} ms\n")
    };
    let mut rows = String::new();
    for sequence in (1..=4000).filter(|sequence| !(1200..1260).contains(sequence) && sequence % 97 != 0) {
        // One in a hundred comes behind the next two.
        let replied = if sequence % 100 == 50 { None } else { Some(sequence) };
        replied.iter().for_each(|sequence| rows += &reply(*sequence));
        if sequence % 100 == 52 {
            rows += &reply(sequence - 2);
        }
        if sequence % 500 == 3 {
            rows += &reply(sequence).replace(" ms", " ms (DUP!)");
        }
        if sequence % 700 == 5 {
            rows += &format!("From 198.51.100.7 icmp_seq={sequence} Destination Host Unreachable\n");
        }
    }
    let head = "PING 192.0.2.9 (192.0.2.9) 56(84) bytes of data.\n";
    let end = "\n--- 192.0.2.9 ping statistics ---\n\
        4000 packets transmitted, 3901 received, +8 duplicates, +6 errors, 2% packet loss, time 4003999ms\n\
        rtt min/avg/max/mdev = 10.000/14.950/19.900/2.887 ms\n";
    let prefixed = |text: &str| text.lines().map(|line| format!("ping-1  | {line}\n")).collect::<String>();
    let iperf = fixture("iperf3-tcp-p20-summary.txt");
    let whole = format!("{head}{rows}{end}");
    for (name, text) in [
        ("a whole one", whole.clone()),
        ("one that is cut off", format!("{head}{rows}")),
        ("one without a heading", format!("{rows}{end}")),
        ("one with heads", prefixed(&whole)),
        ("two, and another tool's", format!("{iperf}{whole}{iperf}{head}{rows}{end}")),
        (
            "one with lines of others",
            whole
                .replace("icmp_seq=7 ", "icmp_seq=7 \u{1b}[0m")
                .replace("icmp_seq=777 ", "\nnoise\n{\"a\": 1}\nicmp_seq=777 "),
        ),
    ] {
        for window in [700, 5000, 60_000] {
            alike(name, &text, window);
        }
    }
}

/// Outputs of several sources, line by line: none is taken twice or in pieces, wherever the windows end.
#[test]
fn outputs_of_several_sources_are_the_same_in_windows() {
    let names = ["iperf3-3.21-tcp.client.txt", "ping-do-1402-mtu1430.txt", "iperf3-udp-1472.txt"];
    let logs = names.map(|name| format!("user@host:~$ run\n{}\n", fixture(name)).repeat(4));
    let mut lines: Vec<_> = logs.iter().map(|log| log.lines()).collect();
    let mut text = String::new();
    for round in 0_usize.. {
        let before = text.len();
        for (source, lines) in lines.iter_mut().enumerate() {
            // Each has its own speed.
            for line in lines.take([3, 1, 2][source] + round % 2) {
                text += &format!("source-{source}  | {line}\n");
            }
        }
        if text.len() == before {
            break;
        }
    }
    let sorted = |mut all: Vec<Imported>| {
        all.sort_by_key(|one| one.line);
        all
    };
    let whole = whole(&text);
    assert!(whole.len() >= 12, "{}", whole.len());
    for window in [300, 2000, 20_000] {
        assert_eq!(sorted(streamed(&text, window)), sorted(whole.clone()), "in windows of {window} bytes");
    }
}
