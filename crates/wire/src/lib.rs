//! Wire protocols as state machines without sockets, clocks or threads.
//!
//! One role of one protocol is a [`Session`]. Its driver (the engine, or a test) feeds one [`Input`], then takes
//! [`Output`]s until [`Output::WaitUntil`]: the drain rule. Time comes in as an argument.
//!
//! The life of a session, both roles, all protocols:
//!
//! ```text
//! Send* … OpenFlows ──► FlowsOpen ──► Send* … StartFlows ──► LocalSample* … (SendersDone | Timer | Interrupt | peer says stop)
//!         ──► StopSenders ──► SendersDone ──► Drain ──► Measured ──► Send* … Close
//! ```

pub mod echo;
pub mod http;
pub mod iperf2;
pub mod iperf3;
pub mod native;
mod rate_watch;
pub mod sockperf;
pub mod stamp;

use model::event::Event;
use model::host::Host;
use model::latency::LatencySpec;
use model::path::FragmentShape;
use model::plan::TestSpec;
use model::sample::{IntervalSample, SideResult, StreamInfo};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// The control dialogue: one role of one protocol.
pub trait Session: Send {
    /// Takes one thing that happened. After an error the session is over; the driver takes the remaining
    /// outputs (a last message to the peer, perhaps) and closes.
    fn input(&mut self, now: MonoTime, input: Input<'_>) -> Result<(), ProtocolError>;

    /// The next thing to do. `WaitUntil` ends the round.
    fn output(&mut self, now: MonoTime) -> Output;

    /// The other end, once it has told of itself.
    fn peer(&self) -> Option<&Host> {
        None
    }

    /// Is every datagram on the flow for this session to read ([`Input::Datagram`])? True while it probes.
    fn takes_datagrams(&self) -> bool {
        false
    }

    /// Time between this end's reports that the peer asked for; absent: this end's own choice.
    fn report_interval(&self) -> Option<Nanos> {
        None
    }

    /// What an iPerf3 client asked for beside the test, once it has.
    fn extras(&self) -> Option<&iperf3::Extras> {
        None
    }
}

/// What happens to a session.
#[derive(Debug)]
pub enum Input<'a> {
    /// Bytes of the control connection, in any portions.
    Received(&'a [u8]),
    /// The peer closed the control connection, or it broke.
    Closed,
    /// The time of the last `WaitUntil` has come. May also be given early: then it must change nothing.
    Timer,
    /// All flows of the last `OpenFlows` are open, in order of their stream numbers.
    FlowsOpen(&'a [StreamInfo]),
    /// They could not all be opened, and why.
    FlowsFailed(&'a str),
    /// A datagram came on the flow of a session that [takes datagrams](Session::takes_datagrams).
    Datagram {
        /// UDP payload.
        bytes: &'a [u8],
        /// The largest IP fragment it came in; absent: it came in one piece.
        fragment: Option<u32>,
    },
    /// What `ReportPath` asked for.
    PathSeen(&'a native::PathSeen),
    /// The kernel refused to send a datagram of this size whole ([`Output::Datagram`]).
    DatagramTooBig(u32),
    /// What has come of the messages of a latency session ([`Output::CountReflected`]).
    Reflected(&'a native::LatencySeen),
    /// What came of [`Output::Port`].
    Port(&'a native::frames::PortAnswer),
    /// A report interval of this end is over.
    LocalSample(&'a IntervalSample),
    /// How far this end is, given at least once a second while the flows run, and about every 20 ms where
    /// [`TestSpec::end`] is in bytes or blocks and this end receives: an iPerf3 client ends such a test by what it got.
    Progress {
        /// Payload bytes sent in the counted time (until it begins: in the omitted time).
        sent: u64,
        /// Payload bytes received, likewise.
        received: u64,
        /// The counted time has not begun.
        omitted: bool,
    },
    /// Every sender of this end has stopped (its time, bytes or blocks are used up, or `StopSenders` was said):
    /// what each of this end's sending streams sent.
    SendersDone(&'a [Sent]),
    /// `Drain` is over: what this end measured, and its report where the peer asked for it.
    Measured {
        /// The figures of this end.
        result: &'a SideResult,
        /// This end's own report for the peer (iPerf3 `--get-server-output`).
        report: Option<Report>,
    },
    /// This end wants to stop: Ctrl-C, a server shutting down, a limit reached.
    Interrupt(&'a str),
}

/// What a session wants done.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "outputs are few, short-lived and never in arrays")]
pub enum Output {
    /// Send these bytes on the control connection.
    Send(Vec<u8>),
    /// A client connects these data flows now; a server begins to accept them.
    OpenFlows(FlowPlan),
    /// Begin to send and to count: the test's time zero. Streams that send do so until `TestSpec::end` unless
    /// [`FlowPlan::senders_wait_for_stop`].
    StartFlows,
    /// Stop all senders of this end now; `Input::SendersDone` follows.
    StopSenders,
    /// Receive until each stream has got what is expected of it, or for at most this long; then close the data
    /// flows; `Input::Measured` follows.
    Drain {
        /// What each receiving stream of this end waits for. A stream not named is not waited for.
        expect: Vec<Expect>,
        /// The longest wait.
        limit: Nanos,
    },
    /// Send this on the flow of a probe session (native server).
    Datagram {
        /// UDP payload.
        bytes: Vec<u8>,
        /// How it is cut into fragments; absent: fragments are forbidden.
        cut: Option<FragmentShape>,
        /// How many hops it may go; absent: as many as usual.
        hops: Option<u8>,
    },
    /// Answer the messages of a latency session on its flow from now on (native server).
    Reflect(LatencySpec),
    /// Say what this end knows of the path of a probe session (native server); `Input::PathSeen` follows.
    ReportPath {
        /// Of routers at which probes ended, only what is about this order or a later one.
        since: u32,
    },
    /// Say what has come of them; `Input::Reflected` follows.
    CountReflected,
    /// Open an interface and send or count frames there (native server); `Input::Port` follows, except for
    /// [`FramesAsk::Stop`](native::frames::FramesAsk::Stop). An interface once open is closed with the session.
    Port(native::frames::PortOrder),
    /// Tell the world.
    Event(Event),
    /// Nothing more to do before this time, unless an input comes. `None`: wait for input alone.
    WaitUntil(Option<MonoTime>),
    /// The dialogue is over: close the control connection.
    Close,
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
        session: native::SessionId,
        /// Its secret, by which its flows are known.
        key: native::FlowKey,
    },
}

/// A server's own report, sent along with its results.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// As the server would have printed it.
    Text(String),
    /// As the server's JSON document.
    Json(serde_json::Value),
}

/// What a server allows a client to ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Longest test, omitted time included; absent: the protocol's own limit.
    pub max_time: Option<Nanos>,
    /// Highest total rate of all streams of one direction.
    pub max_rate: Option<BitRate>,
    /// Most parallel streams; absent: 128.
    pub max_streams: Option<u32>,
}

/// What one sending stream has sent in all, omitted time included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Stream number.
    pub stream: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// Datagrams (UDP): also the last sequence number.
    pub datagrams: u64,
}

/// What one receiving stream waits for in a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Stream number.
    pub stream: u32,
    /// Until when.
    pub until: Until,
}

/// The end of one stream's drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This many payload bytes have come (TCP), counted from the first, or nothing has come for the given quiet time.
    Bytes(u64, Nanos),
    /// The datagram of this number has come, or nothing has come for the given quiet time.
    Sequence(u64, Nanos),
    /// The stream has ended (TCP), or nothing has come for the given time.
    Quiet(Nanos),
}

/// Why a dialogue failed, and who is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The peer broke the protocol.
    #[error("the peer broke the {protocol} protocol: {what}")]
    Violation {
        /// Protocol name.
        protocol: &'static str,
        /// What it did.
        what: String,
    },
    /// The peer refused, with its reason and what to do about it.
    #[error("the peer refused: {0}")]
    Refused(String),
    /// The two ends have no version of the protocol in common: names both and which to upgrade.
    #[error("{0}")]
    Version(String),
    /// The peer is busy with another client.
    #[error("the server is busy running another test; try again later")]
    Busy,
    /// The peer ended the test.
    #[error("the peer ended the test: {0}")]
    PeerStopped(String),
    /// The peer closed the connection, or it broke.
    #[error("the peer closed the connection {0}")]
    Closed(String),
    /// The peer did not answer.
    #[error("no answer from the peer {0}")]
    Timeout(String),
    /// The data flows could not be opened.
    #[error("{0}")]
    Flows(String),
    /// This end gave up.
    #[error("stopped: {0}")]
    Stopped(String),
}

/// How a datagram carries its number and time of sending.
pub trait Datagram: Copy + Send + 'static {
    /// Smallest payload that holds the header, bytes.
    const MIN_LEN: usize;
    /// Writes the header. `buf` has at least `MIN_LEN` bytes.
    fn write(self, stamp: Stamp, buf: &mut [u8]);
    /// Reads the header; `None`: not a datagram of ours.
    fn read(self, buf: &[u8]) -> Option<Stamp>;
    /// Does it end its flow? Asked of datagrams that cannot be read.
    fn ends(self, _buf: &[u8]) -> bool {
        false
    }
}

/// Number and time in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Sequence number, from 1.
    pub sequence: u64,
    /// Sender's monotonic clock.
    pub sent: MonoTime,
}
