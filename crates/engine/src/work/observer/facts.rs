//! Facts that only tests of iPerf2 report.

use crate::work::throughput::timed::{Burst, FrameCount, TimedBins};
use model::units::{Bytes, Nanos};
use std::net::{SocketAddr, TcpStream};
use wire::iperf2::{Ack, BounceRequest, Request, ServerReport};

/// A TCP connection before its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpStart {
    /// The initial congestion window.
    pub window: Bytes,
    /// Largest segment, bytes of payload.
    pub mss: u32,
    /// Smoothed RTT.
    pub rtt: Nanos,
}

impl TcpStart {
    /// Reads the state of this connection; `None`: the kernel does not report it.
    pub fn from_socket(socket: &TcpStream) -> Option<TcpStart> {
        let info = linux::tcp_info::tcp_info(socket).ok()?;
        let mss = u32::try_from(linux::options::mss(socket).ok()?.0).ok()?;
        Some(TcpStart { window: info.cwnd_bytes, mss, rtt: info.rtt })
    }
}

/// A fact that only iPerf2 has.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A client's TCP connection stands.
    Connect {
        /// Its stream.
        stream: u32,
        /// This end of it.
        local: SocketAddr,
        /// The other end.
        remote: SocketAddr,
        /// connect(2) took so long.
        took: Nanos,
        /// The kernel's state of the connection then.
        tcp: Option<TcpStart>,
    },
    /// A connection was refused or timed out, and will be tried again.
    Retry {
        /// Its stream.
        stream: u32,
        /// Why.
        reason: String,
    },
    /// A server's client requests this; reported for each flow, before `Event::Connected` for the first.
    Request {
        /// Its stream.
        stream: u32,
        /// Both ends of the flow.
        ends: (SocketAddr, SocketAddr),
        /// The request; absent: the client sent none.
        request: Option<Box<Request>>,
        /// TCP: the kernel's state of the connection then.
        tcp: Option<TcpStart>,
    },
    /// A server's client requests round trips; reported behind `Event::Connected`.
    Bouncing {
        /// Both ends of the connection.
        ends: (SocketAddr, SocketAddr),
        /// Its request.
        request: BounceRequest,
        /// The kernel's state of the connection then.
        tcp: Option<TcpStart>,
    },
    /// Its requests were answered.
    Bounced {
        /// From when to when, since the first could come.
        span: (Nanos, Nanos),
        /// Requests answered meanwhile.
        trips: u64,
        /// This is the whole time.
        whole: bool,
    },
    /// The server is this (TCP).
    Ack {
        /// On this stream.
        stream: u32,
        /// The content of the acknowledgement.
        ack: Ack,
    },
    /// The server's figures of a UDP flow as they came; `Event::Result` of the peer's side has them, too.
    Report {
        /// Number of the stream.
        stream: u32,
        /// The figures; those of the end are among them.
        report: ServerReport,
    },
    /// They did not come.
    NoReport {
        /// Number of the stream.
        stream: u32,
    },
    /// Bursts have come whole, whose times are reported one by one.
    Bursts {
        /// On this stream.
        stream: u32,
        /// In the order in which they came.
        bursts: Vec<Burst>,
    },
    /// Details that the sample before this has no field for.
    Interval(Vec<Detail>),
    /// The same of the whole test, reported before `Event::Result` of this end.
    Total(Vec<Detail>),
}

/// Details of a stream in an interval, for iPerf2's extended reports (`-e`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Stream number.
    pub stream: u32,
    /// Calls that moved data: writes or reads.
    pub calls: u64,
    /// TCP receivers: reads by size, in eighths of the buffer, as `Reads=Dist`.
    pub reads: [u64; 8],
    /// UDP receivers: one-way delays of the datagrams, on the two ends' wall clocks.
    pub delay: Option<Spread>,
    /// How long writes took, where requested.
    pub writes: Option<Spread>,
    /// Frames or bursts sent or received; absent: the data is not cut, or nothing is known of it.
    pub frames: Option<FrameCount>,
    /// Delays of whole frames or bursts.
    pub bursts: Option<Spread>,
    /// Bytes of those.
    pub burst_bytes: u64,
    /// Counts in bins, where requested.
    pub histograms: Vec<TimedBins>,
}

/// Signed nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Smallest.
    pub min: i64,
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: i64,
    /// Standard deviation, where it is known.
    pub stddev: Option<f64>,
}
