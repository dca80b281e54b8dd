//! `pathmeter throughput --protocol iperf2` and `pathmeter serve --iperf2` against the real `iperf` 2, in both roles, on
//! loopback.
//!
//! Every run of a mode compares what both ends say of it: bytes over TCP, datagrams over UDP. Nothing here asserts how
//! fast anything is. A server of theirs serves one test: 2.1.8 falls over a second UDP client.

mod client;
#[path = "../peers/ports.rs"]
mod ports;
mod process;
#[path = "../peers/running.rs"]
mod running;
mod server;
mod troubled;
