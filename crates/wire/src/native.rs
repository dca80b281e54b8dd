//! pathmeter's own protocol, specified in `docs/protocol.md`: control over TCP or TLS, data over TCP and UDP, one
//! port number, every connection opened by the client.
//!
//! | file | what it holds |
//! |---|---|
//! | `message` | the control messages |
//! | `frame` | how they travel: greeting, lengths, limits |
//! | `auth` | proof that both ends know the token |
//! | `admit` | what a server accepts |
//! | `entry` | the client's way in |
//! | `caller` | what the clients of every kind of session share; `client` is that of a throughput test |
//! | `server` | the other role, for every kind; `run` is what the two share from the start to the results of a throughput test |
//! | `ping` | the exchanges that relate the two clocks |
//! | `flow` | how a TCP connection says what it is; `udp` the same for datagrams |
//! | `datagram` | the header of a data datagram |
//! | `load` | sessions of UDP load in steps, for what limits the path |
//! | `probe` | other kinds of session: single datagrams of chosen sizes and echoes, and round trips |
//! | `frames` | one more: frames out of an interface of the server, and counted on it |

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

pub use crate::hex::{EthernetAddress, FlowKey, Mac, Nonce, SessionId};
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
