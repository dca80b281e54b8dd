//! pathmeter's own protocol, specified in `docs/protocol.md`: control over TCP or TLS, data over TCP and UDP, one port number,
//! every connection opened by the client.
//!
//! | file | contents |
//! |---|---|
//! | `message` | the control messages |
//! | `frame` | their encoding: greeting, lengths, limits |
//! | `auth` | proof that both ends know the token |
//! | `admit` | the limits of a server |
//! | `entry` | the client's dialogue until the server accepts |
//! | `caller` | common part of the clients of every kind of session; `client` is that of a throughput test |
//! | `server` | the other role, for every kind; `run` both roles of a throughput test from the start to the results |
//! | `ping` | the exchanges that relate the two clocks |
//! | `flow` | classification of a TCP connection by its first bytes; `udp` the same for datagrams |
//! | `datagram` | the header of a data datagram |
//! | `load` | sessions of UDP load in steps, to find what limits the path |
//! | `probe` | sessions of single datagrams of chosen sizes and echoes, and of round trips |
//! | `frames` | sessions of frames sent and counted on an interface of the server |

mod admit;
mod auth;
mod caller;
mod client;
mod datagram;
mod entry;
pub mod flow;
mod frame;
pub mod frames;
mod link;
pub mod load;
mod message;
mod ping;
pub mod probe;
mod run;
mod server;
pub mod udp;

pub use crate::hex::{FlowKey, Mac, Nonce, SessionId};
pub use crate::work::Refusal;
pub use crate::work::probes::{Expired, PathObservation};
pub use crate::work::round_trips::LatencyObservation;
pub use admit::{MAX_STREAMS, MAX_TIME};
pub use auth::Token;
pub use caller::Caller;
pub use client::{Client, ClientConfig};
pub use datagram::{DataHeader, HEADER_LEN};
pub use frame::{Decoder, MAX_FRAME, greeting, refusal};
pub use message::{Ask, Hello, Limits, Message};
pub use server::{Server, ServerConfig};

/// The TCP and UDP port.
pub const PORT: u16 = 5210;

/// The lowest and highest protocol version this software speaks.
pub const VERSIONS: (u8, u8) = (1, 1);

const NAME: &str = "native";
