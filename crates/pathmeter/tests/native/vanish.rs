//! Ends that vanish in the middle of a test: the other ends by itself, shows what it measured, and is good for the next.

use super::support::{Server, start};
use serde_json::Value;

#[test]
fn a_server_that_is_killed_during_a_test() {
    for args in [&["-P", "2"][..], &["-R"], &["-u", "-b", "20M"], &["-u", "-b", "20M", "-R"]] {
        let server = Server::start(&[]);
        let host = server.host();
        let all = [&["throughput", &host, "-t", "100s", "-i", "300ms", "--format", "ndjson"], args].concat();
        let client = start(&all);
        client.wait_for_output("\"sample\"");
        server.process.signal("KILL");
        let ended = client.end().code(3).says(&host);
        let last: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["summary"]["outcome"]["outcome"], "failed", "{args:?}");
        let local = &last["summary"]["local"]["streams"][0];
        assert!(local["total_bytes"].as_u64().unwrap() > 0, "{args:?}: what was measured is shown");
        assert_ne!(last["summary"]["local"], Value::Null);
    }
}

#[test]
fn a_server_that_is_frozen_during_a_test() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["throughput", &host, "-t", "100s", "-i", "100ms", "-R"]);
    client.wait_for("bit/s");
    server.process.signal("STOP");
    let ended = client.end();
    server.process.signal("CONT");
    let ended = ended.code(3).says("it has vanished");
    assert!(ended.stdout.contains("Details: -v"), "{}", ended.stdout);
}

#[test]
fn a_server_that_is_killed_during_measure() {
    let server = Server::start(&[]);
    let host = server.host();
    let client = start(&["measure", &host, "--json"]);
    client.wait_for("3/5");
    server.process.signal("KILL");
    let ended = client.end().code(3).says(&host);
    let run = ended.json();
    assert!(run["summary"]["rtt_ns"]["count"].as_u64().unwrap() > 0, "the probes are not lost: {run:#}");
    assert!(!run["tests"].as_array().unwrap().is_empty(), "the first test is not lost");
}

#[test]
fn clients_that_vanish_leave_the_server_good_for_the_next() {
    let server = Server::start(&["--max-tests", "2"]);
    let host = server.host();
    for args in [&["-P", "2"][..], &["-R"], &["-u", "-b", "20M"], &["-u", "-b", "20M", "-R"]] {
        let client = start(&[&["throughput", &host, "-t", "100s", "-i", "100ms"], args].concat());
        client.wait_for("bit/s");
        client.signal("KILL");
        assert_eq!(client.end().code, None);
        let run = server.measured(&["-n", "1M"]);
        assert_eq!(run["summary"]["up"]["received"]["bytes"], 1 << 20);
    }
    let said = server.stop().stderr;
    assert_eq!(said.matches("the peer closed the connection during the test").count(), 4, "{said}");
}
