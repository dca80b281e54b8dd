//! Attacks of an unauthenticated host on `pathmeter serve` and, through it, on others: forged sources, silent connections,
//! places held by idle clients, threads that cannot be started. Each attack runs against the built program in network
//! namespaces, beside honest clients that must be served as usual. Nothing here asserts a time; every wait has a limit.
//! `docs/security.md` has the figures.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod churn;
#[path = "../native/confined.rs"]
mod confined;
mod figures;
mod forged;
mod held;
mod lies;
mod limits;
#[path = "../native/net.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod net;
mod rights;
mod silent;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
mod testbed;
mod threads;
mod unread;
mod vanish;
