//! `pathmeter mtu` to a host without a pathmeter, on paths made of namespaces: what its answers show, to the byte, and what
//! is reported as unknown. In both families, with and without privilege. Nothing here asserts a time.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod directions;
#[path = "../mtu/lab.rs"]
#[expect(dead_code, reason = "shared with the tests of `mtu`, which use more of it")]
mod lab;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
mod silent;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
