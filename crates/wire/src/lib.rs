//! Wire protocols as state machines without sockets, clocks or threads.
//!
//! One role of one protocol is a [`Session`], the dialogue on its control connection. What is done beside the dialogue is
//! [`work`], each kind with its own requests and replies. The driver (the engine, or a test) feeds one [`Input`], then takes
//! [`Output`]s until [`Output::WaitUntil`]: the drain rule. Time comes in as an argument.
//!
//! The life of a session, both roles, all protocols:
//!
//! ```text
//! Send* … work … Send* … Close
//!
//! throughput   Flows ──► Open ──► Start ──► (Sample | Progress)* … (SendersDone | the peer sends stop)
//!                        ──► StopSenders ──► SendersDone ──► Drain ──► Measured
//! probes       Flows ──► Open ──► (Send ──► TooBig | Datagram | ReportPath ──► PathObservation)*
//! round trips  Flows ──► Open ──► Reflect ──► (Count ──► count)*
//! frames       Open ──► Open ──► (Ask ──► Reply)*
//! ```

pub mod echo;
mod fixed;
mod hex;
pub mod http;
pub mod iperf2;
pub mod iperf3;
pub mod native;
mod rate_watch;
mod session;
pub mod sockperf;
pub mod stamp;
pub mod twamp;
pub mod work;

pub use session::{Input, Output, ProtocolError, Session};
pub use work::throughput::{Expect, Report, Sent, Until};
pub use work::{FlowHello, FlowPlan, FlowsRequest, WorkKind, WorkReply, WorkRequest};

use model::time::MonoTime;
use model::units::{BitRate, Nanos};

/// Limits of a server for the requests of clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Longest test, omitted time included; absent: the protocol's own limit.
    pub max_time: Option<Nanos>,
    /// Highest total rate of all streams of one direction.
    pub max_rate: Option<BitRate>,
    /// Most parallel streams; absent: 128.
    pub max_streams: Option<u32>,
}

/// How a datagram carries its number and time of sending.
pub trait Datagram: Copy + Send + 'static {
    /// Smallest payload that holds the header, bytes.
    const MIN_LEN: usize;
    /// Writes the header. `buf` has at least `MIN_LEN` bytes.
    fn write(self, stamp: Stamp, buf: &mut [u8]);
    /// Reads the header; `None`: the datagram is foreign.
    fn read(self, buf: &[u8]) -> Option<Stamp>;
    /// Does it end its flow? Called for datagrams that cannot be read.
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
