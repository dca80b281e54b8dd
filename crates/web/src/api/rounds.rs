//! The rounds of a mesh: which of its kept runs were made together.

use model::finding::Status;
use model::history::Entry;
use serde::Serialize;
use std::collections::HashMap;

/// Runs of a mesh of which each path has one.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// The earliest first.
    pub(super) entries: Vec<Entry>,
    /// The latest verdict of each path and kind of test.
    good: HashMap<(String, String), bool>,
}

/// A round as the page lists it.
#[derive(Serialize)]
pub(super) struct RoundRow {
    started: Option<String>,
    runs: usize,
    /// Runs that failed, are void or have no result.
    failed: usize,
}

impl Round {
    /// Its name in an address: the begin of its first run.
    pub(super) fn started(&self) -> Option<String> {
        self.entries.first().map(|entry| entry.started.to_string())
    }

    pub(super) fn row(&self) -> RoundRow {
        let failed = self.good.values().filter(|good| !**good).count();
        RoundRow { started: self.started(), runs: self.entries.len(), failed }
    }
}

/// Splits the runs of a label, in any order, into rounds, the earliest first. A path that is measured again begins the next
/// round, unless its run of this round is to be repeated: then the new one is an attempt at the same.
pub(super) fn rounds(mut entries: Vec<Entry>) -> Vec<Round> {
    entries.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
    let mut rounds: Vec<Round> = Vec::new();
    for entry in entries {
        let path = (entry.target.clone(), entry.kind.clone());
        let is_same = rounds.last().is_some_and(|round| round.good.get(&path) != Some(&true));
        if !is_same {
            rounds.push(Round::default());
        }
        let Some(round) = rounds.last_mut() else { continue };
        let status = entry.status.as_deref().and_then(Status::named);
        let good = status.is_some_and(|status| status != Status::Void) && !entry.figures.is_empty();
        round.good.insert(path, good);
        round.entries.push(entry);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::history::{Headline, Origin};
    use model::time::WallTime;

    fn entry(target: &str, second: u64, status: Option<&str>) -> Entry {
        let figure = Headline { name: "tcp.up.goodput".into(), value: 1.0, text: String::new() };
        Entry {
            id: format!("{target} {second}"),
            kind: "throughput".into(),
            target: target.into(),
            label: "night".into(),
            origin: Origin::Measured,
            started: WallTime(second * 1_000_000_000),
            finished: None,
            note: String::new(),
            running: false,
            status: status.map(Into::into),
            verdict: None,
            figures: vec![figure],
        }
    }

    fn sizes(entries: Vec<Entry>) -> Vec<usize> {
        rounds(entries).iter().map(|round| round.entries.len()).collect()
    }

    #[test]
    fn a_path_that_is_measured_again_begins_a_round() {
        let ok = Some("ok");
        let two = |second| [entry("a -> b", second, ok), entry("b -> a", second + 1, ok)];
        assert_eq!(sizes([two(0), two(60), two(120)].concat()), [2, 2, 2]);
        assert_eq!(sizes([two(120), two(0)].concat()), [2, 2], "in any order");
        // Another test of the path is a part of the round.
        let latency = Entry { kind: "latency".into(), ..entry("a -> b", 2, ok) };
        assert_eq!(sizes([two(0).as_slice(), &[latency]].concat()), [3]);
        assert_eq!(sizes(Vec::new()), [0; 0]);
    }

    #[test]
    fn another_attempt_is_a_part_of_the_round() {
        for bad in [Some("void"), None] {
            let runs =
                vec![entry("a -> b", 0, bad), entry("b -> a", 1, Some("ok")), entry("a -> b", 2, Some("ok"))];
            let found = rounds(runs);
            assert_eq!((found.len(), found[0].row().runs, found[0].row().failed), (1, 3, 0), "{bad:?}");
        }
        let still = rounds(vec![entry("a -> b", 0, None), entry("a -> b", 1, Some("void"))]);
        assert_eq!((still.len(), still[0].row().failed), (1, 1));
    }
}
