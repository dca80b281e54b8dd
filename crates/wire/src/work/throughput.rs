//! Data that moves on the flows of a test, and is counted.

use super::{WorkReply, WorkRequest};
use model::sample::{IntervalSample, SideResult};
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// What a session wants of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begin to send and to count: the test's time zero. Streams that send do so until `TestSpec::end` unless
    /// [`FlowPlan::senders_wait_for_stop`](super::FlowPlan::senders_wait_for_stop).
    Start,
    /// Stop all senders of this end now; [`Reply::SendersDone`] follows.
    StopSenders,
    /// Receive until each stream has got what is expected of it, or for at most this long; then close the data
    /// flows; [`Reply::Measured`] follows.
    Drain {
        /// What each receiving stream of this end waits for. A stream not named is not waited for.
        expect: Vec<Expect>,
        /// The longest wait.
        limit: Nanos,
    },
}

/// What comes of it.
#[derive(Debug)]
pub enum Reply {
    /// A report interval of this end is over.
    Sample(IntervalSample),
    /// How far this end is, given at least once a second while the flows run, and about every 20 ms where
    /// [`TestSpec::end`](model::plan::TestSpec::end) is in bytes or blocks and this end receives: an iPerf3 client ends
    /// such a test by what it got.
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
    SendersDone(Vec<Sent>),
    /// The drain is over: what this end measured, and its report where the peer asked for it.
    Measured {
        /// The figures of this end.
        result: Box<SideResult>,
        /// This end's own report for the peer (iPerf3 `--get-server-output`).
        report: Option<Report>,
    },
}

/// What an iPerf3 client asks for beside the test: it travels with the parameters and changes nothing of the test.
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
    /// As the server would have printed it.
    Text(String),
    /// As the server's JSON document.
    Json(serde_json::Value),
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

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::Throughput(request)
    }
}

impl From<Reply> for WorkReply {
    fn from(reply: Reply) -> WorkReply {
        WorkReply::Throughput(reply)
    }
}
