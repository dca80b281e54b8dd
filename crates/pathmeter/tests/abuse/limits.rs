//! `--max-rate` and `--max-time` against clients that do not care.

use super::net::SERVER;
use super::support::Running;
use super::testbed::Testbed;
use serde_json::Value;
use std::process::Command;

/// Payload bytes that the server has counted.
fn counted(message: &str) -> u64 {
    let at = message.rfind(" bytes").unwrap_or_else(|| panic!("no figures: {message}"));
    let digits: String = message[..at].chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap()
}

#[test]
fn iperf2_is_bound_by_rate_and_time() {
    let Some(testbed) = Testbed::new("iperf2_is_bound_by_rate_and_time") else { return };
    let limits = ["--iperf2", "--max-rate", "40M", "--max-time", "2s"];
    for client in [&["-t", "8s"][..], &["-n", "1G"], &["-t", "8s", "-P", "4"]] {
        let server = testbed.serve_only(&limits);
        let argv = ["throughput", SERVER, "--protocol", "iperf2", "--json"];
        // A client's test that was cut is an error to it.
        let ended = testbed.client(&[&argv[..], client].concat()).end();
        assert_ne!(ended.code, Some(70), "{}", ended.stderr);
        server.process.wait_for("(iperf2)");
        let bytes = counted(&server.stop().stderr);
        // Two seconds and one of grace at 40 Mbit/s, and what the first portions may be too much.
        assert!(bytes > 100_000 && bytes < 16_000_000 + 4_000_000, "{client:?}: {bytes}");
    }
}

#[test]
fn what_goes_down_keeps_to_the_rate_in_all_streams_together() {
    let Some(testbed) = Testbed::new("what_goes_down_keeps_to_the_rate_in_all_streams_together") else {
        return;
    };
    let server = testbed.serve_only(&["--iperf2", "--max-rate", "40M"]);
    let argv = ["throughput", SERVER, "--protocol", "iperf2", "--json", "--reverse", "-P", "4", "-t", "2s"];
    let run: Value = testbed.client(&argv).end().code(0).json();
    let rate = run["summary"]["down"]["goodput_bps"].as_f64().unwrap();
    assert!(rate < 50e6, "{rate}");
    server.stop();
}

#[test]
fn an_iperf3_client_that_sends_as_it_likes_is_stopped_at_once() {
    let Some(testbed) = Testbed::new("an_iperf3_client_that_sends_as_it_likes_is_stopped_at_once") else {
        return;
    };
    let server = testbed.serve_only(&["--iperf3", "--max-rate", "40M"]);
    let argv = ["throughput", SERVER, "--protocol", "iperf3", "--json", "-t", "3s"];
    let ended = testbed.client(&argv).end();
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    server.process.wait_for("higher rate");
    server.stop();
}

#[test]
fn clients_have_ten_minutes_by_default() {
    let Some(testbed) = Testbed::new("clients_have_ten_minutes_by_default") else {
        return;
    };
    let server = testbed.serve_only(&[]);
    server.process.wait_for("may test for 600 s");
    let argv = ["throughput", SERVER, "-t", "20m"];
    testbed.client(&argv).end().code(3).prints("--time");
    server.stop();
}

/// The connected sockets of the server, as ss(8) shows them.
fn sockets(testbed: &Testbed) -> String {
    let argv = ["netns", "exec", testbed.server(), "ss", "-tunmoHO", "state", "established"];
    let shown = Command::new("ip").args(argv).output().expect("ss(8), of iproute2");
    String::from_utf8(shown.stdout).expect("text")
}

/// The buffers of all of them: twice what was granted.
fn buffers(shown: &str, name: &str) -> Vec<u64> {
    let memory = shown.lines().filter_map(|line| line.split_once("skmem:(")?.1.split_once(')'));
    memory
        .filter_map(|(fields, _)| fields.split(',').find_map(|field| field.strip_prefix(name)?.parse().ok()))
        .collect()
}

/// Tests that go on until they are dropped, each with an interval behind it.
fn at_work(testbed: &Testbed, clients: &[&[&str]]) -> Vec<Running> {
    let start = |argv: &&[&str]| {
        let common = ["throughput", SERVER, "-t", "60s", "-b", "100k"];
        testbed.client(&[&common[..], argv].concat())
    };
    let running: Vec<Running> = clients.iter().map(start).collect();
    running.iter().for_each(|client| client.wait_for("  0.0-"));
    running
}

/// The server runs with the right to exceed its host's limits.
#[test]
fn no_window_of_a_client_exceeds_what_its_host_allows() {
    let Some(testbed) = Testbed::new("no_window_of_a_client_exceeds_what_its_host_allows") else { return };
    let server = testbed.serve_only(&["--iperf3", "--iperf2"]);
    let window = ["-w", "400M"];
    let modes: [&[&str]; 5] = [
        &["-R"],
        &["-u", "-R"],
        &["--protocol", "iperf3"],
        &["--protocol", "iperf3", "-u"],
        &["--protocol", "iperf2", "-R"],
    ];
    let clients = modes.map(|mode| [&window[..], mode].concat());
    let running = at_work(&testbed, &clients.each_ref().map(Vec::as_slice));
    let shown = sockets(&testbed);
    for (name, limit) in [("rb", "rmem_max"), ("tb", "wmem_max")] {
        let limit = std::fs::read_to_string(format!("/proc/sys/net/core/{limit}")).unwrap();
        let most = 2 * limit.trim().parse::<u64>().unwrap();
        let buffers = buffers(&shown, name);
        assert!(
            buffers.iter().all(|buffer| *buffer <= most),
            "{name}: {buffers:?}, where {most} is the limit"
        );
        let largest = buffers.iter().filter(|buffer| **buffer == most).count();
        assert!(largest >= 4, "{name}: {buffers:?}, none of {most}");
    }
    drop(running);
    server.stop();
}

/// Its server only waits for it.
#[test]
fn an_iperf3_client_that_vanishes_is_noticed() {
    let Some(testbed) = Testbed::new("an_iperf3_client_that_vanishes_is_noticed") else { return };
    let server = testbed.serve_only(&["--iperf3"]);
    let running = at_work(&testbed, &[&["--protocol", "iperf3", "-u", "-R"]]);
    let shown = sockets(&testbed);
    assert!(shown.contains("timer:(keepalive,"), "{shown}");
    drop(running);
    server.stop();
}

#[test]
fn a_session_has_its_data_once_however_many_streams_a_client_wants() {
    let name = "a_session_has_its_data_once_however_many_streams_a_client_wants";
    let Some(testbed) = Testbed::new(name) else { return };
    let server = testbed.serve_only(&[]);
    let running = at_work(&testbed, &[&["-R", "--zero-copy", "-l", "16M", "-P", "16"]]);
    let folder = std::fs::read_dir(format!("/proc/{}/fd", server.process.pid())).unwrap();
    let links = folder.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let copies = links.filter(|link| link.to_string_lossy().contains("memfd:")).count();
    assert_eq!(copies, 1, "each is as long as the client reports");
    drop(running);
    server.stop();
}

#[test]
fn a_source_has_a_quarter_of_the_streams() {
    let Some(testbed) = Testbed::new("a_source_has_a_quarter_of_the_streams") else { return };
    let server = testbed.serve_only(&["--iperf3"]);
    let many = ["-P", "128", "--bind"];
    let own = [&many[..], &["10.77.1.1"]].concat();
    let foreign = [&many[..], &["10.77.1.1", "--protocol", "iperf3"]].concat();
    let running = at_work(&testbed, &[&own, &foreign]);
    let line = ["throughput", SERVER, "-n", "1M", "--json", "--bind"];
    // In which words depends on how far it has come.
    testbed.client(&[&line[..], &["10.77.1.1"]].concat()).end().code(3);
    testbed.client(&[&line[..], &["10.77.1.2"]].concat()).end().code(0);
    drop(running);
    server.stop();
}
