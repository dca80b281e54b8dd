//! Flows that were probed, their path MTUs, and the hops of a trace.

use super::{Bound, least_mtu};
use crate::plan::Transport;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Fields by which routers distinguish packets: of several equal paths they choose one for each flow (RFC 2992).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// UDP or TCP.
    pub transport: Transport,
    /// Address and port of the sender, as it sees itself.
    pub from: SocketAddr,
    /// Address and port that it sends to.
    pub to: SocketAddr,
}

/// The path MTU of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSize {
    /// The flow.
    pub flow: Flow,
    /// Largest packet of it that crosses whole.
    pub path_mtu: u32,
    /// Confidence in that.
    pub bound: Bound,
}

/// A hop that answered a packet whose TTL ended there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TracedHop {
    /// Distance from the sender, in hops.
    pub ttl: u8,
    /// The router.
    pub address: Option<IpAddr>,
    /// Whether it answered a packet that is too large to cross.
    pub large: bool,
    /// Whether it answered one that crosses.
    pub small: bool,
}

/// Sizes at which echo requests stay without a reply, though smaller ones are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EchoHole {
    /// Smallest packet without a reply: the request and its reply are of one size.
    pub first: u32,
    /// Largest.
    pub last: u32,
    /// Requests of these sizes reach the far end: what is lost is the reply.
    pub requests_arrive: bool,
}

impl EchoHole {
    /// Nearly every path carries more: a filter of large echo requests is likelier than a path so small.
    #[must_use]
    pub fn is_likely_filter(self) -> bool {
        self.first <= least_mtu(true)
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} to {}", self.transport, self.from, self.to)
    }
}
