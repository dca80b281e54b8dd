//! Limits of a server, and its end.

use super::support::{Running, Scratch, Server, run as run_program, start};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::Command;

#[test]
fn one_off_serves_one_test_and_ends() {
    let server = Server::start(&["--one-off"]);
    // Connections without a test do not count: a port scan, a request beyond the limits, probes.
    drop(std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap());
    server.throughput(&["-n", "1", "--congestion", "nonesuch"]).code(2);
    assert_eq!(server.measured(&["-n", "1M"])["summary"]["up"]["received"]["bytes"], 1 << 20);
    let ended = server.process.end().code(0);
    assert!(ended.stderr.contains("TCP 1 stream"), "{}", ended.stderr);
}

#[test]
fn limits_are_reported_with_a_remedy() {
    let server = Server::start(&["--max-time", "2s", "--max-rate", "10M"]);
    server.throughput(&["-t", "3s", "-b", "1M"]).code(3).prints("a test of 3.00 s").prints("--time");
    // Without a rate the limit is the rate.
    let run = server.measured(&["-t", "1s", "-P", "2"]);
    assert_eq!(run["work"]["throughput"]["test"]["bitrate"], 5_000_000);
    assert!(run["summary"]["up"]["goodput_bps"].as_u64().unwrap() < 11_000_000, "{:#}", run["summary"]);
    assert_eq!(run["summary"]["warnings"][0]["id"], "limited-by-server");
    server
        .throughput(&["-t", "1s", "-b", "6M", "-P", "2"])
        .code(3)
        .prints("12.0 Mbit/s in all")
        .prints("-b 5000000");
    server.throughput(&["-t", "1500ms", "-O", "1s", "-b", "1M"]).code(3).prints("--time");
    let run = server.measured(&["-t", "1s", "-b", "5M", "-P", "2"]);
    assert!(run["summary"]["up"]["received"]["bytes"].as_u64().unwrap() > 0);
    // A measurement asks for no more than is allowed.
    let host = server.host();
    let run = run_program(&["measure", &host, "--quick", "--json"]).code(0).json();
    assert_eq!(run["tests"].as_array().unwrap().len(), 4);
    let goodput = run["tests"][0]["summary"]["up"]["goodput_bps"].as_u64().unwrap();
    assert!(goodput < 11_000_000, "{goodput}");
    assert!(run["summary"]["warnings"].as_array().unwrap().iter().any(|w| w["id"] == "limited-by-server"));
    // An amount that takes longer than the time allowed is cut, and what was measured until then is given.
    let ended = server.throughput(&["-n", "100M", "-b", "1M", "--json"]).code(3).prints("2.00 s");
    assert!(ended.json()["summary"]["up"]["received"]["bytes"].as_u64().unwrap() > 0);
}

#[test]
fn as_many_tests_as_allowed_and_no_more() {
    let server = Server::start(&["--max-tests", "1"]);
    let host = server.host();
    let first = start(&["throughput", &host, "-t", "100s", "-i", "100ms", "-b", "10M"]);
    first.wait_for("bit/s");
    server.throughput(&["-n", "1M"]).code(3).prints("busy").prints("try again later");
    first.signal("INT");
    first.end().code(0);
    server.measured(&["-n", "1M"]);
}

#[test]
fn many_clients_at_once_get_what_they_asked_for() {
    let server = Server::start(&[]);
    let host = server.host();
    let argv = |index: usize| match index % 4 {
        0 => ["-n", "1M"].to_vec(),
        1 => ["-n", "1M", "-R"].to_vec(),
        2 => ["-n", "100000", "-u", "-b", "5M", "-l", "1000"].to_vec(),
        _ => ["-n", "100000", "-u", "-b", "5M", "-l", "1000", "-R"].to_vec(),
    };
    let clients: Vec<_> =
        (0..12).map(|i| (i, start(&[&["throughput", &host, "--json"], &argv(i)[..]].concat()))).collect();
    for (index, client) in clients {
        let run = client.end().code(0).json();
        let direction = if index % 2 == 0 { "up" } else { "down" };
        let sent = if index % 4 < 2 { 1 << 20 } else { 100_000 };
        assert_eq!(run["summary"][direction]["sent"]["bytes"], sent, "client {index}");
    }
    assert_eq!(server.stop().stderr.matches("1 stream").count(), 12);
}

#[test]
fn a_port_that_is_taken_and_an_address_that_is_not_ours() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    run_program(&["serve", "--bind", "127.0.0.1", "-p", &port])
        .code(2)
        .prints(&port)
        .prints("in use")
        .prints("ss -ltnp");
    run_program(&["serve", "--bind", "192.0.2.99"]).code(2).prints("192.0.2.99");
    let scratch = Scratch::new("serve");
    let empty = scratch.file("empty", Some(""));
    run_program(&["serve", "--bind", "127.0.0.1", "-p", &port, "--token-file", &empty])
        .code(2)
        .prints(&empty);
}

#[test]
fn sockets_passed_by_systemd_are_served() {
    // Descriptor 3 is the listener, as in sd_listen_fds(3): the shell moves it there from its standard input.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut command = Command::new("sh");
    command.args(["-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve --one-off 3<&0"]);
    command.arg(env!("CARGO_BIN_EXE_pathmeter"));
    let server = Running::start_with_input(command, OwnedFd::from(listener).into());
    server.wait_for("listening on");
    run_program(&["throughput", &format!("127.0.0.1:{port}"), "-n", "100K"]).code(0);
    server.end().code(0);
}

/// The port of another protocol closes the connection, before or after the first data.
#[test]
fn who_speaks_another_protocol_is_reported_what_to_check() {
    let server = Server::start(&[]);
    for (protocol, advice) in [("iperf3", "check that `iperf3 -s`"), ("iperf2", "check that `iperf -s`")] {
        server.throughput(&["--protocol", protocol, "-t", "1s"]).code(3).prints(advice);
    }
}
