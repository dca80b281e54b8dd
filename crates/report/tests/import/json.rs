//! JSON: iPerf3's documents and streams, and our own.

use super::{fixture, near, only, warned};
use model::event::Outcome;
use model::plan::Directions;
use model::sample::Side;
use pathmeter_report::format::{FORMATS, RunDocument, Style, by_name, render};
use pathmeter_report::import::{Known, Tool, read};
use serde_json::Value;

fn folder() -> String {
    format!("{}/tests/fixtures/iperf3_json", env!("CARGO_MANIFEST_DIR"))
}

fn real(name: &str) -> String {
    std::fs::read_to_string(format!("{}/{name}", folder())).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_document_of_iperf3() {
    let mut observed = 0;
    for file in std::fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let text = real(&name);
        if !name.ends_with(".json") {
            continue;
        }
        let imported = only(&text);
        let json: Value = serde_json::from_str(&text).unwrap();
        let summary = &imported.run.summary;
        assert_eq!((imported.version.as_deref(), imported.tool), (Some("3.21+"), Tool::Iperf3), "{name}");
        let down = json["start"]["test_start"]["reverse"] == 1;
        let first = if down { &summary.down } else { &summary.up };
        let figures = |twin: &str| {
            (
                json["end"][format!("sum_sent{twin}")]["bytes"].as_f64(),
                json["end"][format!("sum_received{twin}")]["bytes"].as_f64(),
            )
        };
        // In a document of both directions the client's own comes first; a server's has the other order.
        let second = summary.down.as_ref().filter(|_| !down);
        let pairs = [(first.as_ref(), figures("")), (second, figures("_bidir_reverse"))];
        for (direction, (sent, received)) in pairs {
            let (Some(direction), Some(sent), Some(received)) = (direction, sent, received) else { continue };
            // A server that sent does not know what arrived.
            if received > 0.0 {
                near(direction.received.bytes.0 as f64, received, 1e-9);
            }
            if sent > 0.0 {
                near(direction.sent.bytes.0 as f64, sent, 1e-9);
            }
            observed += 1;
        }
        assert_eq!(summary.outcome, Some(Outcome::Completed), "{name}");
        assert!(!imported.run.intervals.is_empty(), "{name}");
        for format in FORMATS {
            assert!(!render(&imported, format, &Style::default()).is_empty());
        }
    }
    assert!(observed >= 16, "{observed}");
}

#[test]
fn what_a_document_reports_besides() {
    let imported = only(&real("tcp.client.json"));
    let run = &imported.run;
    let up = run.summary.up.as_ref().unwrap();
    assert_eq!((up.retransmits, up.mss, up.congestion.as_deref()), (Some(0), Some(32_768), Some("bbr")));
    near(up.cpu.sender.as_ref().unwrap().process, 0.002_361_780, 1e-6);
    assert_eq!(up.loaded_rtt.unwrap().0, 100_000);
    assert!(run.started.unwrap().to_string().starts_with("2026-11-21T00:4"));
    let both = only(&real("tcp_bidir_p2.client.json")).run;
    assert_eq!(both.throughput().unwrap().test.directions, Directions::Both);
    assert_eq!(
        both.summary.down.as_ref().unwrap().streams.iter().map(|one| one.stream).collect::<Vec<_>>(),
        [2, 3]
    );
    let nested = only(&real("tcp_gso.client.json")).run;
    assert!(nested.intervals.iter().any(|sample| sample.side == Side::Peer));
}

#[test]
fn a_stream_of_lines_is_one_run() {
    let text = real("stream.client.jsonl");
    let imported = only(&text);
    assert_eq!(imported.run.summary.outcome, Some(Outcome::Completed));
    assert!(imported.run.summary.up.as_ref().unwrap().received.bytes.0 > 0);
    let cut: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    let imported = only(&cut);
    assert!(warned(&imported, "no-summary"));
    assert_eq!(imported.run.summary.up.as_ref().unwrap().received.bytes.0, 1_310_720);
}

#[test]
fn a_document_that_is_cut_off() {
    let text = real("tcp_bidir_p2.client.json");
    let end = text.find("\"end\":\t{").unwrap();
    let imported = only(&text[..end]);
    assert!(warned(&imported, "no-summary"));
    assert_eq!(imported.run.summary.outcome, Some(Outcome::Interrupted));
    assert_eq!(imported.run.summary.up.as_ref().unwrap().streams.len(), 2);
    for end in (0..text.len()).step_by(17) {
        let _ = read("cut", &text[..end], Known::default());
    }
}

#[test]
fn an_error_is_reported() {
    let text = r#"{"start":{"connected":[],"version":"iperf 3.12","system_info":"Linux"},"intervals":[],"end":{},"error":"error - unable to connect to server: Connection refused"}"#;
    let imported = only(text);
    assert_eq!(
        imported.run.verdict.text,
        "Nothing was measured: unable to connect to server: Connection refused."
    );
}

#[test]
fn our_own_documents_come_back() {
    for name in ["iperf3-udp-1472.txt", "sockperf-tcp-350-nat-gateway.txt", "iperf2-tcp-p10-final.txt"] {
        let run = only(&fixture(name)).run;
        for format in ["json", "ndjson"] {
            let text = render(&RunDocument::from_run(&run), by_name(format).unwrap(), &Style::default());
            let again = only(&text);
            assert_eq!(again.tool, Tool::Pathmeter);
            assert_eq!(again.run.summary.up, run.summary.up, "{name} {format}");
            assert_eq!(again.run.summary.egress_paths, run.summary.egress_paths, "{name} {format}");
            assert_eq!(again.run.intervals, run.intervals, "{name} {format}");
        }
    }
}

#[test]
fn a_document_of_another_schema_is_not_ours() {
    let run = only(&fixture("iperf3-udp-1472.txt")).run;
    for format in ["json", "ndjson"] {
        let text = render(&RunDocument::from_run(&run), by_name(format).unwrap(), &Style::default());
        let other = text.replace("pathmeter/result/1", "pathmeter/result/0");
        assert_ne!(text, other, "{format}");
        assert!(read("other", &other, Known::default()).is_err(), "{format}: {other}");
    }
}

#[test]
fn documents_and_text_in_one_log() {
    let log =
        format!("$ iperf3 -J\n{}\n$ iperf3\n{}", real("udp.client.json"), fixture("iperf3-udp-1472.txt"));
    let all = read("log", &log, Known::default()).unwrap();
    assert_eq!(
        all.iter().map(|one| one.run.summary.up.as_ref().unwrap().mss).collect::<Vec<_>>(),
        [Some(1000), Some(1472)]
    );
    assert_eq!(all[0].line, 2);
}
