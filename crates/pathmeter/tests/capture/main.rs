//! Captures of packets, between two hosts made of namespaces: the counts against the kernel's own, the files against
//! tshark. Nothing here asserts a time.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod counts;
mod files;
mod hosts;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
mod troubled;
