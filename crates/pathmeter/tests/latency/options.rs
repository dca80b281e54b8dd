//! The options of `pathmeter latency` at our own server: waits, warm-up, families, tokens, formats, expectations.

use super::common::{PATIENT, counts, latency, measured, number, only_egress};
use super::support::{Running, Scratch, Server, free_port, pathmeter};
use serde_json::Value;

#[test]
fn every_wait_is_done_and_reported() {
    let server = Server::start(&[]);
    for wait in ["spin", "hybrid", "block"] {
        for args in [&[][..], &["--mode", "under-load", "--rate", "2k"], &["--tcp", "--no-wire-times"]] {
            let args = [&["-n", "100", "--wait", wait], args].concat();
            let run = beside_its_floor(&server, &args);
            assert_eq!(counts(only_egress(&run), ["sent", "received"]), [100; 2], "{args:?}");
            assert_eq!(run["work"]["latency"]["wait"], wait);
            assert!(only_egress(&run)["ends"]["far_wait"].is_string(), "{args:?}");
            if args.contains(&"--no-wire-times") {
                assert_eq!(only_egress(&run)["wire"], Value::Null);
            }
        }
    }
    let run = measured(&server.host(), &["-n", "50", "--affinity", "0"]);
    assert_eq!(run["work"]["latency"]["cpu"], 0);
    server.stop();
}

/// A run whose round trips and the tool's floor overlap, both being round trips over the loopback, and whose packets were
/// timed where they are. Neighbours take the CPUs now of one, now of the other, so one run of a few must do; and where no
/// CPU is left, two threads that spin have no floor.
fn beside_its_floor(server: &Server, args: &[&str]) -> Value {
    let apart = |run: &Value| {
        let (floor, rtt) = (&run["summary"]["tool_floor_ns"], &only_egress(run)["rtt_ns"]);
        let none = floor.is_null() && !args.contains(&"spin");
        let wired = args.contains(&"--tcp") || only_egress(run)["wire"]["rtt_ns"]["count"].as_u64() > Some(0);
        none || !wired
            || floor.is_object()
                && (number(floor, "min") > number(rtt, "max") || number(rtt, "min") > number(floor, "max"))
    };
    let mut runs = (0..10).map(|_| measured(&server.host(), args));
    let run =
        runs.find(|run| !apart(run)).unwrap_or_else(|| panic!("{args:?}: the floor was apart ten times"));
    let floor = &run["summary"]["tool_floor_ns"];
    assert!(floor.is_null() || number(floor, "count") >= 100, "{args:?}: {floor:#}");
    run
}

#[test]
fn the_floor_waits_as_the_test_does() {
    let server = Server::start(&[]);
    for wait in ["hybrid", "block"] {
        let output =
            latency(&server.host(), &["-n", "10", "--wait", wait, "--format", "ndjson"]).code(0).stdout;
        let events = output.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let waits: Vec<Value> =
            events.filter(|event| event["event"] == "floor").map(|floor| floor["wait"].clone()).collect();
        // Without a CPU for it there is none.
        assert!(waits.iter().all(|floor| floor == wait) && waits.len() <= 1, "{waits:?}");
    }
    server.stop();
}

#[test]
fn the_warm_up_that_is_asked_for_is_left_out() {
    let server = Server::start(&[]);
    let run = measured(&server.host(), &["-t", "300ms", "--warm-up", "100ms"]);
    let egress = only_egress(&run);
    assert_eq!(number(egress, "warm_up_ns"), 100_000_000);
    let counted = number(&egress["rtt_ns"], "count") + number(egress, "warm_up_count");
    assert_eq!(counts(egress, ["received"]), [counted]);
    // Nothing is left when all of it is warm-up: no figures, and no zeros.
    let run = latency(&server.host(), &["-n", "20", "--warm-up", "60s", "--json"]).code(4).json();
    assert_eq!(run["summary"]["ways"][0]["rtt_ns"], Value::Null, "{run:#}");
    server.stop();
}

#[test]
fn families_are_as_asked_for() {
    let port = free_port().to_string();
    let server = Running::start(pathmeter(None, &["serve", "--port", &port]));
    server.wait_for("pathmeter's own protocol");
    for (args, remote) in [(["127.0.0.1", "-4"], "127.0.0.1"), (["::1", "-6"], "[::1]")] {
        for transport in ["--udp", "--tcp"] {
            let run = measured(args[0], &[args[1], "-p", &port, "-n", "20", transport]);
            let ends = &only_egress(&run)["ends"];
            assert_eq!(ends["remote"], format!("{remote}:{port}"));
            assert_eq!(ends["seen_as"], ends["local"], "{args:?} {transport}");
        }
    }
    latency("::1", &["-4", "-p", &port]).code(2).prints("-4");
    latency("127.0.0.1", &["-6", "-p", &port]).code(2).prints("-6");
    server.signal("TERM");
    server.end().code(0);
}

#[test]
fn tokens_and_tls_go_with_latency() {
    let scratch = Scratch::new("latency-token");
    let right = scratch.file("right", Some("a long random line\n"));
    let wrong = scratch.file("wrong", Some("another long random line\n"));
    let server = Server::start(&["--tls", "--token-file", &right]);
    let print = fingerprint(&server);
    for transport in ["--udp", "--tcp"] {
        let args = ["--tls", "--fingerprint", &print, "--token-file", &right, "-n", "50", transport];
        let run = measured(&server.host(), &args);
        assert_eq!(counts(only_egress(&run), ["sent", "received", "far_received"]), [50; 3]);
    }
    let host = server.host();
    let ended = latency(&host, &["--fingerprint", &print, "--token-file", &wrong]).code(3);
    ended.prints("the token is not this server's");
    latency(&host, &["--fingerprint", &print]).code(3).prints("this server wants a token");
    latency(&host, &["--token-file", &right]).code(3).prints("encrypts its control connections");
    let args = ["--protocol", "sockperf", "--token-file", &right];
    latency(&host, &args).code(2).prints("--protocol native");
    server.stop();
}

#[test]
fn every_format_reports_the_round_trips() {
    let server = Server::start(&[]);
    let scratch = Scratch::new("latency-formats");
    for (format, part) in [
        // The answer may be what the host did to the figures.
        ("text", " µs"),
        ("json", "\"pathmeter/result/1\""),
        ("ndjson", "\"latency\""),
        ("csv", "rtt"),
        ("markdown", "|"),
    ] {
        let ended = latency(&server.host(), &["-n", "100", "--format", format]).code(0);
        assert!(ended.stdout.contains(part), "{format}: {}", ended.stdout);
        let file = scratch.file(format, None);
        let args = [&["-n", "100", "--format", format, "-o", &file][..], &PATIENT].concat();
        assert_eq!(latency(&server.host(), &args).code(0).stdout, "", "{format}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(part), "{format}: {text}");
        if format == "ndjson" {
            text.lines().for_each(|line| drop(serde_json::from_str::<Value>(line).unwrap()));
        }
    }
    server.stop();
}

#[test]
fn a_dry_run_prints_the_plan_and_sends_nothing() {
    let args = ["--dry-run", "--mode", "under-load", "-m", "100", "-n", "7", "--dscp", "ef"];
    let ended = latency("127.0.0.1:9", &args).code(0);
    let plan = ended.json();
    assert_eq!(plan["ways"][0]["target"]["address"], "127.0.0.1:9");
    assert_eq!(
        (&plan["mode"], &plan["size"], &plan["tos"]),
        (&"under-load".into(), &100.into(), &184.into())
    );
    assert_eq!((&plan["end"]["blocks"], &plan["rate_pps"]), (&7.into(), &10_000.into()));
    serde_json::from_value::<model::latency::LatencyPlan>(plan).unwrap();
}

#[test]
fn expectations_decide_how_it_ends() {
    let server = Server::start(&[]);
    let host = server.host();
    let args = ["-n", "2000", "--expect", "rtt.p99<=10s", "--expect", "rtt.p50>=1ns"];
    latency(&host, &[&args[..], &PATIENT].concat()).code(0);
    let ended = latency(&host, &["-n", "200", "--expect", "rtt.p50<=1ns"]).code(1);
    assert!(ended.stdout.contains("Details: -v"), "{}", ended.stdout);
    ended.prints("expectation broken: rtt.p50<=1ns");
    // This number of round trips has no 99.99th percentile: an expectation on an unknown figure is not held.
    let ended = latency(&host, &["-n", "50", "--expect", "rtt.p9999<=10s"]).code(1);
    ended.prints("not measured");
    latency(&host, &["--expect", "rtt.p51<=1s"]).code(2).prints("rtt.p51");
    server.stop();
}

#[test]
fn what_cannot_be_is_reported_before_anything_is_sent() {
    for (args, part) in [
        (&["-m", "13"][..], "13 bytes"),
        (&["-m", "65508"], "65508 bytes"),
        (&["-m", "1048576", "--tcp"], "1048576 bytes"),
        (&["--rate", "0"], "--rate 0"),
        (&["--timeout", "0s"], "--timeout"),
        (&["--timeout", "9s"], "--timeout"),
        (&["--mode", "playback"], "--playback"),
        (&["--key-file", "x"], "--protocol stamp"),
        (&["--protocol", "stamp", "--tcp"], "UDP"),
        (&["--protocol", "stamp", "-m", "45"], "45"),
        (&["--protocol", "stamp", "--mode", "throughput"], "STAMP"),
        (&["--label", "a", "--label", "b"], "2 labels for 1 host"),
        (&["--via", "="], "--via"),
        (&["--raw", "/nonexistent/raw.csv"], "/nonexistent/raw.csv"),
        (&["--playback", "/nonexistent/play"], "/nonexistent/play"),
    ] {
        latency("127.0.0.1:9", args).code(2).prints(part);
    }
    let scratch = Scratch::new("bad-playback");
    for (text, line) in [("", "no message"), ("0.5 100\n", "line 1"), ("# x\n0.2, 100\n0.1, 100\n", "line 3")]
    {
        let file = scratch.file("bad", Some(text));
        latency("127.0.0.1:9", &["--playback", &file]).code(2).prints(line).prints(&file);
    }
}

/// The fingerprint in the server's first lines.
#[track_caller]
fn fingerprint(server: &Server) -> String {
    server.process.wait_for("--fingerprint ");
    let text = server.process.output_so_far();
    let at = text.find("--fingerprint ").expect("just waited for") + "--fingerprint ".len();
    text[at..].split_whitespace().next().expect("it follows").to_owned()
}
