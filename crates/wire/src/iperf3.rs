//! The iPerf3 protocol, both roles: what `iperf3` 3.1 to 3.21 speaks on its port.
//!
//! | file | what it holds |
//! |---|---|
//! | `cookie` | the name of a session, first bytes of every connection |
//! | `state` | the one-byte states and the error codes a server reports |
//! | `params` | the test a client asks for, as JSON |
//! | `results` | what each end measured, as JSON |
//! | `number` | JSON numbers as iPerf3 means them |
//! | `datagram` | the header of a UDP datagram |
//! | `flow` | how data flows and strangers are told apart |
//! | `dialogue` | what the two machines share: bytes in, things to do out, a deadline |
//! | `client`, `server` | the two roles; `admit` is what a server accepts |
//!
//! The client owns the end of a test. It counts time, or what its senders sent, or what its receivers got.
//! A server sends until it is told to stop, or until the bytes or blocks asked for are sent.

mod admit;
mod client;
mod cookie;
mod datagram;
mod dialogue;
mod flow;
mod number;
mod params;
mod results;
mod server;
mod state;

pub use crate::work::throughput::Extras;
pub use client::{Client, ClientConfig};
pub use cookie::{COOKIE_LEN, Cookie};
pub use datagram::{Narrow, Wide};
pub use flow::{Classified, UDP_HELLO, UDP_REPLY, classify, is_udp_hello, is_udp_reply};
pub use params::{
    DEFAULT_TCP_LENGTH, DEFAULT_UDP_LENGTH, MAX_PARAMS, MAX_STREAMS, Params, Refusal, block_length,
};
pub use results::{Results, StreamRow, stream_id};
pub use server::{Server, ServerConfig, Verifier};
pub use state::{ErrorCode, State, access_denied, error_message};

/// The TCP and UDP port.
pub const PORT: u16 = 5201;

/// Name used in errors.
const PROTOCOL: &str = "iPerf3";
