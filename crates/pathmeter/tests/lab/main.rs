//! `pathmeter lab list`, `show`, `check` and `run`: the topologies that come with the program, built, measured and judged by
//! what they expect. Nothing here asserts a time; every wait has a limit.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

mod plans;
mod printed;
mod runs;
#[path = "../native/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `native`, which use more of it")]
mod support;
mod topologies;
