//! `pathmeter rfc2544` as users start it, through devices made of namespaces. Nothing here asserts a time or a rate that the
//! machine would have to reach; every wait has a limit.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod device;
mod faults;
mod lab;
mod limited;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
mod ports;
mod refused;
mod remote;
mod stopped;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
mod topologies;
mod tunnel;
mod written;
