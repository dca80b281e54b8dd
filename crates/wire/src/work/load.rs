//! Steps of load on the flows of a session, and what arrived of them (native).

use super::{WorkReply, WorkRequest};
use model::limit::{StepReceived, StepRequest, StepSent};
use model::time::MonoTime;
use serde::{Deserialize, Serialize};

/// What a session wants of its flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send these steps one after another, instead of what is being sent; none: send nothing more. Receiving begins with the first
    /// of these requests.
    Send(Vec<StepRequest>),
    /// Say what was sent and received of this step; [`Reply`] follows.
    Report(u32),
}

/// What one end knows of a step, and of the load as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepReport {
    /// The step.
    pub step: u32,
    /// What this end sent of it.
    pub sent: StepSent,
    /// What this end received of it.
    pub received: StepReceived,
    /// The highest step of which something has come.
    pub newest: u32,
    /// Datagrams of all steps that have come.
    pub total: u64,
    /// When this was said, by this end's clock.
    #[serde(rename = "at_ns")]
    pub at: MonoTime,
    /// TTL of the last datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    /// Datagrams that this host's kernel has dropped since it started.
    pub dropped: u64,
}

/// The answer to [`Request::Report`].
#[derive(Debug)]
pub struct Reply(pub Box<StepReport>);

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::Load(request)
    }
}

impl From<Reply> for WorkReply {
    fn from(reply: Reply) -> WorkReply {
        WorkReply::Load(reply)
    }
}
