//! What a test of iPerf2 tells: the events of every test, and what only iPerf2 has.

use model::event::Event;
use model::units::Nanos;
use std::net::SocketAddr;
use wire::iperf2::{Ack, Request, ServerReport};

/// Something that happened, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told<'a> {
    /// As in every test.
    Event(&'a Event),
    /// As only in iPerf2's.
    Fact(&'a Fact),
}

/// What only iPerf2 has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
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
        /// Largest segment, bytes of payload.
        mss: Option<u32>,
        /// The initial congestion window, segments, and the smoothed RTT.
        tcp: Option<(u32, Nanos)>,
    },
    /// A connection was refused or timed out, and will be tried again.
    Retry {
        /// Its stream.
        stream: u32,
        /// Why.
        reason: String,
    },
    /// A server's client asks for this; told for each flow, before [`Event::Connected`] for the first.
    Request {
        /// Its stream.
        stream: u32,
        /// Both ends of the flow.
        ends: (SocketAddr, SocketAddr),
        /// Absent: it says nothing of itself.
        request: Option<Box<Request>>,
    },
    /// The server is this (TCP).
    Ack {
        /// On this stream.
        stream: u32,
        /// What it says.
        ack: Ack,
    },
    /// The server's figures of a UDP flow as they came; [`Event::Result`] of the peer's side has them, too.
    Report {
        /// Of this stream.
        stream: u32,
        /// The figures; those of the end are among them.
        report: ServerReport,
    },
    /// They did not come.
    NoReport {
        /// Of this stream.
        stream: u32,
    },
    /// What the sample told before this has no field for.
    Interval(Vec<Detail>),
    /// The same of the whole test, told before [`Event::Result`] of this end.
    Total(Vec<Detail>),
}

/// What iPerf2's extended reports (`-e`) tell of a stream in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Detail {
    /// Stream number.
    pub(crate) stream: u32,
    /// Calls that moved data: writes or reads.
    pub(crate) calls: u64,
    /// TCP receivers: reads by size, in eighths of the buffer, as `Reads=Dist`.
    pub(crate) reads: [u64; 8],
    /// UDP receivers: one-way delays of the datagrams, on the two ends' wall clocks.
    pub(crate) delay: Option<Spread>,
    /// Delays of whole bursts over TCP; absent: not measured.
    pub(crate) bursts: Option<Spread>,
    /// Bytes of those bursts.
    pub(crate) burst_bytes: u64,
}

/// Signed nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spread {
    /// How many.
    pub(crate) count: u64,
    /// Smallest.
    pub(crate) min: i64,
    /// Mean.
    pub(crate) mean: f64,
    /// Largest.
    pub(crate) max: i64,
    /// Standard deviation.
    pub(crate) stddev: f64,
}
