//! The engine: threads that drive the protocols of `wire` over the sockets of `linux`. It tells events, and prints
//! nothing.

pub(crate) mod arrivals;
mod bulk;
pub(crate) mod capture;
pub(crate) mod client;
mod datagram;
mod dialogue;
mod driver;
pub(crate) mod dut;
pub(crate) mod flows;
pub(crate) mod guard;
mod guests;
pub(crate) mod host;
pub(crate) mod http_server;
pub(crate) mod interrupt;
pub(crate) mod iperf2;
pub(crate) mod latency;
mod link;
mod pacer;
pub(crate) mod pairs;
pub(crate) mod path;
pub(crate) mod preflight;
pub(crate) mod probe;
pub(crate) mod reach;
mod receive;
mod running;
mod sampler;
pub(crate) mod server;
mod shared;
mod threads;
pub(crate) mod tls;
pub(crate) mod transfer;
mod usage;
