//! A mesh that was measured: every agent to every other, one cell for each direction and test.

use crate::experiment::MatrixFinding;
use crate::finding::Status;
use crate::history::Headline;
use crate::limit::LimitKind;
use crate::time::WallTime;
use crate::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};

/// The document of a mesh, schema `pathmeter/mesh/1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[must_use]
pub struct MeshReport {
    /// Always `pathmeter/mesh/1`.
    pub schema: String,
    /// Name of the run of the mesh.
    pub name: String,
    /// The label of its runs in a store; empty: they are in none.
    #[serde(default)]
    pub label: String,
    /// Begin of the first run, wall clock of its agent.
    pub started: Option<WallTime>,
    /// End of the last run, likewise.
    pub finished: Option<WallTime>,
    /// Every path with every test, by test, sender and receiver.
    pub cells: Vec<MeshCell>,
    /// Findings from several cells together.
    pub findings: Vec<MatrixFinding>,
    /// Remarks on the whole.
    pub notes: Vec<String>,
}

/// One path with one test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeshCell {
    /// The agent that sends; of round trips the one that asks.
    pub from: String,
    /// The agent that receives; of round trips the one that answers.
    pub to: String,
    /// The test: `throughput`, `latency`, `mtu`, `hops`.
    pub test: String,
    /// The IP version, 4 or 6, where one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
    /// State.
    pub state: CellState,
    /// Why there is no figure to trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The foremost figure of this direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Headline>,
    /// The verdict of the run in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The run, by which a store has it; empty: there is none.
    #[serde(default)]
    pub run: String,
    /// The target that a store has the run under: `ams -> fra`. Packet sizes of both directions are one run.
    #[serde(default)]
    pub target: String,
    /// Begin of the run, wall clock of the agent that carried it out; of a missed one when it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<WallTime>,
    /// End of the run, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<WallTime>,
    /// Time by which it began before the latest run of the mesh; absent: it belongs to the latest round and is not older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ns: Option<Nanos>,
    /// The fencing token of the lease that the run held; 0: it held none.
    #[serde(default)]
    pub token: u64,
    /// The limit of the rate of this direction, where the run found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<CellLimit>,
    /// Which attempt at the run this is, from 1; absent: the first.
    #[serde(default, skip_serializing_if = "is_first")]
    pub attempt: u32,
}

fn is_first(attempt: &u32) -> bool {
    *attempt <= 1
}

/// The limit of the rate of a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CellLimit {
    /// Kind of limit.
    pub kind: LimitKind,
    /// The rate that it sets, in frames on the wire without preamble and FCS.
    #[serde(rename = "rate_bps", skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Both for people: `shaper at 200 Mbit/s`.
    pub text: String,
}

/// State of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CellState {
    /// The measurement is complete.
    Done,
    /// The measurement is complete, and the result must not be trusted.
    Void,
    /// The measurement failed: the far end cannot be reached, or refuses.
    Failed,
    /// Nothing came by its deadline.
    #[default]
    Missed,
}

impl CellState {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CellState::Done => "done",
            CellState::Void => "void",
            CellState::Failed => "failed",
            CellState::Missed => "missed",
        }
    }
}

impl MeshCell {
    /// `ams -> fra`, or `ams -> fra IPv6`.
    #[must_use]
    pub fn path(&self) -> String {
        path(&self.from, &self.to, self.family)
    }

    /// The figure, where it may be trusted.
    #[must_use]
    pub fn measured(&self) -> Option<&Headline> {
        self.figure.as_ref().filter(|_| self.state == CellState::Done)
    }
}

impl MeshReport {
    /// Nothing of it can be used.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.cells.iter().all(|cell| cell.measured().is_none())
    }

    /// The cells of earlier rounds: what they show is not of the latest.
    pub fn older(&self) -> impl Iterator<Item = (&MeshCell, Nanos)> {
        self.cells.iter().filter_map(|cell| Some((cell, cell.age_ns?)))
    }

    /// The cells that stand so.
    pub fn in_state(&self, state: CellState) -> impl Iterator<Item = &MeshCell> {
        self.cells.iter().filter(move |cell| cell.state == state)
    }
}

/// The notation of a path between two agents: the title of its runs, and their target in a store. `family`: the IP version, where
/// one was requested.
#[must_use]
pub fn path(from: &str, to: &str, family: Option<u8>) -> String {
    let family = family.map(|family| format!(" IPv{family}")).unwrap_or_default();
    format!("{from}{ARROW}{to}{family}")
}

/// The agents of a path that is written so. No name of an agent has a space.
#[must_use]
pub fn ends(path: &str) -> Option<(&str, &str)> {
    let (from, to) = path.split_once(ARROW)?;
    let to = FAMILIES.iter().find_map(|(word, _)| to.strip_suffix(word)).unwrap_or(to);
    (!from.is_empty() && !to.is_empty()).then_some((from, to))
}

/// The IP version of a path that is written so, where it has one.
#[must_use]
pub fn family(path: &str) -> Option<u8> {
    FAMILIES.iter().find(|(word, _)| path.ends_with(word)).map(|(_, family)| *family)
}

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/mesh/1";

const ARROW: &str = " -> ";
const FAMILIES: [(&str, u8); 2] = [(" IPv4", 4), (" IPv6", 6)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_read_as_it_is_written() {
        for version in [None, Some(4), Some(6)] {
            let written = path("ams", "fra", version);
            assert_eq!((ends(&written), family(&written)), (Some(("ams", "fra")), version), "{written}");
        }
        assert_eq!(path("ams", "fra", Some(6)), "ams -> fra IPv6");
        assert_eq!((ends("far.example"), ends("ams -> "), ends("ams ->  IPv6")), (None, None, None));
    }
}
