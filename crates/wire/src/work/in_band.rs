//! Flows that carry their own description: each is a test of its own and is described by its first bytes, without a control
//! connection. The driver has the sockets, passes in the bytes that a session is to read, and transfers the data.

use super::throughput::Sent;
use model::plan::TestSpec;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};

/// Requests of a session. Flows are numbered in the order in which they arrived or were opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// A command for this flow.
    Flow(u32, FlowCommand),
    /// All flows are over. Each that has arrived meanwhile is reported ([`Reply::Came`]); otherwise no more are accepted, and
    /// [`Reply::Left`] follows. `hurry`: pending flows are not waited for.
    Leave {
        /// Something has failed, or this end is to stop.
        hurry: bool,
    },
}

/// Actions that a flow requests.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowCommand {
    /// Send these bytes, or this datagram.
    Send(Vec<u8>),
    /// Data moves from now on; [`FlowUpdate::SenderDone`] follows where this end sends.
    Start(Run),
    /// Stop sending; [`FlowUpdate::SenderDone`] follows.
    StopSender,
    /// Stop receiving data and report the figures (UDP); [`FlowUpdate::Measured`] follows.
    Measure,
    /// Open a flow back to the peer's address; [`Reply::Connected`] follows.
    Connect(Box<Back>),
    /// Report a fact about the peer.
    Note(PeerFact),
    /// End this end's direction of the connection (TCP).
    Shutdown,
    /// The flow is over: close it. What was measured is complete.
    Close,
}

/// A flow that this end is to open to the peer's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// The peer's port.
    pub port: u16,
    /// The test it is for.
    pub test: TestSpec,
}

/// The replies to a session.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A flow has arrived. TCP: with the bytes that were read of it; UDP: with its first datagram.
    Came(Vec<u8>),
    /// [`FlowCommand::Connect`] is done: the flow is open, the next of this session, or could not be opened.
    Connected(bool),
    /// An event of this flow.
    Flow(u32, FlowUpdate),
    /// No more flows arrive; absent: as expected, otherwise the missing part.
    Left(Option<String>),
}

/// Events of a flow.
#[derive(Clone, Debug)]
pub enum FlowUpdate {
    /// TCP: the next bytes, in any portions, for as long as this end does not [receive data](Run::receives). UDP: a datagram that
    /// arrived before [`FlowCommand::Start`] or after [`FlowCommand::Measure`], and in between every one that ends the data.
    Received(Vec<u8>),
    /// TCP: the peer sends no more, or the connection broke. UDP: the peer's port is unreachable.
    Ended,
    /// Payload bytes received so far, about once a second.
    Progress(u64),
    /// This end's sender has stopped, because its amount is used up or after [`FlowCommand::StopSender`].
    SenderDone(Sent),
    /// The figures that [`FlowCommand::Measure`] requested: the data alone, without the end.
    Measured(ServerReport),
    /// The flow cannot go on, and why.
    Lost(Loss),
}

/// Why a flow cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection broke while this end was sending.
    Broken(String),
    /// The peer acknowledges none of the data that was sent last, or takes none of it. Its host acknowledged new data until so
    /// long after the start, where that is known.
    Unanswered(Option<Nanos>),
    /// The peer's host acknowledged the end of the data, and its program has not closed the connection since.
    LeftOpen,
    /// Its data cannot be moved.
    Unusable(String),
    /// This end gives it up.
    Stopped(String),
}

/// Data that is to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// This end sends, like this.
    pub sends: Option<Sending>,
    /// This end receives data. The datagram that made this flow start (a UDP server's first, the one that answered a client's
    /// request) is data too: the driver has it.
    pub receives: bool,
    /// TCP payload that the machine has sent itself; it counts as data.
    pub sent: u64,
    /// TCP payload that the machine has read; it counts as data.
    pub received: u64,
    /// TCP: no more than this is read in a second.
    pub receive_rate: Option<BitRate>,
}

/// How one end sends. The payload is digits, each by its place in the write or datagram (`0123456789012...`): every version can
/// thereby distinguish data without a header from a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// End of the data. Bytes include those of [`Run::sent`].
    pub amount: Amount,
    /// The rate.
    pub rate: Option<Rate>,
    /// Bytes of one write or datagram; 0: the driver's choice (TCP).
    pub length: u32,
    /// TOS byte.
    pub tos: u8,
    /// Earliest start, as time of day.
    pub starts: Option<WallTime>,
    /// TCP: each write of `length` (0: 131,072) bytes begins with a record of its time; the header of [`Run::sent`] precedes the
    /// first.
    pub records: bool,
    /// First bytes of each datagram; number and time go into the front of them.
    pub head: Vec<u8>,
}

/// When a sender stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this time, sent in hundredths of a second.
    Time(Nanos),
    /// After these payload bytes; the low 31 bits of the number are sent.
    Bytes(Bytes),
}

/// A rate to send with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Payload bits.
    Bits(BitRate),
    /// Datagrams or writes per second. 2.1 and 2.2 never announce this: with `-b 1000pps` they announce 1000 bits.
    Packets(u64),
}

/// Facts about the peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeerFact {
    /// The acknowledgement of a client's server.
    Ack(Ack),
    /// The figures of a client's server.
    Report(ServerReport),
    /// The server's figures never arrived: the server is gone, or the return path is blocked.
    NoReport,
}

/// First message of a server from 2.0.13 on, where the client's request demands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The server's version.
    pub version: Version,
    /// With trip times: the times of the header's exchange.
    pub times: Option<AckTimes>,
}

/// Three times of a header's exchange, on each end's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckTimes {
    /// The client sent the header.
    pub sent: WallTime,
    /// The server received it.
    pub received: WallTime,
    /// The server sent the acknowledgement.
    pub acknowledged: WallTime,
}

/// An iPerf2 version: `0x00020001, 0x00080003` is 2.1.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Major and minor, 16 bits each.
    pub upper: u32,
    /// Patch and stage of release, 16 bits each.
    pub lower: u32,
}

/// A server's figures of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Payload bytes received, including those of the FIN.
    pub bytes: u64,
    /// From the first datagram to the last; sent in microseconds.
    pub elapsed: Nanos,
    /// Numbers that never arrived.
    pub lost: u64,
    /// Datagrams that arrived after a later one.
    pub reordered: u64,
    /// The highest number, that of the FIN: datagrams that should have arrived.
    pub datagrams: u64,
    /// Jitter of RFC 1889; sent in microseconds.
    pub jitter: Nanos,
    /// Arrival on the server's wall clock minus sending on the client's, where the server reports it.
    pub transit: Option<TransitReport>,
}

/// Transit times between two wall clocks, signed nanoseconds, sent in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitReport {
    /// Smallest.
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// Number of datagrams measured.
    pub count: u32,
}
