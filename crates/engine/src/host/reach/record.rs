//! Changes of neighbours during a run, as the kernel reported them one by one or as a look at all of them shows.

use linux::netlink::Neighbour;
use model::reach::{NeighbourChange, NeighbourState};
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Where a neighbour is: number of the interface, and its address.
pub(super) type NeighbourKey = (u32, IpAddr);
pub(super) type States = BTreeMap<NeighbourKey, NeighbourState>;

/// All that has changed since the begin of the run.
#[derive(Debug)]
pub(super) struct Record {
    last: States,
    changes: Vec<(NeighbourKey, NeighbourChange)>,
}

impl Record {
    /// Begins with what was known then.
    pub(super) fn new(before: States) -> Record {
        Record { last: before, changes: Vec::new() }
    }

    /// Takes what the kernel reported, `at` this time of the run.
    pub(super) fn hear(&mut self, reported: &[Neighbour], at: Nanos) {
        for (place, state) in reported.iter().map(entry) {
            let changed = self.last.insert(place, state) != Some(state);
            // The kernel reports each failure, and no repeated request after it.
            if changed || state == NeighbourState::Failed {
                self.add(place, NeighbourChange { at, state });
            }
        }
    }

    /// Takes the state of all neighbours `at` this time of the run. A change that was not reported has the time of its entry.
    pub(super) fn look(&mut self, all: &[Neighbour], at: Nanos) {
        for neighbour in all {
            let (place, state) = entry(neighbour);
            if self.last.insert(place, state) != Some(state) {
                let at = at.saturating_sub(neighbour.updated.unwrap_or_default());
                self.add(place, NeighbourChange { at, state });
            }
        }
    }

    /// The changes of one neighbour.
    pub(super) fn changes_of(&self, place: NeighbourKey) -> Vec<NeighbourChange> {
        self.changes.iter().filter(|(at, _)| *at == place).map(|(_, change)| *change).collect()
    }

    fn add(&mut self, place: NeighbourKey, change: NeighbourChange) {
        if self.changes.len() < MOST_CHANGES {
            self.changes.push((place, change));
        }
    }
}

/// The state of each.
pub(super) fn states(neighbours: &[Neighbour]) -> States {
    neighbours.iter().map(entry).collect()
}

fn entry(neighbour: &Neighbour) -> (NeighbourKey, NeighbourState) {
    ((neighbour.link, neighbour.address), neighbour.state)
}

/// A host with thousands of neighbours reports them all.
const MOST_CHANGES: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::NeighbourState::{Failed, Probe, Reachable};
    use super::*;
    use model::reach::NextHop;

    fn neighbour(state: NeighbourState, updated: Option<Nanos>) -> Neighbour {
        Neighbour { link: 2, address: ADDRESS.into(), mac: None, state, confirmed: None, updated }
    }

    fn judged(record: &Record, length: Nanos) -> NextHop {
        let hop = (ADDRESS.into(), "eth0".to_owned(), true);
        NextHop::judge(hop, (Reachable, Failed), &record.changes_of(PLACE), length)
    }

    #[test]
    fn a_failure_that_was_not_reported_is_found_with_its_time() {
        let mut record = Record::new(States::from([(PLACE, Reachable)]));
        record.hear(&[neighbour(Probe, Some(Nanos::ZERO))], Nanos::from_secs(3));
        record.look(&[neighbour(Failed, Some(Nanos::from_millis(300)))], Nanos::from_secs(5));
        let hop = judged(&record, Nanos::from_secs(6));
        assert_eq!((hop.failures, hop.unanswered), (1, Nanos::from_millis(1300)));
        // A second look finds no second failure.
        record.look(&[neighbour(Failed, Some(Nanos::from_millis(900)))], Nanos::from_secs(6));
        assert_eq!(judged(&record, Nanos::from_secs(6)).failures, 1);
    }

    #[test]
    fn a_failure_that_is_reported_again_is_one_more() {
        let mut record = Record::new(States::new());
        for at in [1, 4, 7] {
            record.hear(&[neighbour(Failed, Some(Nanos::ZERO))], Nanos::from_secs(at));
        }
        let hop = judged(&record, Nanos::from_secs(10));
        assert_eq!((hop.failures, hop.unanswered), (3, Nanos::from_secs(9)));
    }

    const ADDRESS: [u8; 4] = [10, 0, 0, 2];
    const PLACE: NeighbourKey = (2, IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)));
}
