//! What is done beside a dialogue: throughput, probes, round trips, frames, and flows that have no dialogue beside them. A
//! session asks, and is told what came of it.
//!
//! Throughput, probes and round trips go over data flows of their own, which the client opens and the server waits for:
//! that part is the same for all three.

pub mod frames;
pub mod in_band;
pub mod load;
pub mod probes;
pub mod round_trips;
pub mod throughput;

use crate::hex::{FlowKey, SessionId};
use model::host::Host;
use model::plan::{ProtocolName, TestSpec};
use model::sample::StreamInfo;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// What a session wants done.
#[derive(Debug)]
pub enum WorkRequest {
    /// A client connects these data flows now; a server begins to accept them. [`WorkReply::Open`] or
    /// [`WorkReply::Failed`] follows.
    Flows(Box<FlowsRequest>),
    /// Data that moves.
    Throughput(throughput::Request),
    /// Single datagrams.
    Probes(probes::Request),
    /// Messages that are answered.
    RoundTrips(round_trips::Request),
    /// Frames of an interface.
    Frames(frames::PortRequest),
    /// Steps of load.
    Load(load::Request),
    /// Flows that speak for themselves.
    InBand(in_band::Request),
}

/// What came of it.
#[derive(Debug)]
pub enum WorkReply {
    /// All flows of the last [`WorkRequest::Flows`] are open, in order of their stream numbers.
    Open(Vec<StreamInfo>),
    /// They could not all be opened, or not be used, and why.
    Failed(String),
    /// Of data that moves.
    Throughput(throughput::Reply),
    /// Of single datagrams.
    Probes(probes::Reply),
    /// What has come of the messages so far: [`round_trips::Request::Count`].
    RoundTrips(round_trips::LatencyObservation),
    /// Of an interface.
    Frames(frames::PortAnswer),
    /// What is known of a step of load.
    Load(load::Reply),
    /// Of flows that speak for themselves.
    InBand(in_band::Reply),
}

/// What flows are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Data that moves as the plan says.
    Throughput,
    /// Every datagram on the one flow is for the session to read.
    Probes,
    /// Messages on the one flow are answered.
    RoundTrips,
    /// Steps of load on all flows, in both directions.
    Load,
}

/// Flows that are to be opened, and what is known of the session by then.
#[derive(Clone, Debug)]
pub struct FlowsRequest {
    /// The flows.
    pub plan: FlowPlan,
    /// What they are for.
    pub kind: WorkKind,
    /// The other end, where it has told of itself.
    pub peer: Option<Host>,
    /// Time between this end's reports that the peer asked for; absent: this end's own choice.
    pub interval: Option<Nanos>,
    /// What an iPerf3 client asked for beside the test.
    pub extras: Option<throughput::Extras>,
}

/// The data flows of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// What the test is.
    pub test: TestSpec,
    /// How a data flow says whose it is.
    pub hello: FlowHello,
    /// True when senders of this end do not end by themselves on `End::Time` (iPerf3's server): they go on until
    /// `StopSenders`.
    pub senders_wait_for_stop: bool,
}

/// How a data flow presents itself to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowHello {
    /// iPerf3: the cookie on TCP, four bytes on UDP.
    Iperf3 {
        /// 36 characters, without the NUL.
        cookie: String,
    },
    /// iPerf2: each flow is a test by itself, and its first bytes describe it.
    Iperf2,
    /// Native: session id and a key known to both ends of the control connection.
    Native {
        /// The session.
        session: SessionId,
        /// Its secret, by which its flows are known.
        key: FlowKey,
    },
}

/// A refusal: for programs, for people, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// `busy`, `auth`, `version`, `invalid`, `limit`, `unsupported`, `flows` or `protocol`.
    pub code: String,
    /// What is wrong.
    pub reason: String,
    /// What to do about it.
    #[serde(default)]
    pub advice: String,
}

impl FlowsRequest {
    /// Of which nothing more is known.
    pub fn new(plan: FlowPlan, kind: WorkKind) -> FlowsRequest {
        FlowsRequest { plan, kind, peer: None, interval: None, extras: None }
    }
}

impl FlowHello {
    /// The protocol of the flow.
    pub fn protocol(&self) -> ProtocolName {
        match self {
            FlowHello::Iperf3 { .. } => ProtocolName::Iperf3,
            FlowHello::Iperf2 => ProtocolName::Iperf2,
            FlowHello::Native { .. } => ProtocolName::Native,
        }
    }

    /// The session's name, as far as the protocol has one.
    pub fn session(&self) -> String {
        match self {
            FlowHello::Iperf3 { cookie } => cookie.clone(),
            FlowHello::Iperf2 => String::new(),
            FlowHello::Native { session, .. } => session.to_string(),
        }
    }
}

impl From<FlowsRequest> for WorkRequest {
    fn from(order: FlowsRequest) -> WorkRequest {
        WorkRequest::Flows(Box::new(order))
    }
}

impl Refusal {
    /// A refusal.
    pub(crate) fn new(code: &str, reason: impl Into<String>, advice: impl Into<String>) -> Refusal {
        Refusal { code: code.into(), reason: reason.into(), advice: advice.into() }
    }

    /// Reason and advice in one sentence.
    pub(crate) fn text(&self) -> String {
        if self.advice.is_empty() { self.reason.clone() } else { format!("{}; {}", self.reason, self.advice) }
    }
}
