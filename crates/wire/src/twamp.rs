//! TWAMP: the control dialogue that sets up round trips, by RFC 5357 section 3 over RFC 4656.
//!
//! Only the unauthenticated mode is supported. The messages are [`Greeting`] to [`Stop`], the ends [`Client`] and [`Server`]. The
//! packets of a test are STAMP's without extensions: [`crate::stamp::Sender`] and [`crate::stamp::Reflector::twamp`].

mod client;
mod message;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use message::{Accept, Accepted, Greeting, Request, SetUp, Start, StartAck, Stop};
pub use server::{Server, TestRequest, TwampCommand};

use crate::ProtocolError;

/// TCP port of a server (RFC 5357 section 3.1).
pub const PORT: u16 = 862;

/// The smallest packet of a test that has a reply of its size (RFC 5357 section 4.2.1: 41 bytes) and room for STAMP's
/// fields, bytes.
pub const MIN_LEN: usize = 44;

/// Bytes of a sender's packet before its padding (RFC 5357 section 4.1.2).
pub const HEADER_LEN: u32 = 14;

fn violation(what: impl Into<String>) -> ProtocolError {
    ProtocolError::Violation { protocol: "TWAMP", what: what.into() }
}
