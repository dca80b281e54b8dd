//! Native client machine against native server machine in a virtual world.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test"))]

mod dialogue;
mod ends;
mod frames;
mod handshake;
mod lies;
mod probes;
mod trouble;
mod twamp;
