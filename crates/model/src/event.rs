//! The events of a test: the engine's only output. Everything shown, stored or judged is made from them.

use crate::explain::Explanation;
use crate::frames::FrameRow;
use crate::hops::{HopsResult, HopsSample, HopsStarted};
use crate::host::Host;
use crate::latency::{LatencyResult, LatencySample, LatencyStarted, LoadResult, ToolBaseline};
use crate::limit::{LoadProbing, ObservedHost};
use crate::packets::PacketResult;
use crate::path::{PathResult, PathStarted};
use crate::plan::{Direction, Plan, Transport};
use crate::reach::Reach;
use crate::sample::{IntervalSample, Side, SideResult, StreamInfo};
use crate::time::WallTime;
use crate::transfer::{Transfer, TransferStarted};
use crate::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Something that happened in a run, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "the large variants come once a run")]
pub enum Event {
    /// The control connection stands; nothing has been measured.
    Connected(Connected),
    /// The data streams are open and the clock runs.
    Started(Started),
    /// One report interval.
    Sample(IntervalSample),
    /// Something the reader must know to judge the numbers.
    Warning(Warning),
    /// Counters of one end over the whole test.
    Result(EndResult),
    /// The result of a probe: RTT, clock, link.
    Probe(Probe),
    /// A latency run has begun.
    LatencyStarted(Box<LatencyStarted>),
    /// The tool's own floor, taken before a latency run.
    Floor(ToolBaseline),
    /// One report interval of a latency run.
    LatencySample(LatencySample),
    /// The results of a latency run.
    Latency(Box<LatencyResult>),
    /// The results of a latency run under load.
    Load(Box<LoadResult>),
    /// A run about packet sizes has begun.
    PathStarted(Box<PathStarted>),
    /// The packet sizes that the path carries.
    Path(Box<PathResult>),
    /// A run about hops has begun.
    HopsStarted(Box<HopsStarted>),
    /// State of the hops of the path while they are traced. No result contains it.
    HopsSample(Box<HopsSample>),
    /// The hops of the path.
    Hops(Box<HopsResult>),
    /// A transfer run has begun.
    TransferStarted(Box<TransferStarted>),
    /// One transfer has ended.
    Transfer(Box<Transfer>),
    /// The limit of one direction, from a decision phase.
    LoadProbing(Box<LoadProbing>),
    /// A host between the two ends was observed.
    Observed(Box<ObservedHost>),
    /// The results of a capture of packets.
    Packets(Box<PacketResult>),
    /// Reachability of the first hop, and of the far host over each family.
    Reach(Box<Reach>),
    /// The probes after a test that explain its result.
    Explained(Box<Explanation>),
    /// A row of a sweep over frame sizes has been measured.
    FrameRow(Box<FrameRow>),
    /// The present activity. No result contains it.
    Progress(Progress),
    /// Progress of the benchmark of a device. No result contains it.
    DeviceProgress(Box<DeviceProgress>),
    /// The test is over.
    Finished(Finished),
}

impl Event {
    /// A note of what is being done.
    #[must_use]
    pub fn progress(doing: impl Into<String>) -> Event {
        Event::Progress(Progress { part: None, doing: doing.into() })
    }
}

/// Progress of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Progress {
    /// Which part of how many, from 1 on; absent for a note.
    pub part: Option<[u32; 2]>,
    /// The present activity, in plain words.
    pub doing: String,
}

/// Progress of the benchmark of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceProgress {
    /// Which device.
    pub device: String,
    /// Progress of its tests.
    #[serde(flatten)]
    pub progress: crate::dut::Progress,
    /// At most, of all that is to be done.
    #[serde(rename = "left_ns")]
    pub left: Nanos,
}

/// The control connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Connected {
    /// When, by the wall clock of this end.
    pub wall: WallTime,
    /// The plan that runs.
    pub plan: Plan,
    /// This end of the control connection.
    pub local: SocketAddr,
    /// The other end of it.
    pub remote: SocketAddr,
    /// Session name: iPerf3's cookie, or our session id.
    pub session: String,
    /// Maximum segment size of the control connection.
    pub control_mss: Option<u32>,
    /// This host.
    pub host: Host,
    /// The peer, where the protocol reports it.
    pub peer: Option<Host>,
}

/// The streams are open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Started {
    /// When, by the wall clock of this end.
    pub wall: WallTime,
    /// The data streams, in order of their numbers.
    pub streams: Vec<StreamInfo>,
}

/// A warning: stable id and a sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// Stable name, kebab-case.
    pub id: String,
    /// Meaning and advice, in plain words.
    pub text: String,
}

/// One end's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndResult {
    /// The end that measured.
    pub side: Side,
    /// The figures.
    pub result: SideResult,
    /// The peer's own report as text (iPerf3 `--get-server-output`).
    pub output_text: Option<String>,
    /// The peer's own report as JSON (iPerf3 `--get-server-output` with `--json`).
    pub output_json: Option<serde_json::Value>,
}

/// A receiver-limited TCP direction, repeated without the copy to the program (`MSG_TRUNC`, tcp(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithoutCopy {
    /// Which direction.
    pub direction: Direction,
    /// Payload received per second without the copy.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// For how long that was measured.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
}

/// A probe's finding about the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "probe", rename_all = "snake_case")]
pub enum Probe {
    /// Round trips on the idle path, application to application.
    IdleRtt {
        /// Over which transport.
        transport: Transport,
        /// The distribution.
        #[serde(rename = "rtt_ns")]
        rtt: crate::stats::distribution::Distribution,
        /// Probes without an answer.
        lost: u64,
    },
    /// The peer's monotonic clock minus this end's, at the middle of the test.
    ClockOffset {
        /// Signed nanoseconds.
        offset_ns: i64,
        /// Bound of its error, drift over the test included.
        #[serde(rename = "error_ns")]
        error: Nanos,
        /// Four-stamp exchanges it rests on.
        exchanges: u32,
    },
    /// The rate without copying received data to the program, for a receiver that was the limit: measured in a separate test right
    /// after.
    WithoutCopy(WithoutCopy),
    /// Speed of the link, as found or given.
    Link {
        /// Bits per second.
        rate: BitRate,
        /// `--link` or the interface it was read from.
        source: String,
    },
}

/// The end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finished {
    /// When, by the wall clock of this end.
    pub wall: WallTime,
    /// From `Started` to here.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Why it ended.
    pub outcome: Outcome,
}

/// Why a test ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The test ended as planned.
    Completed,
    /// The user at this end interrupted it.
    Interrupted,
    /// The far end ended it.
    PeerStopped {
        /// The far end's message.
        reason: String,
    },
    /// Something broke; what was measured until then stands.
    Failed {
        /// The reason, in plain words.
        reason: String,
    },
}

impl Warning {
    /// A warning of this id and text.
    pub fn new(id: &str, text: impl Into<String>) -> Warning {
        Warning { id: id.into(), text: text.into() }
    }
}
