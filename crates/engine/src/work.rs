//! The work of a session, each kind with the halves of its client and its server side by side. A new kind of work is a module
//! here and a worker.

pub(crate) mod arrivals;
pub mod client;
pub(crate) mod dialogue;
pub(crate) mod driver;
#[cfg_attr(not(feature = "device"), expect(dead_code, reason = "a server lends its ports all the same"))]
pub mod dut;
pub mod echo;
pub mod hops;
pub mod http_server;
pub mod iperf2;
pub mod latency;
pub(crate) mod load;
pub mod observer;
pub mod path;
pub mod probe;
pub mod throughput;
pub mod transfer;
pub(crate) mod workers;
