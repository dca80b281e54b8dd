//! `--max-rate` and `--max-time` against clients that do not care.

use super::net::SERVER;
use super::testbed::Testbed;
use serde_json::Value;

/// Payload bytes that the server has counted.
fn counted(said: &str) -> u64 {
    let at = said.rfind(" bytes").unwrap_or_else(|| panic!("no figures: {said}"));
    let digits: String = said[..at].chars().rev().take_while(char::is_ascii_digit).collect();
    digits.chars().rev().collect::<String>().parse().unwrap()
}

#[test]
fn iperf2_is_bound_by_rate_and_time() {
    let Some(testbed) = Testbed::new("iperf2_is_bound_by_rate_and_time") else { return };
    let limits = ["--iperf2", "--max-rate", "40M", "--max-time", "2s"];
    for client in [&["-t", "8s"][..], &["-n", "1G"], &["-t", "8s", "-P", "4"]] {
        let server = testbed.serve_only(&limits);
        let words = ["throughput", SERVER, "--protocol", "iperf2", "--json"];
        // That its test was cut is an error to it.
        let ended = testbed.client(&[&words[..], client].concat()).end();
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
    let words = ["throughput", SERVER, "--protocol", "iperf2", "--json", "--reverse", "-P", "4", "-t", "2s"];
    let run: Value = testbed.client(&words).end().code(0).json();
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
    let words = ["throughput", SERVER, "--protocol", "iperf3", "--json", "-t", "3s"];
    let ended = testbed.client(&words).end();
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    server.process.wait_for("higher rate");
    server.stop();
}

#[test]
fn strangers_have_ten_minutes_where_nobody_says_otherwise() {
    let Some(testbed) = Testbed::new("strangers_have_ten_minutes_where_nobody_says_otherwise") else {
        return;
    };
    let server = testbed.serve_only(&[]);
    server.process.wait_for("may test for 600 s");
    let words = ["throughput", SERVER, "-t", "20m"];
    testbed.client(&words).end().code(3).says("--time");
    server.stop();
}
