//! What a store keeps, and what it does when it cannot. What holds of a file holds of a server, too.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bad;
mod both;
mod killed;
mod many;
mod now;
mod old;
#[cfg(feature = "postgres")]
mod server;
mod support;
