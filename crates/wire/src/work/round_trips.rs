//! Messages that are answered as they come on the flow of a latency session (native server).

use model::latency::{LatencySpec, WaitMode};
use model::units::{Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Requests for the flow of a session.
#[derive(Clone, Debug)]
pub enum Request {
    /// Answer its messages from now on.
    Reflect {
        /// The granted plan.
        spec: LatencySpec,
        /// Messages above this rate get no answer; absent: all get one.
        most: Option<PacketRate>,
    },
    /// Report the counts of messages; [`WorkReply::RoundTrips`](crate::WorkReply::RoundTrips) follows.
    Count,
}

/// The observations of the server of a latency session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyObservation {
    /// The client's end of the flow from the server's point of view.
    pub client: SocketAddr,
    /// How the server waits for messages.
    pub wait: WaitMode,
    /// Messages that arrived, each number once.
    pub received: u64,
    /// Messages whose number had arrived before.
    pub duplicates: u64,
    /// Messages that arrived after one with a higher number.
    pub reordered: u64,
    /// From the first message to the last.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}
