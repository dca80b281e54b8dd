//! Connections that say nothing.

use super::net::SERVER;
use super::testbed::{PORTS, Testbed};
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn five_hundred_silent_connections_on_every_port_keep_no_client_out() {
    let Some(testbed) = Testbed::new("five_hundred_silent_connections_on_every_port_keep_no_client_out")
    else {
        return;
    };
    let server = testbed.serve(&[]);
    let held: Vec<TcpStream> = PORTS.iter().flat_map(|port| testbed.connect(1, *port, 500)).collect();
    server.process.wait_for("too many silent connections of this address");
    testbed.all_are_taken(&server);
    testbed.all_are_served(&server);
    drop(held);
    server.stop();
}

#[test]
fn who_has_too_many_connections_hears_so() {
    let Some(testbed) = Testbed::new("who_has_too_many_connections_hears_so") else { return };
    let server = testbed.serve(&[]);
    let held: Vec<TcpStream> = [5210, 8080].iter().flat_map(|port| testbed.connect(1, *port, 300)).collect();
    server.process.wait_for("too many silent connections of this address");
    let source = ["--bind", "10.77.1.1"];
    let native = [&["throughput", SERVER, "-n", "1M"][..], &source].concat();
    testbed.client(&native).end().code(3).prints("too many silent connections of this address");
    let iperf3 = [&native[..], &["--protocol", "iperf3"]].concat();
    testbed.client(&iperf3).end().code(3).prints("busy");
    testbed.client(&["iperf3", "-c", SERVER, "-B", "10.77.1.1"]).end().code(1).prints("busy running a test");
    for mut socket in testbed.connect(1, 8080, 20) {
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 503 ") && text.contains("too many silent connections"),
            "{text:?}"
        );
    }
    drop(held);
    server.stop();
}

/// Whether it begins with TLS or not, nothing is computed for it.
#[test]
fn who_has_too_many_connections_hears_so_with_tls_too() {
    let Some(testbed) = Testbed::new("who_has_too_many_connections_hears_so_with_tls_too") else { return };
    let server = testbed.serve_only(&["--tls"]);
    server.process.wait_for("--fingerprint ");
    let text = server.process.output_so_far();
    let print = text.split("--fingerprint ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
    let held = testbed.connect(1, 5210, 300);
    server.process.wait_for("too many silent connections of this address");
    let plain = ["throughput", SERVER, "-n", "1M", "--bind", "10.77.1.1"];
    let encrypted = [&plain[..], &["--fingerprint", print]].concat();
    testbed
        .client(&encrypted)
        .end()
        .code(3)
        .prints("turned this connection away: it has too many connections");
    testbed.client(&plain).end().code(3).prints("it demands that, and has too many connections");
    drop(held);
    testbed.client(&[&plain[..4], &["--bind", "10.77.1.2", "--fingerprint", print]].concat()).end().code(0);
    server.stop();
}

#[test]
fn a_thousand_silent_connections_of_fifty_addresses_on_every_port_keep_no_client_out() {
    let name = "a_thousand_silent_connections_of_fifty_addresses_on_every_port_keep_no_client_out";
    let Some(testbed) = Testbed::new(name) else { return };
    let server = testbed.serve(&[]);
    let mut held: Vec<TcpStream> = Vec::new();
    for n in 1..=50 {
        held.extend(PORTS.iter().flat_map(|port| testbed.connect(n, *port, 20)));
    }
    testbed.all_are_taken(&server);
    testbed.all_are_served(&server);
    drop(held);
    let text = server.stop().stderr;
    assert!(text.lines().count() < 600, "a line for each of them fills the disk: {}", text.lines().count());
}
