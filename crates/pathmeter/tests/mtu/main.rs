//! `pathmeter mtu` and `pathmeter hops` on paths made of namespaces: every fault of the reference's lab, to the byte, in both families, from both
//! ends, with and without privilege. Nothing here asserts a time; every wait has a limit.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod boxes;
mod cases;
mod fragments;
mod helper;
mod hops;
mod judge;
mod lab;
mod lies;
mod lossy;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
mod odd;
mod reasons;
mod reports;
mod sample;
mod segments;
mod service;
mod sizes;
mod stalls;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
mod two_faults;
