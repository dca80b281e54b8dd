//! Single datagrams of chosen shapes on the flow of a probe session (native server).

use super::{WorkReply, WorkRequest};
use crate::native::PathSeen;
use model::path::FragmentShape;

/// What a session wants of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send this. Where the kernel refuses to send it whole, [`Reply::TooBig`] follows.
    Send {
        /// UDP payload.
        bytes: Vec<u8>,
        /// How it is cut into fragments; absent: fragments are forbidden.
        cut: Option<FragmentShape>,
        /// How many hops it may go; absent: as many as usual.
        hops: Option<u8>,
    },
    /// Say what this end knows of the path; [`Reply::PathSeen`] follows.
    ReportPath {
        /// Of routers at which probes ended, only what is about this order or a later one.
        since: u32,
    },
}

/// What comes of it.
#[derive(Debug)]
pub enum Reply {
    /// A datagram has come.
    Datagram {
        /// UDP payload.
        bytes: Vec<u8>,
        /// The largest IP fragment it came in; absent: it came in one piece.
        fragment: Option<u32>,
    },
    /// The kernel refused to send a datagram of this size whole.
    TooBig(u32),
    /// What this end knows of the path.
    PathSeen(Box<PathSeen>),
}

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::Probes(request)
    }
}

impl From<Reply> for WorkReply {
    fn from(reply: Reply) -> WorkReply {
        WorkReply::Probes(reply)
    }
}
