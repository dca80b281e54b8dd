//! The contents of a store, and its behaviour in case of errors. Tests of a file run against a server, too.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad;
mod both;
mod killed;
mod many;
mod now;
mod old;
#[cfg(feature = "postgres")]
#[path = "../postgres/mod.rs"]
mod postgres_server;
#[cfg(feature = "postgres")]
mod server;
mod support;
