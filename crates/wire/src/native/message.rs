//! The control messages: JSON objects distinguished by `type`.

use super::frames::{FramesAsk, FramesPort, FramesReply, FramesWish};
use crate::hex::{FlowKey, Mac, Nonce, SessionId};
use crate::work::Refusal;
use crate::work::load::StepReport;
use crate::work::probes::PathObservation;
use crate::work::round_trips::LatencyObservation;
use crate::work::throughput::Sent;
use model::event::{Event, Warning};
use model::host::Host;
use model::latency::LatencySpec;
use model::limit::StepRequest;
use model::path::FragmentShape;
use model::plan::{TestSpec, Transport};
use model::sample::{IntervalSample, SideResult};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// One control message. The sender: C the client, S the server. A receiver ignores types and fields it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// C, then S: software, extensions and limits of this end.
    Hello(Hello),
    /// C: proof of the token, when the server's hello had a challenge.
    Auth {
        /// The client's nonce.
        nonce: Nonce,
        /// The client's proof.
        mac: Mac,
    },
    /// S: proof that the server knows the token too.
    Proof {
        /// The server's proof.
        mac: Mac,
    },
    /// C: the requested session.
    Test {
        /// The kind of session and its plan.
        #[serde(flatten)]
        ask: Ask,
        /// The client's host.
        host: Host,
    },
    /// S: the session is granted.
    Accept {
        /// Name of the session.
        session: SessionId,
        /// Secret of its data flows.
        key: FlowKey,
        /// The server's host.
        host: Host,
    },
    /// Either: refused, and the dialogue is over.
    Refuse(Refusal),
    /// S: all data flows are open and received from.
    Ready {},
    /// C: begin.
    Start {},
    /// S: the test has begun; data may arrive from now on.
    Started {},
    /// C: first half of an exchange of clock readings.
    Ping {
        /// Number of the exchange.
        id: u64,
        /// The client's monotonic clock at sending.
        #[serde(rename = "t1_ns")]
        t1: MonoTime,
        /// Recent RTT measured by the client, where it has one.
        #[serde(rename = "rtt_ns", default, skip_serializing_if = "Option::is_none")]
        rtt: Option<Nanos>,
    },
    /// S: second half.
    Pong {
        /// Number of the exchange.
        id: u64,
        /// The value in the ping.
        #[serde(rename = "t1_ns")]
        t1: MonoTime,
        /// The server's monotonic clock when the ping came.
        #[serde(rename = "t2_ns")]
        t2: MonoTime,
        /// The same when the pong was sent.
        #[serde(rename = "t3_ns")]
        t3: MonoTime,
    },
    /// Either: one report interval of the end that sends it.
    Interval {
        /// The figures, `side` from the sender's point of view.
        sample: IntervalSample,
    },
    /// Either: stop sending data now; the test ends as usual.
    Stop {
        /// The reason.
        reason: String,
    },
    /// Either: its senders have stopped; the data that they sent.
    Sent {
        /// One row for each sending stream of this end.
        streams: Vec<Sent>,
    },
    /// Either: its results.
    Results {
        /// The figures.
        result: Box<SideResult>,
    },
    /// C: send these datagrams to me.
    ProbeSend(ProbeSend),
    /// S: the datagrams are sent.
    ProbeSent {
        /// Number of the request.
        id: u32,
        /// Sizes the server's kernel refused to send whole, although fragments were forbidden.
        too_big: Vec<u32>,
    },
    /// C: which datagrams of this number have arrived?
    ProbeReport {
        /// The client's number of its datagrams.
        id: u32,
    },
    /// S: the datagrams that have arrived.
    #[serde(rename = "probe_seen")]
    ProbeObservation {
        /// Number of the request.
        id: u32,
        /// By size.
        received: Vec<SizeCount>,
    },
    /// C: send these steps from now on (load).
    LoadSend {
        /// The steps, in sequence; none: send nothing more.
        steps: Vec<StepRequest>,
    },
    /// C: report your figures of this step (load).
    LoadReport {
        /// The step.
        step: u32,
    },
    /// S: the figures of the step.
    #[serde(rename = "load_seen")]
    LoadObservation(Box<StepReport>),
    /// C: report what you know of the path to me (probes).
    PathReport {
        /// Routers at which probes ended are reported only for this request or a later one.
        #[serde(default)]
        since: u32,
    },
    /// S: the facts about the path.
    #[serde(rename = "path_seen")]
    PathObservation(Box<PathObservation>),
    /// C: report the counts of my messages (latency).
    LatencyReport {},
    /// S: the counts.
    #[serde(rename = "latency_seen")]
    LatencyObservation(LatencyObservation),
    /// S: the interface of a session of frames is open; its description.
    FramesPort(Box<FramesPort>),
    /// C: do this with the interface.
    FramesAsk {
        /// Number of the question.
        id: u32,
        /// The request.
        ask: FramesAsk,
    },
    /// S: the outcome.
    #[serde(rename = "frames_told")]
    FramesReply {
        /// Number of the request.
        id: u32,
        /// The reply.
        #[serde(rename = "told")]
        reply: FramesReply,
    },
    /// C, then S: the end.
    Bye {},
    /// A type this software does not know.
    #[serde(other)]
    Unknown,
}

/// Software, extensions and limits of an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// Software and version, for people.
    pub software: String,
    /// Extensions this end knows. One is used when both ends name it.
    pub features: Vec<String>,
    /// S: a token is needed; prove it over this nonce.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Nonce>,
    /// S: its limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

impl Hello {
    /// Does the end that sends it know this extension?
    pub(super) fn knows(&self, feature: &str) -> bool {
        self.features.iter().any(|known| known == feature)
    }
}

/// Limits of a server; absent: the protocol's own limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Longest test, omitted time included.
    #[serde(rename = "max_time_ns", skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Nanos>,
    /// Highest rate of all streams of one direction.
    #[serde(rename = "max_rate_bps", skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<BitRate>,
    /// Most streams in each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_streams: Option<u32>,
    /// Most requests for probes that wait at a time; absent: an old server, which takes four.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_probe_requests: Option<u32>,
}

/// Requests for probes that every server lets wait.
const OLD_PROBE_REQUESTS: u32 = 4;

impl Limits {
    /// Whether so many requests for probes may wait at a time.
    #[must_use]
    pub fn takes_probe_requests(&self, count: usize) -> bool {
        let most = self.max_probe_requests.unwrap_or(OLD_PROBE_REQUESTS);
        u32::try_from(count).is_ok_and(|count| count <= most)
    }

    /// The warning for a test that was limited to this rate.
    #[must_use]
    pub fn warning(rate: BitRate) -> Event {
        let text = format!(
            "The server allows a session {rate} in each direction, and none asked for more: the path may carry more."
        );
        Event::Warning(Warning::new("limited-by-server", text))
    }
}

/// The kind of session a client requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// A throughput test.
    Throughput {
        /// Its plan.
        #[serde(deserialize_with = "spec_with_defaults")]
        spec: Box<TestSpec>,
        /// Time between the `interval` messages the client requests from the server; 0: none.
        #[serde(rename = "interval_ns", default)]
        interval: Nanos,
    },
    /// Round trips over one flow: the server answers SockPerf's messages, with its clock where there is room.
    Latency {
        /// Its plan.
        spec: Box<LatencySpec>,
    },
    /// Single datagrams of chosen sizes, and echoes, over one UDP flow.
    Probe {},
    /// Steps of load over four UDP flows, in both directions.
    Load {},
    /// Frames out of an interface of the server, and counted on it. No data flows.
    Frames(FramesWish),
    /// A kind this software does not know.
    #[serde(other)]
    Unknown,
}

impl Ask {
    /// The plan of a throughput test.
    pub(super) fn test(&self) -> Option<&TestSpec> {
        match self {
            Ask::Throughput { spec, .. } => Some(spec),
            _ => None,
        }
    }
}

/// A request to send datagrams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeSend {
    /// Number of the request, repeated in every datagram.
    pub id: u32,
    /// UDP payloads in bytes, in sequence.
    pub sizes: Vec<u32>,
    /// Number of datagrams of each size.
    pub count: u32,
    /// How each is cut into fragments; absent: fragments are forbidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<FragmentShape>,
    /// The first datagram of each size may go one hop, the second two, and so on.
    #[serde(default)]
    pub trace: bool,
    /// Time between two datagrams.
    #[serde(rename = "gap_ns", default)]
    pub gap: Nanos,
}

/// Datagrams of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeCount {
    /// UDP payload in bytes.
    pub size: u32,
    /// Number of different datagrams.
    pub count: u32,
    /// The largest fragment that any of them arrived in, whole packet; absent: all arrived unfragmented.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment: Option<u32>,
}

/// Fields that an older client does not send have their defaults.
fn spec_with_defaults<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<TestSpec>, D::Error> {
    let given = serde_json::Map::deserialize(deserializer)?;
    let transport = given.get("transport").ok_or_else(|| D::Error::missing_field("transport"))?;
    let transport = Transport::deserialize(transport).map_err(D::Error::custom)?;
    let mut spec = serde_json::to_value(TestSpec::new(transport)).map_err(D::Error::custom)?;
    let fields = spec.as_object_mut().ok_or_else(|| D::Error::custom("a plan is an object"))?;
    fields.extend(given);
    serde_json::from_value(spec).map(Box::new).map_err(D::Error::custom)
}
