//! The shared words of pathmeter: pure values and arithmetic, without I/O, clock or thread.

pub mod cpus;
pub mod dut;
pub mod event;
pub mod expectation;
pub mod finding;
pub mod frames;
pub mod framing;
pub mod host;
pub mod lab;
pub mod latency;
pub mod marks;
pub mod packets;
pub mod pairs;
pub mod path;
pub mod plan;
pub mod playback;
pub mod reach;
pub mod run;
pub mod sample;
pub mod search;
pub mod stats;
pub mod summary;
pub mod time;
pub mod transfer;
pub mod units;
pub mod wire_rate;
