//! The runs that are expected: none may vanish in silence.
//!
//! A run that is neither done nor failed when its deadline has passed is missed, with the last reason that was noted for it.
//! A result that comes after that is taken all the same, and once.

use crate::mesh::PlannedRun;
use model::time::WallTime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The state of one expected run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// The test and its pair: `ams -> fra`.
    pub title: String,
    /// The agent whose run it is; empty: it was never planned for one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The body of the job that the agent was handed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// When it is due.
    pub due: WallTime,
    /// Until when it must have ended.
    pub deadline: WallTime,
    /// Which attempt at the run this is, from 1; 0 of an earlier version, which made one.
    #[serde(default, skip_serializing_if = "is_first")]
    pub number: u32,
    /// How it stands.
    pub state: RunState,
}

fn is_first(number: &u32) -> bool {
    *number <= 1
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum RunState {
    /// The run has not begun; `note` is the last known reason why.
    Expected {
        /// The reason; empty: none is known.
        note: String,
    },
    /// An agent works on it.
    Running {
        /// The agent.
        agent: String,
    },
    /// Its result is there.
    Done,
    /// Its result is there and must not be trusted.
    Void {
        /// Why not.
        reason: String,
    },
    /// The run could not be measured.
    Failed {
        /// Why not.
        reason: String,
    },
    /// Nothing came by its deadline.
    Missed {
        /// The known part of the reason.
        reason: String,
    },
}

impl Default for RunState {
    fn default() -> RunState {
        RunState::Expected { note: String::new() }
    }
}

impl LedgerRow {
    /// The row of a run that is expected.
    #[must_use]
    pub fn expected(run: &PlannedRun, due: WallTime, deadline: WallTime) -> LedgerRow {
        LedgerRow {
            title: run.job.title.clone(),
            agent: run.agent.clone(),
            asked: run.job.body.clone(),
            due,
            deadline,
            number: 1,
            state: RunState::default(),
        }
    }

    /// The row of a run that was due then and of which nothing comes, for this reason.
    #[must_use]
    pub fn missed(run: &PlannedRun, due: WallTime, reason: &str) -> LedgerRow {
        let state = RunState::Missed { reason: reason.to_owned() };
        LedgerRow { state, ..LedgerRow::expected(run, due, due) }
    }
}

/// A sink's record of a run's latest attempt that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Which attempt that is, from 1.
    pub number: u32,
    /// How it ended.
    pub end: StoredEnd,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredEnd {
    /// The attempt has a result.
    Done,
    /// The attempt has a result that must not be trusted.
    Void,
    /// The attempt could not be measured.
    Failed,
    /// Its agent reports that it was not carried out, for a reason of the fleet and not of the path.
    Unmeasured,
}

impl RunState {
    /// The mark of a run that ended so, and why it did.
    pub(crate) fn of_end(end: StoredEnd, reason: &str) -> RunState {
        let reason = reason.to_owned();
        match end {
            StoredEnd::Done => RunState::Done,
            StoredEnd::Void => RunState::Void { reason },
            StoredEnd::Failed => RunState::Failed { reason },
            StoredEnd::Unmeasured => RunState::Missed { reason },
        }
    }

    /// Whether nothing more is awaited.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(self, RunState::Expected { .. } | RunState::Running { .. })
    }

    /// The word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            RunState::Expected { .. } => "expected",
            RunState::Running { .. } => "running",
            RunState::Done => "done",
            RunState::Void { .. } => "void",
            RunState::Failed { .. } => "failed",
            RunState::Missed { .. } => "missed",
        }
    }

    /// Why it stands so, where there is a reason.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            RunState::Expected { note: reason }
            | RunState::Void { reason }
            | RunState::Failed { reason }
            | RunState::Missed { reason } => Some(reason.as_str()).filter(|reason| !reason.is_empty()),
            RunState::Running { .. } | RunState::Done => None,
        }
    }
}

/// All runs that are expected, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    rows: BTreeMap<String, LedgerRow>,
}

impl Ledger {
    /// Expects a run; one that is already expected stays as it is.
    pub fn expect(&mut self, run: &str, row: LedgerRow) {
        self.rows.entry(run.to_owned()).or_insert(row);
    }

    /// Notes why a run has not begun. A run that has ended is left alone.
    pub fn note(&mut self, run: &str, note: &str) {
        if let Some(row) = self.rows.get_mut(run).filter(|row| !row.state.is_final()) {
            row.state = RunState::Expected { note: note.to_owned() };
        }
    }

    /// An agent works on a run. A run that has ended is left alone.
    pub fn running(&mut self, run: &str, agent: &str) {
        if let Some(row) = self.rows.get_mut(run).filter(|row| !row.state.is_final()) {
            row.state = RunState::Running { agent: agent.to_owned() };
        }
    }

    /// A run has ended in a state that is final. Returns whether this is new: the first end counts, but a result that comes after the run
    /// was called missed takes that word's place.
    pub fn end(&mut self, run: &str, state: RunState) -> bool {
        let Some(row) = self.rows.get_mut(run) else { return false };
        if row.state.is_final() && !matches!(row.state, RunState::Missed { .. }) || !state.is_final() {
            return false;
        }
        row.state = state;
        true
    }

    /// Calls those missed whose deadline has passed, and returns their names.
    pub fn sweep(&mut self, now: WallTime) -> Vec<String> {
        let late = self.rows.iter_mut().filter(|(_, row)| !row.state.is_final() && now > row.deadline);
        late.map(|(run, row)| {
            let reason = match &row.state {
                RunState::Running { agent } => format!("{agent} began it and did not report its end"),
                state => state.reason().unwrap_or("no agent has taken it").to_owned(),
            };
            row.state = RunState::Missed { reason };
            run.clone()
        })
        .collect()
    }

    /// One run.
    #[must_use]
    pub fn row(&self, run: &str) -> Option<&LedgerRow> {
        self.rows.get(run)
    }

    /// Whether a run is expected, and has not ended.
    pub(crate) fn is_open(&self, run: &str) -> bool {
        self.row(run).is_some_and(|row| !row.state.is_final())
    }

    /// All runs, by name.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &LedgerRow)> {
        self.rows.iter().map(|(run, row)| (run.as_str(), row))
    }

    /// Whether nothing more is awaited.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.rows.values().all(|row| row.state.is_final())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;
    use proptest::prelude::*;

    const DUE: WallTime = WallTime(1_000);
    const DEADLINE: WallTime = WallTime(2_000);

    fn row(title: &str, deadline: WallTime) -> LedgerRow {
        LedgerRow { title: title.to_owned(), due: DUE, deadline, ..LedgerRow::default() }
    }

    #[test]
    fn silence_is_missed_with_what_is_known_of_it() {
        let mut ledger = Ledger::default();
        for run in ["a", "b", "c", "d"] {
            ledger.expect(run, row("ams -> fra", DEADLINE));
        }
        ledger.note("b", "fra was last heard 40 s ago");
        ledger.running("c", "ams");
        assert!(ledger.end("d", RunState::Done));
        assert!(ledger.sweep(DEADLINE).is_empty(), "the deadline itself is in time");
        assert_eq!(ledger.sweep(DEADLINE + Nanos::from_nanos(1)), ["a", "b", "c"]);
        let reason = |run| ledger.row(run).and_then(|row| row.state.reason()).unwrap_or_default().to_owned();
        assert_eq!(reason("a"), "no agent has taken it");
        assert_eq!(reason("b"), "fra was last heard 40 s ago");
        assert_eq!(reason("c"), "ams began it and did not report its end");
        assert!(ledger.is_complete());
    }

    #[test]
    fn a_late_result_counts_once() {
        let mut ledger = Ledger::default();
        ledger.expect("a", row("ams -> fra", DEADLINE));
        ledger.sweep(WallTime(3_000));
        assert!(ledger.end("a", RunState::Done));
        assert!(!ledger.end("a", RunState::Done));
        assert!(!ledger.end("a", RunState::Failed { reason: "again".into() }));
        assert!(!ledger.end("unknown", RunState::Done));
        assert_eq!(ledger.row("a").map(|row| row.state.word()), Some("done"));
    }

    proptest! {
        /// However events fall, each run ends in one final state once its deadline has passed.
        #[test]
        fn every_run_ends(events in proptest::collection::vec((0_usize..5, 0_u8..6), 0..60)) {
            let runs = ["a", "b", "c", "d", "e"];
            let mut ledger = Ledger::default();
            runs.iter().for_each(|run| ledger.expect(run, row(run, DEADLINE)));
            let mut ends = [0; 5];
            for (run, event) in events {
                let name = runs[run];
                match event {
                    0 => ledger.note(name, "not yet"),
                    1 => ledger.running(name, "ams"),
                    2 => ends[run] += usize::from(ledger.end(name, RunState::Done)),
                    3 => ends[run] += usize::from(ledger.end(name, RunState::Failed { reason: "no route".into() })),
                    4 => ledger.expect(name, row("again", WallTime(9_000))),
                    _ => { ledger.sweep(WallTime(1_500)); }
                }
            }
            ledger.sweep(WallTime(2_001));
            prop_assert!(ledger.is_complete());
            prop_assert!(ends.iter().all(|count| *count <= 1));
        }
    }
}
