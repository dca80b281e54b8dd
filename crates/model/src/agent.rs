//! State of an agent of a mesh, as it reports it.

use crate::time::WallTime;
use serde::{Deserialize, Serialize};

/// State of an agent. Fields that another version does not send are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AgentStatus {
    /// The agent's wall clock when it reported.
    pub clock: Option<WallTime>,
    /// The runs that it works on, those that wait for a lease among them.
    pub runs: Vec<String>,
    /// The runs that wait, and for what.
    pub waiting: Vec<WaitingRun>,
    /// Results kept on its disk.
    pub spool: SpoolStatus,
    /// Why it cannot do all of its work now; absent: it can.
    pub failure: Option<String>,
    /// The latest failure since it was started.
    pub last_failure: Option<String>,
    /// When that was, by its clock.
    pub failed_at: Option<WallTime>,
    /// When a run of it ended last, by its clock, since it was started.
    pub last_end: Option<WallTime>,
    /// Whether it holds its name: another agent of the same name may be at work.
    pub has_name: bool,
}

/// A run that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WaitingRun {
    /// The test: `throughput ams -> fra`.
    pub title: String,
    /// The resources that it needs.
    pub needs: Vec<String>,
    /// Why it waits.
    pub why: String,
    /// Since when, by the agent's clock.
    pub since: WallTime,
}

/// Results kept on an agent's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SpoolStatus {
    /// Outcomes that the coordinator does not have yet.
    pub pending: usize,
    /// Free space on its disk; absent: not known.
    pub room_bytes: Option<u64>,
    /// Lines that cannot be read, in a sentence.
    pub damage: Option<String>,
}
