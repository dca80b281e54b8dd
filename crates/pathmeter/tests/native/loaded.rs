//! `pathmeter latency --loaded`: phases, series and responsiveness; a deep queue; ends that vanish or refuse the load.

use super::lab::{Net, SERVER};
use super::support::{Ended, Server, run, skip, start};
use serde_json::Value;
use std::process::Command;

const LOADS: [&str; 3] = ["up", "down", "both"];

/// The last document of a run whose events were printed one by one.
#[track_caller]
fn last(ended: &Ended) -> Value {
    serde_json::from_str(ended.stdout.lines().last().expect("there is output")).expect("a document")
}

fn phases(run: &Value) -> Vec<Option<&str>> {
    let phases = run["summary"]["loaded"]["phases"].as_array().expect("phases");
    phases.iter().map(|phase| phase["load"].as_str()).collect()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("not a count: {value}"))
}

/// Each load's rates are those of its directions, and something was carried in them.
fn check_rates(of: &Value) {
    let load = of["load"].as_str();
    for (direction, key) in [("up", "up_bps"), ("down", "down_bps")] {
        let loads = load == Some(direction) || load == Some("both");
        assert_eq!(of[key].is_null(), !loads, "{key} of {of:#}");
    }
}

fn check_responsiveness(phase: &Value) {
    let reported = &phase["responsiveness"];
    for part in ["rpm", "foreign", "loaded"] {
        assert!(reported[part].as_f64().unwrap() > 0.0, "{part} of {phase:#}");
    }
    for part in ["foreign_probes", "loaded_probes", "tcp_ns", "http_ns", "loaded_ns", "goodput_bps"] {
        assert!(count(&reported[part]) > 0, "{part} of {phase:#}");
    }
    assert_eq!(reported["confidence"], "low", "intervals shorter than the draft's");
    // Round trips per minute of these times: a new connection's parts count alike.
    let ns = |part: &str| reported[part].as_u64().map(|time| time as f64);
    let parts: Vec<f64> = ["tcp_ns", "tls_ns", "http_ns"].into_iter().filter_map(ns).collect();
    let per_minute = |time: f64| 60e9 / time;
    let foreign = per_minute(parts.iter().sum::<f64>() / parts.len() as f64);
    let loaded = per_minute(ns("loaded_ns").unwrap());
    for (part, expected) in
        [("foreign", foreign), ("loaded", loaded), ("rpm", f64::midpoint(foreign, loaded))]
    {
        let printed = reported[part].as_f64().unwrap();
        assert!((printed / expected - 1.0).abs() < 1e-3, "{part} is {expected} of {phase:#}");
    }
}

fn check_series(run: &Value) {
    let series = run["summary"]["loaded"]["series"].as_array().unwrap();
    let times: Vec<u64> = series.iter().map(|point| count(&point["at_ns"])).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let mut loads: Vec<_> = series.iter().filter_map(|point| point["load"].as_str()).collect();
    loads.dedup();
    assert_eq!(loads, LOADS, "one after the other");
    for point in series {
        check_rates(point);
    }
    for key in ["up_bps", "down_bps"] {
        assert!(series.iter().any(|point| point[key].as_u64().is_some_and(|rate| rate > 0)), "{key}");
    }
    let answered: u64 = series.iter().filter_map(|point| point["rtt_ns"]["count"].as_u64()).sum();
    let phases = run["summary"]["loaded"]["phases"].as_array().unwrap();
    let counted: u64 = phases.iter().map(|phase| count(&phase["rtt_ns"]["count"])).sum();
    assert!(answered >= counted, "{answered} in the series, {counted} in the phases");
}

#[test]
fn a_loaded_run_reports_every_phase_and_its_series() {
    let server = Server::start(&[]);
    for argv in [&[][..], &["--tcp", "-P", "2"], &["--rate", "1k", "--congestion", "reno"]] {
        let host = server.host();
        let reported = run(&[&["latency", &host, "--loaded", "-t", "4s", "--json"], argv].concat());
        let run = reported.code(0).json();
        assert_eq!(phases(&run), [None, Some("up"), Some("down"), Some("both")], "{argv:?}");
        for phase in run["summary"]["loaded"]["phases"].as_array().unwrap() {
            assert!(count(&phase["rtt_ns"]["count"]) > 0, "{phase:#}");
            assert_eq!(count(&phase["sent"]), count(&phase["rtt_ns"]["count"]) + count(&phase["lost"]));
            check_rates(phase);
            if phase["load"].is_string() {
                check_responsiveness(phase);
                assert!(phase["responsiveness"]["tls_ns"].is_null());
            }
        }
        check_series(&run);
        let (direction, idle) = (&run["summary"]["ways"][0], &run["summary"]["loaded"]["phases"][0]);
        assert_eq!(direction["counted"]["sent"], idle["sent"], "the path itself is reported without load");
        assert_eq!(run["summary"]["outcome"]["outcome"], "completed");
    }
    let text = server.stop().stderr;
    assert_eq!(text.matches("streams, up").count(), 6, "up, and both directions, thrice: {text}");
    assert!(!text.contains("no test"), "probes of responsiveness are not worth a line: {text}");
}

#[test]
fn a_deep_queue_is_found_over_tls() {
    let Some(net) = Net::new("a_deep_queue_is_found_over_tls") else { return };
    for ns in [&net.client, &net.server] {
        // A fifth of a second of queue.
        let argv = ["netns", "exec", ns, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf"];
        let tbf = ["rate", "20mbit", "burst", "16k", "limit", "500k"];
        if !Command::new("ip").args(argv).args(tbf).status().is_ok_and(|status| status.success()) {
            return skip(
                "a_deep_queue_is_found_over_tls",
                "this kernel has no token bucket filter (sch_tbf)",
            );
        }
    }
    let server = net.serve(&["--tls"]);
    server.process.wait_for("--fingerprint ");
    let text = server.process.output_so_far();
    let print = text.split("--fingerprint ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let print = print.expect("the server prints its fingerprint");
    let argv =
        ["latency", SERVER, "--loaded", "-t", "6s", "--congestion", "reno", "--fingerprint", print, "--json"];
    let run = net.client(&argv).code(0).json();
    let bloat = |direction: &str| {
        let findings = run["findings"].as_array().unwrap();
        findings.iter().find(|found| found["id"] == "bufferbloat" && found["direction"] == direction)
    };
    for (direction, phase) in LOADS.iter().zip(&run["summary"]["loaded"]["phases"].as_array().unwrap()[1..]) {
        assert_eq!(phase["load"], **direction);
        check_rates(phase);
        check_responsiveness(phase);
        // Reno fills the queue and halves what lies in it: each part of a probe waits behind a quarter at the least.
        for part in ["tcp_ns", "tls_ns", "http_ns", "loaded_ns"] {
            assert!(count(&phase["responsiveness"][part]) >= 50_000_000, "{part} of {phase:#}");
        }
        assert!(phase["responsiveness"]["rpm"].as_f64().unwrap() <= 1200.0, "{phase:#}");
        for key in ["up_bps", "down_bps"] {
            let rate = phase[key].as_u64().unwrap_or(1);
            // The queue adds its own delay.
            assert!((1..=25_000_000).contains(&rate), "no more than the link carries: {phase:#}");
        }
        assert!(
            *direction == "both" || bloat(direction).is_some(),
            "{direction}: {:#}\n{phase:#}",
            run["findings"]
        );
        // A busy host may leave the limit open, and never names another.
        let limit = &phase["limit"];
        if !limit.is_null() && limit["confidence"] != "low" {
            assert_eq!(limit["kind"], "shaper", "{limit:#}");
            assert!((18_000_000..=22_000_000).contains(&count(&limit["rate_bps"])), "{limit:#}");
        }
    }
    let loaded = run["summary"]["load_probing"].as_array().expect("the path was loaded after it");
    assert_eq!(loaded.iter().map(|load| &load["direction"]).collect::<Vec<_>>(), ["up", "down"]);
    server.stop();
}

#[test]
fn a_server_that_vanishes_takes_nothing_of_what_was_measured() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["latency", &host, "--loaded", "-t", "1s", "--format", "ndjson"]);
    server.process.wait_for("streams, up");
    server.process.signal("KILL");
    let ended = client.end().code(3).prints("127.0.0.1");
    let run = last(&ended);
    assert_eq!(run["summary"]["outcome"]["outcome"], "failed");
    assert_eq!(phases(&run)[..2], [None, Some("up")]);
    assert!(count(&run["summary"]["loaded"]["phases"][1]["up_bps"]) > 0, "{run:#}");
    assert!(count(&run["summary"]["ways"][0]["rtt_ns"]["count"]) > 0, "the idle path is reported");
}

#[test]
fn ctrl_c_keeps_the_phases_so_far() {
    let server = Server::start(&[]);
    let host = server.host();
    let argv = ["latency", &host, "--loaded", "-t", "2s", "-i", "100ms", "--format", "ndjson"];
    let client = start(&argv);
    server.process.wait_for("streams, up");
    client.signal("INT");
    let ended = client.end().code(0);
    let run = last(&ended);
    assert_eq!(phases(&run)[..2], [None, Some("up")]);
    assert!(phases(&run).len() < 4, "the last phase was not begun");
    let loaded = |line: &&str| line.contains("latency_sample") && line.contains("\"load\":\"up\"");
    assert!(ended.stdout.lines().any(|line| loaded(&line)), "the live rows name the load");
    assert_eq!(run["summary"]["outcome"]["outcome"], "interrupted");
}

#[test]
fn a_server_that_refuses_the_load_costs_the_load_alone() {
    // The server has room for the messages alone.
    let server = Server::start(&["--max-tests", "1"]);
    let host = server.host();
    let run = run(&["latency", &host, "--loaded", "-t", "300ms", "--json"]).code(0).json();
    assert_eq!(phases(&run), [None]);
    assert!(count(&run["summary"]["ways"][0]["rtt_ns"]["count"]) > 0, "{run:#}");
    let warnings = run["summary"]["warnings"].as_array().expect("warnings");
    let reported = warnings.iter().filter(|warning| warning["id"] == "load-failed").count();
    assert_eq!(reported, 3, "one for each phase: {warnings:#?}");
    let verdict = &run["verdict"];
    assert_eq!(verdict["status"], "degraded", "{verdict:#}");
    assert!(verdict["text"].as_str().unwrap().contains("no load ran"), "{verdict:#}");
}

#[test]
fn what_goes_not_together_with_a_load_is_reported() {
    for (argv, message) in [
        (&["-n", "10"][..], "-t sets the length of a phase"),
        (&["-t", "10ms"], "give -t 1s or more"),
        (&["--reply-every", "2"], "--reply-every"),
        (&["--mode", "throughput"], "--rate sets the rate"),
        (&["--protocol", "sockperf"], "--protocol native"),
        (&["127.0.0.2"], "one way at a time"),
    ] {
        let all = [&["latency", "127.0.0.1:1", "--loaded"], argv].concat();
        run(&all).code(2).prints(message);
    }
}

/// Phases shorter than the interval: a row that ends with its phase names it.
#[test]
fn no_interval_is_of_two_phases() {
    let server = Server::start(&[]);
    let reported = run(&["latency", &server.host(), "--loaded", "-t", "700ms", "--format", "ndjson"]).code(0);
    let lines = reported.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("a document"));
    let rows: Vec<Value> = lines.filter(|line| line["event"] == "latency_sample").collect();
    let mut loads: Vec<&str> = rows.iter().filter_map(|row| row["load"].as_str()).collect();
    loads.dedup();
    assert_eq!(loads, LOADS, "{}", reported.stdout);
    let series = last(&reported)["summary"]["loaded"]["series"].as_array().unwrap().clone();
    for row in rows.iter().filter(|row| row["load"].is_string()) {
        let [start, end] = ["start_ns", "end_ns"].map(|key| count(&row[key]));
        let within = series
            .windows(2)
            .filter(|pair| count(&pair[0]["at_ns"]) >= start && count(&pair[1]["at_ns"]) <= end);
        for point in within.map(|pair| &pair[1]).filter(|point| point["load"].is_string()) {
            assert_eq!(point["load"], row["load"], "{point:#} in {row:#}");
        }
    }
}

/// A server with a limit serves round trips: the limit is their rate, and that of the load beside them.
#[test]
fn a_limit_of_the_server_is_the_rate() {
    let server = Server::start(&["--max-rate", "2M"]);
    let host = server.host();
    for argv in [&[][..], &["--tcp"], &["--mode", "throughput"]] {
        let run = run(&[&["latency", &host, "-t", "500ms", "--json"][..], argv].concat()).code(0).json();
        // 2 Mbit/s in messages of 64 bytes.
        assert_eq!(run["work"]["latency"]["rate_pps"], 3906, "{argv:?}: {:#}", run["work"]["latency"]);
        let sent = count(&run["summary"]["ways"][0]["counted"]["sent"]);
        assert!((1..=3906).contains(&sent), "{argv:?}: {sent} in half a second");
        let warnings = run["summary"]["warnings"].to_string();
        assert!(
            warnings.contains("limited-by-server") && warnings.contains("3.91 kpps"),
            "{argv:?}: {warnings}"
        );
    }
    run(&["latency", &host, "--rate", "5k", "-t", "500ms"]).code(3).prints("--rate 3906");
    let run = run(&["latency", &host, "--loaded", "-t", "2s", "--json"]).code(0).json();
    for phase in &run["summary"]["loaded"]["phases"].as_array().unwrap()[1..] {
        for key in ["up_bps", "down_bps"] {
            // Several sessions would carry twice that; buffers carry over what is a little more.
            assert!(phase[key].as_u64().unwrap_or(0) < 3_000_000, "{phase:#}");
        }
    }
}
