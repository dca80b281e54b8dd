//! Ports for programs under test: of a block that this process has for itself, below those that the kernel gives to
//! clients, so that nothing takes one between its choice and its use.

use std::net::TcpListener;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// A port that nothing has, given out once.
///
/// It is not opened to find that out: a program that another thread starts at that moment would have the open socket too,
/// until it has become that program, and a listener that is none would be taken for the server's.
pub(crate) fn free_port() -> u16 {
    static BLOCK: OnceLock<(TcpListener, AtomicU16)> = OnceLock::new();
    let (_, next) = BLOCK.get_or_init(block);
    for _ in 1..PORTS {
        let port = next.fetch_add(1, Ordering::Relaxed);
        // Also what is left of a connection keeps a server away that does not share addresses.
        if ![TCP, UDP].iter().any(|kind| sockets(kind).iter().any(|row| row.0 == port)) {
            return port;
        }
    }
    panic!("no free port left");
}

/// A block for this process alone: it holds the first port of it as long as it lives.
fn block() -> (TcpListener, AtomicU16) {
    let blocks = (10_000..30_000).step_by(PORTS.into());
    let held = blocks.filter_map(|first| Some((TcpListener::bind(("127.0.0.1", first)).ok()?, first))).next();
    let (held, first) = held.expect("twenty test runs at the same time are too many");
    (held, AtomicU16::new(first + 1))
}

/// Does a TCP socket listen there, or has a UDP socket bound it? The kernel is queried: a connection would be a client, and
/// binding the port to see whether that fails would take it from the server.
pub(crate) fn is_bound(udp: bool, port: u16) -> bool {
    let (kind, state) = if udp { (UDP, UNCONNECTED) } else { (TCP, LISTEN) };
    sockets(kind).iter().any(|row| row.0 == port && row.1 == state)
}

/// Local port and state of each socket, IPv4 and IPv6.
fn sockets(kind: &str) -> Vec<(u16, String)> {
    let tables = [format!("/proc/net/{kind}"), format!("/proc/net/{kind}6")];
    let text: String =
        tables.iter().map(|table| std::fs::read_to_string(table).unwrap_or_default()).collect();
    let row = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (_, port) = fields.next()?.rsplit_once(':')?;
        Some((u16::from_str_radix(port, 16).ok()?, fields.nth(1)?.to_owned()))
    };
    text.lines().filter_map(row).collect()
}

/// More than all tests of one program take.
const PORTS: u16 = 1000;
const TCP: &str = "tcp";
const UDP: &str = "udp";
/// States of sockets in `/proc/net/tcp` and `/proc/net/udp`.
const LISTEN: &str = "0A";
const UNCONNECTED: &str = "07";
