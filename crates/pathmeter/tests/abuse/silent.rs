//! Connections that say nothing.

use super::testbed::{PORTS, Testbed};
use std::net::TcpStream;

#[test]
fn five_hundred_silent_connections_on_every_port_keep_nobody_out() {
    let Some(testbed) = Testbed::new("five_hundred_silent_connections_on_every_port_keep_nobody_out") else {
        return;
    };
    let server = testbed.serve(&[]);
    let held: Vec<TcpStream> = PORTS.iter().flat_map(|port| testbed.connect(1, *port, 500)).collect();
    server.process.wait_for("too many connections of this address");
    testbed.all_are_served(&server);
    drop(held);
    server.stop();
}

#[test]
fn a_thousand_silent_connections_of_fifty_addresses_on_every_port_keep_nobody_out() {
    let name = "a_thousand_silent_connections_of_fifty_addresses_on_every_port_keep_nobody_out";
    let Some(testbed) = Testbed::new(name) else { return };
    let server = testbed.serve(&[]);
    let mut held: Vec<TcpStream> = Vec::new();
    for n in 1..=50 {
        held.extend(PORTS.iter().flat_map(|port| testbed.connect(n, *port, 20)));
    }
    testbed.all_are_served(&server);
    drop(held);
    let said = server.stop().stderr;
    assert!(said.lines().count() < 600, "a line for each of them fills the disk: {}", said.lines().count());
}
