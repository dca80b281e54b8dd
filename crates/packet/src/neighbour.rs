//! Facts about a neighbour on a link, from ARP or neighbour discovery.

use serde::{Deserialize, Serialize};
use std::fmt;

/// State of a neighbour (RFC 4861 §7.3.2, as Linux has it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NeighbourState {
    /// Not known.
    #[default]
    Unknown,
    /// Requested, not answered yet.
    Incomplete,
    /// Answered within the last half minute or so.
    Reachable,
    /// Known, not confirmed recently.
    Stale,
    /// Used while stale: will be probed soon.
    Delay,
    /// Being probed.
    Probe,
    /// Does not answer.
    Failed,
    /// Needs no hardware address.
    NoArp,
    /// Set by hand.
    Permanent,
}

impl NeighbourState {
    /// Are packets sent to it?
    #[must_use]
    pub fn is_usable(self) -> bool {
        !matches!(self, Self::Unknown | Self::Incomplete | Self::Failed)
    }

    /// Has it recently answered a request of this host?
    #[must_use]
    pub fn has_answered(self) -> bool {
        matches!(self, Self::Reachable)
    }
}

impl fmt::Display for NeighbourState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Unknown => "not known",
            Self::Incomplete => "INCOMPLETE",
            Self::Reachable => "REACHABLE",
            Self::Stale => "STALE",
            Self::Delay => "DELAY",
            Self::Probe => "PROBE",
            Self::Failed => "FAILED",
            Self::NoArp => "NOARP",
            Self::Permanent => "PERMANENT",
        })
    }
}
