//! Data transfer on the flows of a test.

use model::sample::{IntervalSample, SideResult};
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// Requests of a session for a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begin to send and to count: the test's time zero. Streams that send do so until `TestSpec::end` unless
    /// [`FlowPlan::senders_wait_for_stop`](super::FlowPlan::senders_wait_for_stop).
    Start,
    /// Stop all senders of this end now; [`Reply::SendersDone`] follows.
    StopSenders,
    /// Receive until each stream has got the expected data, or for at most this long; then close the data flows;
    /// [`Reply::Measured`] follows.
    Drain {
        /// The end of each receiving stream of this end. A stream without a row is not waited for.
        expect: Vec<Expect>,
        /// The longest wait.
        limit: Nanos,
    },
    /// Wait no longer for the expected data: what has arrived counts. No effect once the drain is over.
    EndDrain,
}

/// The replies and events of a test.
#[derive(Debug)]
pub enum Reply {
    /// A report interval of this end is over.
    Sample(IntervalSample),
    /// The progress of this end, given at least once a second while the flows run, and about every 20 ms where
    /// [`TestSpec::end`](model::plan::TestSpec::end) is in bytes or blocks and this end receives: an iPerf3 client ends such a
    /// test by the data it received.
    Progress {
        /// Payload bytes sent in the counted time (until it begins: in the omitted time).
        sent: u64,
        /// Payload bytes received, likewise.
        received: u64,
        /// The counted time has not begun.
        omitted: bool,
    },
    /// Every sender of this end has stopped (its time, bytes or blocks are used up, or after `StopSenders`): the data that each
    /// of this end's sending streams sent.
    SendersDone(Vec<Sent>),
    /// The drain is over: the results of this end, and its report where the peer requested it.
    Measured {
        /// The figures of this end.
        result: Box<SideResult>,
        /// This end's own report for the peer (iPerf3 `--get-server-output`).
        report: Option<Report>,
    },
}

/// Options of an iPerf3 client outside of the test: they travel with the parameters and change nothing of the test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// `--title`: put before every line of the output.
    pub title: Option<String>,
    /// `--extra-data`: put into the JSON of both ends.
    pub extra_data: Option<String>,
    /// `--get-server-output`: the client wants the server's own report.
    pub get_server_output: bool,
    /// The encrypted user, password and time, in base64.
    pub auth_token: Option<String>,
    /// The client's version, such as `3.12`.
    pub client_version: Option<String>,
    /// CPU the server shall run on (`-A n,m`).
    pub server_affinity: Option<u32>,
}

/// A server's own report, sent along with its results.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// The text that the server would have printed.
    Text(String),
    /// The server's JSON document.
    Json(serde_json::Value),
}

/// The data that one sending stream has sent in all, omitted time included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Stream number.
    pub stream: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// Datagrams (UDP): also the last sequence number.
    pub datagrams: u64,
}

/// The end of one receiving stream in a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Stream number.
    pub stream: u32,
    /// The condition that ends it.
    pub until: Until,
}

/// The end of one stream's drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// This many payload bytes have arrived (TCP), counted from the first, or nothing has arrived for the given quiet time.
    Bytes(u64, Nanos),
    /// The datagram of this number has arrived, or nothing has arrived for the given quiet time.
    Sequence(u64, Nanos),
    /// The stream has ended (TCP), or nothing has arrived for the given time.
    Quiet(Nanos),
}
