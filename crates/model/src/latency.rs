//! Latency: what a run of round trips is to do, and what each path gave.

pub mod disturbance;
mod egress;
mod load;
mod noise;
pub mod one_way;

pub use egress::{ClockNote, Counted, EgressResult, OneWayDelays, WireTimes, late_from_percent};
pub use load::{Load, LoadPhase, LoadPoint, LoadResult};
pub use noise::{Cause, HostNoise, Outlier};

use crate::host::Host;
use crate::plan::{Directions, End, LocalOptions, Target, Transport};
use crate::stats::distribution::Distribution;
use crate::time::WallTime;
use crate::units::{BitRate, Bytes, Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A latency run, every default filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyPlan {
    /// The egress paths measured, in turn within one run.
    #[serde(rename = "ways")]
    pub egress_paths: Vec<EgressPath>,
    /// The wire protocol spoken with every far end.
    pub protocol: LatencyProtocol,
    /// Schedule of messages.
    pub mode: LatencyMode,
    /// TCP or UDP.
    pub transport: Transport,
    /// Bytes of one message, the protocol's header included.
    pub size: u32,
    /// Sizes differ at random between these instead, from one burst to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<SizeRange>,
    /// Messages that go in a row: ping-pong waits for the replies to all of them, and what goes at a rate is due
    /// together.
    #[serde(default = "default_clients", skip_serializing_if = "is_one")]
    pub burst: u32,
    /// The whole reply is compared with its request, where the protocol echoes; one that differs ends the test of that egress path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compare: bool,
    /// Messages per second on each path; absent: as fast as the mode allows.
    #[serde(rename = "rate_pps")]
    pub rate: Option<PacketRate>,
    /// Every so many messages one asks for a reply (under-load, playback).
    pub reply_every: u32,
    /// End of the run: a time, or a number of messages (`blocks`) on each path.
    pub end: End,
    /// Leading time not counted; absent: until the round trips are steady.
    #[serde(rename = "warm_up_ns")]
    pub warm_up: Option<Nanos>,
    /// After this a message counts as lost, until its reply comes; absent: after four times the longest round trip so far, at
    /// least 3 s and at most 10 s. Ping-pong waits no longer before its next message, and without it ten times the 99th
    /// percentile, at least 10 ms, a second at first.
    #[serde(rename = "timeout_ns")]
    pub timeout: Option<Nanos>,
    /// Time between reports; zero: only at the end.
    #[serde(rename = "interval_ns")]
    pub interval: Nanos,
    /// This end's method of waiting for replies.
    pub wait: WaitMode,
    /// Why so, in a sentence: what it costs.
    pub wait_reason: String,
    /// The TOS or traffic-class byte (DSCP in the upper six bits).
    pub tos: u8,
    /// The kernel polls the NIC so long before it sleeps (SO_BUSY_POLL).
    #[serde(rename = "busy_poll_ns")]
    pub busy_poll: Option<Nanos>,
    /// Further options of each socket.
    #[serde(default, skip_serializing_if = "SocketSetup::is_default")]
    pub socket: SocketSetup,
    /// CPU of the measuring thread.
    pub cpu: Option<u32>,
    /// Take packet times of the kernel and NIC too (SO_TIMESTAMPING).
    pub wire_times: bool,
    /// Hops a multicast request may go.
    pub multicast_ttl: Option<u8>,
    /// Time allowed for each connection to open.
    #[serde(rename = "connect_timeout_ns")]
    pub connect_timeout: Nanos,
    /// The load put beside the round trips.
    pub load: Option<Load>,
    /// Time for finding the reasons of an unexpected result, in each direction; zero: none.
    #[serde(rename = "explain_ns", default, skip_serializing_if = "Nanos::is_zero")]
    pub explain: Nanos,
}

impl LatencyPlan {
    /// Choices of this end alone for another test over one of its paths.
    #[must_use]
    pub fn local_options(&self, egress: &EgressPath) -> LocalOptions {
        LocalOptions {
            bind: egress.bind,
            device: egress.device.clone(),
            connect_timeout: Some(self.connect_timeout),
            explain: self.explain,
            ..LocalOptions::default()
        }
    }
}

/// One egress path to a far end: the host, and the source address or interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EgressPath {
    /// Its name in tables.
    pub label: String,
    /// The far end.
    pub target: Target,
    /// Local address to send from.
    pub bind: Option<IpAddr>,
    /// Local port to send from; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Interface to send through (SO_BINDTODEVICE).
    pub device: Option<String>,
}

/// Sizes of messages, bytes, the protocol's header included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeRange {
    /// The smallest.
    pub least: u32,
    /// The largest.
    pub most: u32,
}

/// Setup of the socket of a foreign protocol; the default depends on the mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SocketSetup {
    /// TCP sends small writes at once (TCP_NODELAY).
    pub nodelay: Option<bool>,
    /// Size of the send and of the receive buffer.
    #[serde(rename = "buffer_bytes")]
    pub buffer: Option<Bytes>,
    /// The kernel paces what is sent (SO_MAX_PACING_RATE): TCP, and UDP below the `fq` queueing discipline.
    #[serde(rename = "pacing_bps")]
    pub pacing: Option<BitRate>,
    /// Requests to a group are heard on this host too (IP_MULTICAST_LOOP).
    pub multicast_loop: Option<bool>,
    /// Address of the interface that requests to a group leave through (IP_MULTICAST_IF), and replies come by.
    pub multicast_interface: Option<Ipv4Addr>,
}

impl SocketSetup {
    /// Whether no option is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == SocketSetup::default()
    }
}

fn default_clients() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// A wire protocol that can carry round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LatencyProtocol {
    /// pathmeter's own, see `docs/protocol.md`.
    Native,
    /// SockPerf's.
    Sockperf,
    /// RFC 8762.
    Stamp,
    /// RFC 5357, with its control connection.
    Twamp,
    /// iPerf2's round trips over TCP (`--bounceback`).
    Iperf2,
}

impl LatencyProtocol {
    /// The word for each, and what it is.
    pub const WORDS: [(&str, LatencyProtocol, &str); 5] = [
        ("native", LatencyProtocol::Native, "`pathmeter serve`"),
        ("sockperf", LatencyProtocol::Sockperf, "`sockperf sr`, or `pathmeter serve --sockperf`"),
        ("stamp", LatencyProtocol::Stamp, "A STAMP or TWAMP-Light reflector, or `pathmeter serve --stamp`"),
        ("twamp", LatencyProtocol::Twamp, "A TWAMP server (RFC 5357), or `pathmeter serve --twamp`"),
        (
            "iperf2",
            LatencyProtocol::Iperf2,
            "`iperf -s` 2.1.4 and newer over TCP, or `pathmeter serve --iperf2`",
        ),
    ];
}

/// Schedule of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LatencyMode {
    /// The next message goes when the reply to the last has come.
    PingPong,
    /// At a fixed rate, whether replies come or not; each round trip counts from the moment the message was due.
    UnderLoad,
    /// One direction as fast as it goes, or at a rate; counted by the receiver.
    Throughput,
    /// At the times and with the sizes of a file.
    Playback,
}

/// A thread's method of waiting for a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WaitMode {
    /// Ask the socket again and again: the least delay, and a whole CPU.
    Spin,
    /// Spin for 50 µs, then sleep.
    Hybrid,
    /// Sleep in the kernel: every message costs a wake-up.
    #[default]
    Block,
}

/// A latency run has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyStarted {
    /// When, by the wall clock of this end.
    pub wall: WallTime,
    /// The plan that runs.
    pub plan: LatencyPlan,
    /// The ends of each path, in the plan's order.
    pub ends: Vec<EgressEnds>,
    /// This host.
    pub host: Host,
}

/// The two ends of an egress path, as this end knows them and as the far end reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EgressEnds {
    /// This end.
    pub local: SocketAddr,
    /// The far end.
    pub remote: SocketAddr,
    /// This end as the far end sees it: another address means that something in between translates.
    pub seen_as: Option<SocketAddr>,
    /// The far host, where the protocol reports it.
    pub peer: Option<Host>,
    /// The far end's method of waiting for messages, where the protocol reports it.
    pub far_wait: Option<WaitMode>,
}

/// One report interval of a latency run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySample {
    /// Begin, since the start.
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// End, since the start.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// The load in the middle of it; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Directions>,
    /// A row for each path, in the plan's order.
    #[serde(rename = "ways")]
    pub egress_paths: Vec<EgressSample>,
}

/// One egress path in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EgressSample {
    /// Messages sent.
    pub sent: u64,
    /// The round trips that ended in the interval.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Replies given up in the interval.
    pub lost: u64,
}

/// The results of a latency run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyResult {
    /// Each egress path, in the plan's order.
    #[serde(rename = "ways")]
    pub egress_paths: Vec<EgressResult>,
    /// This tool against itself over loopback, with the same wait, size and transport: what it adds at the least.
    pub floor: Option<ToolBaseline>,
    /// Disturbances of the measuring thread by this host.
    pub noise: HostNoise,
    /// CPU time of the measuring thread, as a share of the time that passed.
    pub cpu_share: f64,
}

/// The tool's own floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolBaseline {
    /// Round trips over loopback, both ends in this process.
    #[serde(rename = "rtt_ns")]
    pub rtt: Distribution,
    /// The method of waiting of both its ends.
    pub wait: WaitMode,
}

/// The parameters on which both ends of a latency session of our own protocol agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySpec {
    /// TCP or UDP.
    pub transport: Transport,
    /// Largest message, bytes.
    pub size: u32,
    /// The TOS or traffic-class byte of the replies.
    pub tos: u8,
    /// The server's method of waiting, where it has that one.
    pub wait: WaitMode,
    /// Length of the test; zero: as long as the server allows.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Most messages per second; absent: as fast as possible.
    #[serde(rename = "rate_pps", default)]
    pub rate: Option<PacketRate>,
}

impl LatencySpec {
    /// The payload rate of one direction, where the message rate is limited.
    pub fn bitrate(&self) -> Option<BitRate> {
        self.rate.map(|rate| BitRate(rate.0.saturating_mul(u64::from(self.size) * 8)))
    }

    /// The message rate that carries at most so many bits per second of payload, one at least.
    pub fn rate_within(&self, most: BitRate) -> PacketRate {
        PacketRate((most.0 / (u64::from(self.size.max(1)) * 8)).max(1))
    }
}

shown_as_serialized!(LatencyProtocol, LatencyMode, WaitMode);
