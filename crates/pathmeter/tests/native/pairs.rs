//! `throughput --pairs`: several sessions at once as one measurement.

use super::support::{Server, run, start};
use serde_json::Value;

/// Bytes that the loopback interface has received since it is up.
fn loopback_bytes() -> u64 {
    let table = std::fs::read_to_string("/proc/net/dev").expect("Linux has it");
    let row = table.lines().find_map(|line| line.trim().strip_prefix("lo:")).expect("there is a loopback");
    row.split_whitespace().next().expect("it begins with the bytes").parse().expect("a number")
}

fn sum(run: &Value, direction: &str) -> u64 {
    run["summary"]["pairs"]["together"][direction]["goodput_bps"]
        .as_u64()
        .unwrap_or_else(|| panic!("{run:#}"))
}

#[test]
fn the_sum_is_that_of_its_pairs() {
    let server = Server::start(&[]);
    let run = server.measured(&["--pairs", "3", "-t", "2s", "-b", "40M"]);
    let tests = run["tests"].as_array().expect("a test for each pair");
    assert_eq!(tests.len(), 3);
    let rates: u64 = tests.iter().map(|test| test["summary"]["up"]["goodput_bps"].as_u64().unwrap()).sum();
    let sum = sum(&run, "up");
    // The data sent in the window and in all differ by the beginnings and ends alone.
    assert!(sum.abs_diff(rates) < rates / 10, "{sum} of {rates}");
    assert_eq!(run["summary"]["pairs"]["asked"], 3);
    assert!(run["summary"]["pairs"]["broken"].is_null());
}

/// The data that the pairs report have crossed the interface: no less, and no more than headers and acknowledgements add. Other
/// processes use the loopback, too, so that the test sends an amount that dwarfs theirs.
#[test]
fn the_bytes_are_those_of_the_interface() {
    let server = Server::start(&[]);
    let before = loopback_bytes();
    let run = server.measured(&["--pairs", "4", "-n", "200M", "-i", "100ms"]);
    let crossed = loopback_bytes() - before;
    let tests = run["tests"].as_array().expect("a test for each pair");
    let bytes: u64 =
        tests.iter().map(|test| test["summary"]["up"]["received"]["bytes"].as_u64().unwrap()).sum();
    assert_eq!(bytes, 4 * (200 << 20));
    assert!(crossed >= bytes, "{crossed} of {bytes}");
}

#[test]
fn both_directions_and_udp_are_summed() {
    let server = Server::start(&[]);
    let run = server.measured(&["--pairs", "2", "-t", "1s", "--bidir", "-u", "-b", "5M"]);
    assert!(sum(&run, "up") > 5_000_000 && sum(&run, "down") > 5_000_000, "{run:#}");
}

#[test]
fn a_pair_without_a_server_is_reported_and_the_others_are_summed() {
    let (server, gone) = (Server::start(&[]), Server::start(&[]));
    let (host, other) = (server.host(), gone.host());
    gone.stop();
    let ended = run(&["throughput", &host, &other, "--pairs", "4", "-t", "1s", "-b", "20M", "--json"]);
    let document = ended.code(3).prints(&other).json();
    assert_eq!(document["tests"].as_array().unwrap().len(), 2);
    let broken = document["summary"]["pairs"]["broken"].as_array().unwrap();
    assert_eq!((broken.len(), &broken[0]["pair"], &broken[1]["pair"]), (2, &2.into(), &4.into()));
    assert!(document["summary"]["warnings"][0]["text"].as_str().unwrap().contains("Pair 2"));
}

#[test]
fn a_pair_that_dies_early_shortens_the_window_and_is_reported() {
    let (server, dying) = (Server::start(&[]), Server::start(&[]));
    let (host, other) = (server.host(), dying.host());
    let args =
        ["throughput", &host, &other, "--pairs", "2", "-t", "6s", "-i", "100ms", "-b", "20M", "--json"];
    let client = start(&args);
    std::thread::sleep(std::time::Duration::from_secs(3));
    dying.process.signal("KILL");
    let document = client.end().code(3).prints(&other).json();
    let pairs = &document["summary"]["pairs"];
    assert_eq!(pairs["broken"][0]["pair"], 2, "{pairs:#}");
    assert!(pairs["overlap_share"].as_f64().unwrap() < 0.9, "{pairs:#}");
    let warnings = document["summary"]["warnings"].as_array().unwrap();
    let reported: Vec<&str> = warnings.iter().filter_map(|warning| warning["id"].as_str()).collect();
    assert!(reported.contains(&"pair-broken") && reported.contains(&"pairs-apart"), "{reported:?}");
}

#[test]
fn auto_states_what_it_tried_and_why_it_stopped() {
    let server = Server::start(&[]);
    let run = server.measured(&["--pairs", "auto", "-t", "300ms", "-i", "100ms", "--link", "1M"]);
    let pairs = &run["summary"]["pairs"];
    assert!(pairs["steps"].as_array().is_some_and(|steps| steps.len() >= 3), "{pairs:#}");
    let why = pairs["stopped"].as_str().expect("a sentence");
    assert!(why.contains("the link is full"), "{why}");
}

/// The other protocols have pairs, too.
#[test]
fn pairs_of_iperf3_and_of_iperf2() {
    for protocol in ["iperf3", "iperf2"] {
        let port = &super::support::free_port().to_string();
        let _server = Server::start(&[&format!("--{protocol}={port}")]);
        let args = ["throughput", "127.0.0.1", "-p", port, "--protocol", protocol, "--pairs", "2"];
        let document = run(&[&args[..], &["-t", "1s", "-b", "20M", "--json"]].concat()).code(0).json();
        assert_eq!(document["tests"].as_array().expect("a test for each pair").len(), 2, "{protocol}");
        assert!(sum(&document, "up") > 0, "{protocol}: {document:#}");
        assert!(document["summary"]["pairs"]["broken"].is_null(), "{protocol}: {document:#}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |args: &[&str], part: &str| drop(run(args).code(2).prints(part));
    refused(&["throughput", "127.0.0.1", "--pairs", "0"], "1 to 128, or auto");
    refused(&["throughput", "127.0.0.1", "127.0.0.2", "--pairs", "1"], "--pairs 2 or more");
    refused(&["throughput", "127.0.0.1", "--pairs", "2", "--capture"], "--pairs and a capture");
}

#[test]
fn people_see_each_pair_and_the_sum() {
    let server = Server::start(&[]);
    let host = server.host();
    let ended = run(&["throughput", &host, "--pairs", "2", "-t", "1s", "-b", "20M"]).code(0);
    for part in ["Pair  To", "Sum of the pairs", "all ran", "Details: -v"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let wanted = ["throughput", &host, "--pairs", "2", "-t", "1s", "-b", "20M", "--expect"];
    run(&[&wanted[..], &["pairs.up.goodput>=1G"]].concat()).code(1);
}
