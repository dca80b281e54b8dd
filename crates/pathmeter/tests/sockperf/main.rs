//! `pathmeter sockperf` against the real `sockperf`, in both roles, on loopback: all modes, both transports, the
//! statistics recomputed from full logs, and peers and paths in trouble. Nothing here asserts how fast anything is.

mod as_typed;
mod figures;
mod modes;
#[path = "../peers/ports.rs"]
mod ports;
mod process;
mod relay;
#[path = "../peers/running.rs"]
mod running;
#[path = "../peers/scratch.rs"]
mod scratch;
mod tls;
mod troubled;
