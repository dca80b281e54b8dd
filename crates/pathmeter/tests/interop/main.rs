//! `pathmeter iperf3` and `pathmeter serve --iperf3` against the real `iperf3`, in both roles, on loopback.
//!
//! Every run of a mode compares what both ends say of it. Nothing here asserts how fast anything is.

mod arithmetic;
mod as_typed;
mod auth;
mod figures;
mod many;
mod modes;
mod options;
#[path = "../peers/ports.rs"]
mod ports;
mod process;
#[path = "../peers/running.rs"]
mod running;
#[path = "../peers/scratch.rs"]
mod scratch;
mod troubled;
mod violations;
#[path = "../peers/workers.rs"]
mod workers;
