//! Steps of load on the flows of a session, and what arrived of them (native).

use model::limit::{StepReceived, StepRequest, StepSent};
use model::time::MonoTime;
use serde::{Deserialize, Serialize};

/// Requests for the flows of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send these steps in sequence, instead of the current ones; none: send nothing more. Receiving begins with the first of
    /// these requests.
    Send(Vec<StepRequest>),
    /// Report the data sent and received in this step; a [`StepReport`] follows.
    Report(u32),
}

/// One end's figures of a step, and of the load as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepReport {
    /// The step.
    pub step: u32,
    /// Data of the step that this end sent.
    pub sent: StepSent,
    /// Data of the step that this end received.
    pub received: StepReceived,
    /// The highest step of which data has arrived.
    pub newest: u32,
    /// Datagrams of all steps that have arrived.
    pub total: u64,
    /// Time of this report, by this end's clock.
    #[serde(rename = "at_ns")]
    pub at: MonoTime,
    /// TTL of the last datagram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    /// Datagrams that this host's kernel has dropped since it started.
    pub dropped: u64,
}
