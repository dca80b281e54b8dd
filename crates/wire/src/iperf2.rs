//! The iPerf2 protocol, both roles, as spoken by `iperf` 2.0.5 to 2.2 on its port.
//!
//! There is no control connection. Each TCP connection and each UDP flow is a test by itself, identified and described by its
//! first bytes; `-P` opens many of them. Those of one client are one session without control bytes, [`Group`].
//!
//! | file | contents |
//! |---|---|
//! | `request` | the test header, in TCP and in every datagram; `flags` its bits, `fields` its words |
//! | `frames` | isochronous frames and bursts: settings and records |
//! | `ack` | a server's answer to a header over TCP |
//! | `datagram` | number and time of a datagram, and its end |
//! | `report` | a server's figures of a UDP flow |
//! | `bounceback` | round trips over TCP |
//! | `spec` | requests and reports as types of `model` |
//! | `flow` | inputs and outputs that the machines of one flow share |
//! | `tcp_client`, `tcp_server`, `udp_client`, `udp_server` | the machines of a flow |
//! | `group` | the session: the flows of one client |
//!
//! This end writes as 2.1.8 does and reads every version.

mod ack;
mod bounceback;
mod datagram;
mod fields;
mod flags;
mod flow;
mod frames;
mod group;
mod report;
mod request;
mod spec;
mod tcp_client;
mod tcp_server;
mod udp_client;
mod udp_server;

pub use crate::work::in_band::{
    Ack, AckTimes, Amount, Rate, Run, Sending, ServerReport, TransitReport, Version,
};
pub use ack::AckRead;
pub use bounceback::{
    BOUNCE_HEAD, Bounce, BounceRequest, Bouncer, DEFAULT_BOUNCE, MAX_BOUNCE, MIN_BOUNCE, MIN_REPLY,
    is_bounceback,
};
pub use datagram::{DATAGRAM_LEN, Number, Numbered, is_wide, number, put_fin};
pub use flow::{Flow, FlowInput, FlowOutput};
pub use frames::{BurstRecord, Fixed, FrameRecord, Frames};
pub use group::Group;
pub use request::{Header, Request, Shape, Traffic};
pub use tcp_client::TcpClient;
pub use tcp_server::TcpServer;
pub use udp_client::UdpClient;
pub use udp_server::UdpServer;

/// The TCP and UDP port.
pub const PORT: u16 = 5001;

/// Name used in errors.
const PROTOCOL: &str = "iPerf2";
