//! A client's request: the test header, at the front of a TCP connection and in every UDP datagram.
//!
//! ```text
//! 0       4         8      12       16      20       24         32      34      36        44    46    48     56
//! | flags | threads | port | length | window| amount | type,len | upper | lower | version | 0   | tos | rate | prefetch |
//! ```
//!
//! The first 24 bytes are the base (all that a client before 2.0.10 sends, and only with `-d` or `-r`), the others the
//! extension: 36 bytes up to 2.1, 40 from 2.2 on. Later fields are at the same places in all versions: in TCP the start time at
//! 64, the pacing rate at 72, the frames' settings at 80 and the congestion control at 112; in UDP, where the header is at 16 and
//! a frame record follows it, at 112, 120 and 128.

mod read;
mod write;

use super::frames::Frames;
use super::{Amount, Rate, Version};
use model::plan::Transport;
use model::time::WallTime;
use model::units::{BitRate, Nanos};

/// A test as a client requests it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The transport.
    pub transport: Transport,
    /// The senders, and the connections they use.
    pub traffic: Traffic,
    /// Connections of this client in one direction (`-P`).
    pub streams: u32,
    /// Number the client gives to the server's report (`--sync-transfer-id`), below 2048.
    pub transfer_id: Option<u16>,
    /// Port of the client that the server connects back to ([`Traffic::Dual`], [`Traffic::Tradeoff`]).
    pub port: u16,
    /// Bytes of one write or UDP payload, where the client set them; 0: the default.
    pub length: u32,
    /// When a sender stops.
    pub amount: Amount,
    /// Absent: the base header alone, as clients before 2.0.10 send it with `-d` and `-r`; then no field below is known.
    pub version: Option<Version>,
    /// UDP: sequence numbers have 64 bits.
    pub wide: bool,
    /// The rate to send with; absent: as fast as possible.
    pub rate: Option<Rate>,
    /// TOS or traffic-class byte.
    pub tos: u8,
    /// The client requests one-way delays: its clock is right (`--trip-times`).
    pub trip_times: bool,
    /// When the client began, or with [`Request::starts_then`] will begin.
    pub start: Option<WallTime>,
    /// Sending begins at [`Request::start`] (`--txstart-time`).
    pub starts_then: bool,
    /// SO_MAX_PACING_RATE of the client.
    pub fq_rate: Option<BitRate>,
    /// Shape of the data: a stream, frames or bursts.
    pub shape: Shape,
    /// UDP: there is no FIN and no report (`--no-udp-fin`).
    pub no_fin: bool,
    /// TCP: an acknowledgement is requested whatever the test (`-X`).
    pub peer_detect: bool,
    /// TCP: the server is to acknowledge at once.
    pub quick_ack: bool,
    /// TCP: TCP_NOTSENT_LOWAT of the server's writes.
    pub prefetch: Option<u32>,
    /// TCP: congestion control of the server, from 2.2 on.
    pub congestion: Option<String>,
    /// TCP: offset and length are in the header, the key itself comes behind it.
    pub key: Option<Vec<u8>>,
}

/// The senders, and the connections they use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Traffic {
    /// The client.
    Forward,
    /// The server, on the client's connection (`-R`).
    Reverse,
    /// Both at once, on the client's connection (`--full-duplex`).
    FullDuplex,
    /// The client, and at the same time the server on a connection that it opens (`-d`).
    Dual,
    /// The client, and after it the server on a connection that it opens (`-r`).
    Tradeoff,
}

/// Shape of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A plain stream.
    #[default]
    Stream,
    /// Frames at a constant rate; their settings, where the server sends them too.
    Isochronous(Option<Frames>),
    /// Bursts with a period, TCP (`--burst-period`): the settings' rate and size.
    Bursts(Frames),
}

/// The outcome of [`Request::read`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Header {
    /// More bytes are needed, this many in all.
    More(usize),
    /// A request and the bytes that it takes, its key included.
    Request(Box<Request>, usize),
    /// No header: data of an old client, or of `-C`.
    Plain,
    /// Bits of a header in a combination that is not valid.
    Foreign,
}

/// Offsets of fields, by transport.
struct Places {
    /// The base header.
    base: usize,
    /// Start time, pacing rate, settings.
    tail: usize,
}

impl Request {
    /// A ten-second test of one stream, as 2.1.8 requests it.
    #[must_use]
    pub fn new(transport: Transport) -> Request {
        Request {
            transport,
            traffic: Traffic::Forward,
            streams: 1,
            transfer_id: None,
            port: super::PORT,
            length: 0,
            amount: Amount::Time(Nanos::from_secs(10)),
            version: Some(Version::OURS),
            wide: transport == Transport::Udp,
            rate: None,
            tos: 0,
            trip_times: false,
            start: None,
            starts_then: false,
            fq_rate: None,
            shape: Shape::Stream,
            no_fin: false,
            peer_detect: false,
            quick_ack: false,
            prefetch: None,
            congestion: None,
            key: None,
        }
    }

    /// Does the server write an [`Ack`](super::Ack) before anything else? A plain client gets one too.
    #[must_use]
    pub fn wants_ack(&self) -> bool {
        let is_tcp = self.transport == Transport::Tcp;
        is_tcp && self.version.is_some() && (self.peer_detect || !self.server_sends())
    }

    /// Does the server send on the client's connection?
    #[must_use]
    pub fn server_sends(&self) -> bool {
        matches!(self.traffic, Traffic::Reverse | Traffic::FullDuplex)
    }

    /// Does the server send data to the source address of this request, now or at the end, on any flow? Over UDP nothing proves
    /// that the sender owns that address.
    #[must_use]
    pub fn sends_to_source(&self) -> bool {
        self.traffic != Traffic::Forward
    }

    /// Does the client send on its connection?
    #[must_use]
    pub fn client_sends(&self) -> bool {
        self.traffic != Traffic::Reverse
    }
}

impl Places {
    fn for_transport(transport: Transport) -> Places {
        match transport {
            Transport::Tcp => Places { base: 0, tail: TCP_TAIL },
            Transport::Udp => Places { base: super::DATAGRAM_LEN, tail: UDP_TAIL },
        }
    }
}

impl Version {
    /// The version of this end, in writing and in reading.
    pub const OURS: Version = Version { upper: 0x0002_0001, lower: 0x0008_0003 };
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (upper, lower) = (self.upper, self.lower);
        write!(f, "{}.{}.{}", upper >> 16, upper & 0xffff, lower >> 16)
    }
}

const BASE_LEN: usize = 24;
const EXTENSION_LEN: usize = 36;
const TCP_LEN: usize = BASE_LEN + EXTENSION_LEN;
const UDP_LEN: usize = super::DATAGRAM_LEN + TCP_LEN;
/// Offset within the header, from its base.
const TYPE: usize = 24;
const UPPER: usize = 32;
const LOWER: usize = 34;
const VERSION: usize = 36;
const TOS: usize = 46;
const RATE: usize = 48;
const PREFETCH: usize = 56;
/// Offset of the start time, from the front.
const TCP_TAIL: usize = 64;
const UDP_TAIL: usize = 112;
const HAS_TRANSFER_ID: u32 = 0x8000_0000;
const TRANSFER_ID_SHIFT: u32 = 20;
const STREAMS_MASK: u32 = 0x000f_ffff;
const MAX_AMOUNT: u64 = 0x7fff_ffff;
const HUNDREDTH: u64 = 10_000_000;

#[cfg(test)]
mod tests;
