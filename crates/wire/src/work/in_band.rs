//! Flows that speak for themselves: each is a test of its own and is described by its first bytes, there is no control
//! connection beside them. Whoever does the work has the sockets, brings what a session is to read of a flow, and moves its
//! data.

use super::throughput::Sent;
use super::{WorkReply, WorkRequest};
use model::plan::TestSpec;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};

/// What a session wants. Flows have numbers, in the order in which they came or were opened.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Of this flow.
    Flow(u32, FlowCommand),
    /// All flows are over. Each that has come meanwhile is told ([`Reply::Came`]); otherwise no more is let in, and
    /// [`Reply::Left`] follows. `hurry`: those that may still come are not waited for.
    Leave {
        /// Something has failed, or this end is to stop.
        hurry: bool,
    },
}

/// What a flow wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowCommand {
    /// Send these bytes, or this datagram.
    Send(Vec<u8>),
    /// Data moves from now on; [`FlowUpdate::SenderDone`] follows where this end sends.
    Start(Run),
    /// Stop sending; [`FlowUpdate::SenderDone`] follows.
    StopSender,
    /// Stop receiving data, and say what came (UDP); [`FlowUpdate::Measured`] follows.
    Measure,
    /// Open a flow back to the peer's address; [`Reply::Connected`] follows.
    Connect(Box<Back>),
    /// Tell the world.
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

/// What came of it.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A flow has come. TCP: with the bytes that were read of it; UDP: with its first datagram.
    Came(Vec<u8>),
    /// [`FlowCommand::Connect`] is done: the flow is open, the next of this session, or could not be opened.
    Connected(bool),
    /// Something happened to this flow.
    Flow(u32, FlowUpdate),
    /// No flow comes any more; absent: as it should be, otherwise what is missing.
    Left(Option<String>),
}

/// What happens to a flow.
#[derive(Clone, Debug)]
pub enum FlowUpdate {
    /// TCP: the next bytes, in any portions, for as long as this end does not [receive data](Run::receives). UDP: a
    /// datagram that came before [`FlowCommand::Start`] or after [`FlowCommand::Measure`], and in between every one that ends the
    /// data.
    Received(Vec<u8>),
    /// TCP: the peer sends no more, or the connection broke. UDP: nobody is at the peer's port.
    Ended,
    /// Payload bytes received so far, about once a second.
    Progress(u64),
    /// This end's sender has stopped, its amount used up or [`FlowCommand::StopSender`] said.
    SenderDone(Sent),
    /// What [`FlowCommand::Measure`] asked for: the data alone, without the end.
    Measured(ServerReport),
    /// The flow cannot go on, and why.
    Lost(Loss),
}

/// Why a flow cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection broke while this end was sending.
    Broken(String),
    /// The peer acknowledges nothing of what was sent last, or takes none of it. Its host acknowledged new data until so long after the
    /// start, where that is known.
    Unanswered(Option<Nanos>),
    /// The peer's host acknowledged the end of the data, and its program has not closed the connection since.
    LeftOpen,
    /// Its data cannot be moved.
    Unusable(String),
    /// This end gives it up.
    Stopped(String),
}

/// Data that is to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// This end sends, like this.
    pub sends: Option<Sending>,
    /// This end receives data. The datagram that made this flow start (a UDP server's first, the one that ended a
    /// client's asking) is data too: whoever does the work has it.
    pub receives: bool,
    /// TCP payload that the machine has sent itself; it counts as data.
    pub sent: u64,
    /// TCP payload that the machine has read; it counts as data.
    pub received: u64,
    /// TCP: no more than this is read in a second.
    pub receive_rate: Option<BitRate>,
}

/// How one end sends. The payload is digits, each by its place in the write or datagram (`0123456789012...`): so data
/// without a header are told from a header, by every version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// When it stops. Bytes include those of [`Run::sent`].
    pub amount: Amount,
    /// How fast.
    pub rate: Option<Rate>,
    /// Bytes of one write or datagram; 0: the worker's choice (TCP).
    pub length: u32,
    /// TOS byte.
    pub tos: u8,
    /// Not before this time of day.
    pub starts: Option<WallTime>,
    /// TCP: each write of `length` (0: 131,072) bytes begins with a record of its time; the header of [`Run::sent`] stands
    /// before the first.
    pub records: bool,
    /// What each datagram begins with; number and time go into its first bytes.
    pub head: Vec<u8>,
}

/// When a sender stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After this time; travels in hundredths of a second.
    Time(Nanos),
    /// After these payload bytes; of the number the low 31 bits travel.
    Bytes(Bytes),
}

/// A rate to send with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Payload bits.
    Bits(BitRate),
    /// Datagrams or writes a second. 2.1 and 2.2 never say so: with `-b 1000pps` they send 1000 bits.
    Packets(u64),
}

/// What a flow has learnt of its peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeerFact {
    /// A client's server is this.
    Ack(Ack),
    /// A server's figures.
    Report(ServerReport),
    /// The server's figures never came: it is gone, or the return path is blocked.
    NoReport,
}

/// What a server from 2.0.13 on writes before anything else, where the client's request wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The server's version.
    pub version: Version,
    /// With trip times: how the header went.
    pub times: Option<AckTimes>,
}

/// Three moments of a header's way, on each end's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckTimes {
    /// The client sent the header.
    pub sent: WallTime,
    /// The server had it.
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

/// What a server has seen of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Payload bytes received, those of the FIN too.
    pub bytes: u64,
    /// From the first datagram to the last; travels in microseconds.
    pub elapsed: Nanos,
    /// Numbers that never came.
    pub lost: u64,
    /// Datagrams that came after a later one.
    pub reordered: u64,
    /// The highest number, that of the FIN: datagrams that should have come.
    pub datagrams: u64,
    /// Jitter of RFC 1889; travels in microseconds.
    pub jitter: Nanos,
    /// Arrival on the server's wall clock minus sending on the client's, where the server tells.
    pub transit: Option<TransitReport>,
}

/// Transit times between two wall clocks, signed nanoseconds, told in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransitReport {
    /// Smallest.
    pub min_ns: i64,
    /// Largest.
    pub max_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// Datagrams they are of.
    pub count: u32,
}

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::InBand(request)
    }
}

impl From<Reply> for WorkReply {
    fn from(reply: Reply) -> WorkReply {
        WorkReply::InBand(reply)
    }
}
