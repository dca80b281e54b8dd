//! Work beside a dialogue: throughput, probes, round trips, frames, and flows that have no dialogue beside them. A session
//! requests work and receives replies.
//!
//! Throughput, probes and round trips go over data flows of their own, which the client opens and the server waits for: that part
//! is the same for all three.

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

/// Work that a session requests.
#[derive(Debug)]
pub enum WorkRequest {
    /// A client connects these data flows now; a server begins to accept them. [`WorkReply::Open`] or
    /// [`WorkReply::Failed`] follows.
    Flows(Box<FlowsRequest>),
    /// Data transfer.
    Throughput(throughput::Request),
    /// Single datagrams.
    Probes(probes::Request),
    /// Messages that are answered.
    RoundTrips(round_trips::Request),
    /// Frames on an interface.
    Frames(frames::PortRequest),
    /// Steps of load.
    Load(load::Request),
    /// Flows that carry their own description.
    InBand(in_band::Request),
}

/// The reply to a request.
#[derive(Debug)]
pub enum WorkReply {
    /// All flows of the last [`WorkRequest::Flows`] are open, in order of their stream numbers.
    Open(Vec<StreamInfo>),
    /// The flows could not all be opened or used; the reason.
    Failed(String),
    /// Reply about data transfer.
    Throughput(throughput::Reply),
    /// Reply about single datagrams.
    Probes(probes::Reply),
    /// Counts of the messages so far: [`round_trips::Request::Count`].
    RoundTrips(round_trips::LatencyObservation),
    /// Reply about an interface.
    Frames(frames::PortAnswer),
    /// Figures of a step of load.
    Load(Box<load::StepReport>),
    /// Reply about flows that carry their own description.
    InBand(in_band::Reply),
}

/// The use of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// Data transfer according to the plan.
    Throughput,
    /// The session reads every datagram on the one flow.
    Probes,
    /// Messages on the one flow are answered.
    RoundTrips,
    /// Steps of load on all flows, in both directions.
    Load,
}

/// Flows that are to be opened, and the facts about the session known by then.
#[derive(Clone, Debug)]
pub struct FlowsRequest {
    /// The flows.
    pub plan: FlowPlan,
    /// Their use.
    pub kind: WorkKind,
    /// The other end's host, where it is known.
    pub peer: Option<Host>,
    /// Time between this end's reports that the peer requested; absent: this end's own choice.
    pub interval: Option<Nanos>,
    /// Options of an iPerf3 client outside of the test.
    pub extras: Option<throughput::Extras>,
}

/// The data flows of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// The test.
    pub test: TestSpec,
    /// The presentation of a data flow.
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
        /// Its secret, which authenticates its flows.
        key: FlowKey,
    },
}

/// A refusal: a code for programs, a reason for people, and advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// `busy`, `auth`, `version`, `invalid`, `limit`, `unsupported`, `flows` or `protocol`.
    pub code: String,
    /// The reason.
    pub reason: String,
    /// The advice.
    #[serde(default)]
    pub advice: String,
}

impl FlowsRequest {
    /// A request without further facts.
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

/// The requests of each kind of work, and the replies to them.
macro_rules! kinds {
    ($($kind:ident: $request:ty => $reply:ty;)*) => {$(
        impl From<$request> for WorkRequest {
            fn from(request: $request) -> WorkRequest {
                WorkRequest::$kind(request)
            }
        }

        impl From<$reply> for WorkReply {
            fn from(reply: $reply) -> WorkReply {
                WorkReply::$kind(reply)
            }
        }
    )*};
}

kinds! {
    Throughput: throughput::Request => throughput::Reply;
    Probes: probes::Request => probes::Reply;
    RoundTrips: round_trips::Request => round_trips::LatencyObservation;
    Frames: frames::PortRequest => frames::PortAnswer;
    Load: load::Request => Box<load::StepReport>;
    InBand: in_band::Request => in_band::Reply;
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
