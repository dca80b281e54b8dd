//! Frames sent and counted on an interface of this host (native server).

use super::{WorkReply, WorkRequest};
use crate::native::Refusal;
use crate::native::frames::{FramesAsk, FramesPort, FramesTold, FramesWish};

/// What the server's machine wants done with an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortOrder {
    /// Open an interface for this session alone; it is closed with the session. Its name is the client's word: no more than that. The numbers are in range;
    /// whether it may be offered, and have these addresses, the driver knows.
    Open(FramesWish),
    /// Do this with it; an answer follows, except to [`FramesAsk::Stop`]. The numbers are in range; whether the addresses may be sent to, the driver knows.
    Ask {
        /// Number of the question.
        id: u32,
        /// What.
        ask: FramesAsk,
    },
}

/// What came of a [`PortOrder`].
#[derive(Clone, Debug, PartialEq)]
pub enum PortAnswer {
    /// The interface is open.
    Open(Box<FramesPort>),
    /// It is not: the session ends.
    Refused(Refusal),
    /// What came of a question.
    Told {
        /// Of the question.
        id: u32,
        /// What came of it.
        told: FramesTold,
    },
}

impl From<PortOrder> for WorkRequest {
    fn from(order: PortOrder) -> WorkRequest {
        WorkRequest::Frames(order)
    }
}

impl From<PortAnswer> for WorkReply {
    fn from(answer: PortAnswer) -> WorkReply {
        WorkReply::Frames(answer)
    }
}
