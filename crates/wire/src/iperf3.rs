//! The iPerf3 protocol, both roles, as spoken by `iperf3` 3.1 to 3.21 on its port.
//!
//! | file | contents |
//! |---|---|
//! | `cookie` | the name of a session, first bytes of every connection |
//! | `state` | the one-byte states and the error codes a server reports |
//! | `params` | the test a client requests, as JSON |
//! | `results` | the results of each end, as JSON |
//! | `number` | JSON numbers as iPerf3 means them |
//! | `datagram` | the header of a UDP datagram |
//! | `flow` | classification of connections and datagrams by their first bytes |
//! | `dialogue` | common parts of the two machines: bytes in, outputs, a deadline |
//! | `client`, `server` | the two roles; `admit` holds the server's limits |
//!
//! The client decides when a test ends: by time, or by the data that its senders sent or its receivers received. A server
//! sends until the client stops it, or until the requested bytes or blocks are sent.

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
