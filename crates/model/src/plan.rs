//! The plan: everything a test will do, with every default filled. `--dry-run` prints it; it is stored with the result.

use crate::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// One test between this host and a peer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The far end.
    pub target: Target,
    /// The wire protocol spoken with it.
    pub protocol: ProtocolName,
    /// Parameters on which both ends agree.
    pub test: TestSpec,
    /// Choices of this end alone.
    pub local: LocalOptions,
}

/// The far end, as requested and as resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// The host as the user typed it.
    pub host: String,
    /// The address and port that will be used.
    pub address: SocketAddr,
}

/// A wire protocol that can carry a throughput test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProtocolName {
    /// pathmeter's own, see `docs/protocol.md`.
    Native,
    /// iPerf3's.
    Iperf3,
    /// iPerf2's.
    Iperf2,
    /// Another tool's, known by that tool's output alone: nothing here speaks it.
    Foreign,
}

impl ProtocolName {
    /// The words for those that a test can name, and what each is.
    pub const WORDS: [(&str, ProtocolName, &str); 3] = [
        ("native", ProtocolName::Native, "`pathmeter serve`"),
        ("iperf3", ProtocolName::Iperf3, "`iperf3 -s`, 3.12 and newer, or `pathmeter serve --iperf3`"),
        ("iperf2", ProtocolName::Iperf2, "`iperf -s`, 2.0.13 and newer, or `pathmeter serve --iperf2`"),
    ];
}

/// The transport under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A byte stream.
    #[default]
    Tcp,
    /// Numbered datagrams.
    Udp,
}

/// One direction, named from the view of the client: the end that opened the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Client to server.
    #[default]
    Up,
    /// Server to client.
    Down,
}

/// The directions of one test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// Client to server.
    #[default]
    Up,
    /// Server to client (`--reverse`).
    Down,
    /// Both at once (`--bidir`).
    Both,
}

/// Condition that ends a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// After this long (omitted time not counted).
    Time(Nanos),
    /// After exactly this many payload bytes, all streams of one direction together.
    Bytes(Bytes),
    /// After this many blocks (writes or datagrams), all streams of one direction together.
    Blocks(u64),
}

/// Parameters on which both ends of a throughput test agree. Absent means "the default of the protocol or kernel".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestSpec {
    /// TCP or UDP.
    pub transport: Transport,
    /// Up, down or both.
    pub directions: Directions,
    /// Parallel streams in each direction, 1 to 128.
    pub streams: u32,
    /// Condition that ends the test.
    pub end: End,
    /// Leading time not counted in totals.
    pub omit: Nanos,
    /// Bytes of one TCP write, or of one UDP payload; 0 where it is not set: each end's best (TCP only).
    #[serde(with = "zero_if_unset")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub length: Option<u32>,
    /// Target rate of each stream, payload bits; absent: as fast as possible.
    pub bitrate: Option<BitRate>,
    /// Datagrams or blocks sent back to back at each step of the pacer; 0 where it is not set: the engine's choice.
    #[serde(with = "zero_if_unset")]
    #[cfg_attr(feature = "schema", schemars(with = "u32"))]
    pub burst: Option<u32>,
    /// Requested TCP maximum segment size.
    pub mss: Option<u32>,
    /// Requested socket buffer size.
    pub window: Option<u32>,
    /// Requested TCP congestion control.
    pub congestion: Option<String>,
    /// The TOS or traffic-class byte (DSCP in the upper six bits).
    pub tos: u8,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    /// TCP_NODELAY on the data streams.
    pub nodelay: bool,
    /// Send with zero copy where the kernel can.
    pub zero_copy: bool,
    /// Receive TCP without copying to user space (MSG_TRUNC).
    #[serde(rename = "skip_receive_copy")]
    pub receive_discard: bool,
    /// UDP segmentation and receive offload (GSO and GRO); false sends every datagram by itself.
    pub offload: bool,
    /// Set the don't-fragment bit on UDP.
    pub dont_fragment: bool,
    /// Send iPerf3's repeating pattern and not random bytes.
    pub repeating_payload: bool,
    /// iPerf3 only: 64-bit sequence numbers in UDP datagrams.
    pub wide_counters: bool,
    /// iPerf3 only: SO_MAX_PACING_RATE of each stream.
    pub fq_rate: Option<BitRate>,
    /// iPerf3 only: the client's TCP data streams are Multipath TCP (RFC 8684).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mptcp: bool,
    /// Native only: the server reports the facts of its interface toward this address as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts_toward: Option<IpAddr>,
}

/// Choices of one end that the other need not know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LocalOptions {
    /// Time between reports; zero: only at the end.
    pub interval: Nanos,
    /// Local address to bind.
    pub bind: Option<IpAddr>,
    /// Interface to bind to (SO_BINDTODEVICE).
    pub device: Option<String>,
    /// First local port of the data streams.
    pub client_port: Option<u16>,
    /// CPUs for the stream threads, used in turn.
    pub affinity: Vec<u32>,
    /// A receiver's method of waiting for datagrams.
    pub wait: Wait,
    /// Speed of the link, given by the user; absent: the speed that the NIC reports.
    pub link: Option<BitRate>,
    /// Time allowed for each connection to open.
    pub connect_timeout: Option<Nanos>,
    /// Give up when a receiving test sees nothing for this long.
    pub receive_timeout: Option<Nanos>,
    /// A name for this run, put before every line or into the document.
    pub title: Option<String>,
    /// Time for finding the reasons of an unexpected result, in each direction; zero: none.
    #[serde(rename = "explain_ns", default, skip_serializing_if = "Nanos::is_zero")]
    pub explain: Nanos,
    /// The place of a limit is looked for on every path, and for longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub place: bool,
    /// Hosts between the two ends, each with a `pathmeter serve`, that are observed during the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<Target>,
    /// The program chose the rate of UDP: the user set none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_rate: bool,
    /// iPerf3 only: TCP senders send this file, receivers write to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// A receiving thread's method of waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Spin when two or more CPUs are there and the rate is unlimited, else block.
    #[default]
    Auto,
    /// Busy-poll the socket: fastest, costs a CPU.
    Spin,
    /// Sleep in the kernel.
    Block,
}

impl Directions {
    /// Does this test send from client to server?
    pub fn up(self) -> bool {
        self != Directions::Down
    }

    /// Does this test send from server to client?
    pub fn down(self) -> bool {
        self != Directions::Up
    }

    /// The directions, one by one, up first.
    pub fn each(self) -> impl Iterator<Item = Direction> {
        [(self.up(), Direction::Up), (self.down(), Direction::Down)].into_iter().filter(|d| d.0).map(|d| d.1)
    }
}

impl Direction {
    /// Either direction, up first.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// The opposite direction.
    pub fn reversed(self) -> Direction {
        self.choose(Direction::Down, Direction::Up)
    }

    /// The one of the two that is of this direction.
    pub fn choose<T>(self, up: T, down: T) -> T {
        match self {
            Direction::Up => up,
            Direction::Down => down,
        }
    }
}

shown_as_serialized!(Direction);

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        })
    }
}

impl ProtocolName {
    /// The name in documents and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ProtocolName::Native => "native",
            ProtocolName::Iperf3 => "iperf3",
            ProtocolName::Iperf2 => "iperf2",
            ProtocolName::Foreign => "foreign",
        }
    }
}

impl std::fmt::Display for ProtocolName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A number that is 0 in messages and documents where it is not set, which every version of a peer reads.
mod zero_if_unset {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(number.unwrap_or(0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        Ok(Some(u32::deserialize(from)?).filter(|number| *number > 0))
    }
}

impl Default for TestSpec {
    fn default() -> TestSpec {
        TestSpec::new(Transport::Tcp)
    }
}

impl TestSpec {
    /// A ten-second upload over one stream with every default.
    pub fn new(transport: Transport) -> TestSpec {
        TestSpec {
            transport,
            directions: Directions::Up,
            streams: 1,
            end: End::Time(Nanos::from_secs(10)),
            omit: Nanos::ZERO,
            length: None,
            bitrate: None,
            burst: None,
            mss: None,
            window: None,
            congestion: None,
            tos: 0,
            flow_label: None,
            nodelay: false,
            zero_copy: false,
            receive_discard: false,
            mptcp: false,
            facts_toward: None,
            offload: true,
            dont_fragment: false,
            repeating_payload: false,
            wide_counters: true,
            fq_rate: None,
        }
    }

    /// The stream numbers of one direction: 0.. for up, then those for down.
    pub fn stream_numbers(&self, direction: Direction) -> std::ops::Range<u32> {
        match (direction, self.directions) {
            (Direction::Up, Directions::Down) | (Direction::Down, Directions::Up) => 0..0,
            (Direction::Down, Directions::Both) => self.streams..2 * self.streams,
            _ => 0..self.streams,
        }
    }

    /// Streams of both directions together.
    pub fn all_streams(&self) -> u32 {
        self.streams.saturating_mul(self.directions.each().count() as u32)
    }

    /// The direction in which the stream of this number carries data.
    pub fn direction_of(&self, stream: u32) -> Direction {
        if self.stream_numbers(Direction::Up).contains(&stream) { Direction::Up } else { Direction::Down }
    }
}

/// The planned duration of a test until Ctrl-C: the longest that every far end grants.
pub const ENDLESS: Nanos = Nanos::from_secs(86_400);
