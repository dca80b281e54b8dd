//! Messages that are answered as they come on the flow of a latency session (native server).

use super::{WorkReply, WorkRequest};
use model::latency::{LatencySpec, WaitMode};
use model::units::{Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// What a session wants of its flow.
#[derive(Clone, Debug)]
pub enum Request {
    /// Answer its messages from now on.
    Reflect {
        /// What was granted.
        spec: LatencySpec,
        /// More messages than these get no answer; absent: all get one.
        most: Option<PacketRate>,
    },
    /// Say what has come of them; [`WorkReply::RoundTrips`] follows.
    Count,
}

/// What the server of a latency session has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyObservation {
    /// The client's end of the flow as the server sees it.
    pub client: SocketAddr,
    /// How the server waits for messages.
    pub wait: WaitMode,
    /// Messages that came, each number once.
    pub received: u64,
    /// Messages whose number had come before.
    pub duplicates: u64,
    /// Messages that came after one with a higher number.
    pub reordered: u64,
    /// From the first message to the last.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::RoundTrips(request)
    }
}

impl From<LatencyObservation> for WorkReply {
    fn from(observed: LatencyObservation) -> WorkReply {
        WorkReply::RoundTrips(observed)
    }
}
