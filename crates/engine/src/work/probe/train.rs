//! Trains of probes, and what sends them.

use super::Pace;
use crate::error::Result;
use model::path::{Flow, FragmentShape};
use model::plan::Direction;
use wire::native::PathObservation;
use wire::native::probe::SizeCount;

/// Datagrams to send one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProbeTrain<'a> {
    /// UDP payloads; each goes once before any goes again.
    pub(crate) sizes: &'a [u32],
    /// How many of each.
    pub(crate) count: u32,
    /// How each is cut into fragments; `None`: fragments are forbidden.
    pub(crate) cut: Option<FragmentShape>,
    /// The first of each size goes one hop, the second two, and so on.
    pub(crate) trace: bool,
}

impl ProbeTrain<'_> {
    /// Datagrams of it.
    pub(super) fn datagrams(&self) -> u64 {
        self.sizes.len() as u64 * u64::from(self.count)
    }

    /// Datagrams of it that may arrive: of single fragments none does.
    pub(crate) fn awaited(&self) -> u64 {
        match self.cut {
            Some(FragmentShape::FirstAlone | FragmentShape::RestAlone) => 0,
            _ => self.datagrams(),
        }
    }
}

/// The result of groups of trains that were sent one behind the other.
#[derive(Debug, Default)]
pub(crate) struct GroupsReport {
    /// The counts of each train, group after group.
    pub(crate) rows: Vec<Vec<SizeCount>>,
    /// The receiver's state of the path before the first group, and after each.
    pub(crate) receiver: Vec<PathObservation>,
    /// The far end's state of the path when it got the first request to send; absent where this end sent.
    pub(crate) sender: Option<PathObservation>,
}

/// Whether no stragglers are to be waited for: in each train all copies of a size have arrived or none has, and of one size at
/// least all. Sizes of a train take turns, so that some copies of each would have come. A train may arrive not at all where
/// part of a later one does; some packets of a trace end on their path.
pub(crate) fn is_settled<'a>(trains: impl Iterator<Item = (&'a ProbeTrain<'a>, &'a [SizeCount])>) -> bool {
    let mut is_settled = true;
    for (train, rows) in trains.filter(|(train, _)| train.awaited() > 0) {
        let counts = || rows.iter().filter(|row| train.sizes.contains(&row.size)).map(|row| row.count);
        if !train.trace && counts().any(|count| count > 0 && count < train.count) {
            return false;
        }
        is_settled = !train.trace && counts().any(|count| count >= train.count);
    }
    is_settled
}

/// Sends probes over one flow and returns their results. Tests implement it with simulated paths.
pub(crate) trait Probes {
    /// IPv6?
    fn is_ipv6(&self) -> bool;
    /// The flow whose packets go in this direction.
    fn flow(&self, direction: Direction) -> Flow;
    /// The path as the sender of a direction knows it.
    fn sender(&mut self, direction: Direction) -> Result<PathObservation>;
    /// Sends datagrams in one direction; returns which arrived, and in which fragments.
    fn probe_train(&mut self, direction: Direction, probe_train: ProbeTrain<'_>) -> Result<Vec<SizeCount>> {
        Ok(self.probe_trains(direction, &[probe_train])?.pop().unwrap_or_default())
    }
    /// The same of several trains at once.
    fn probe_trains(
        &mut self,
        direction: Direction,
        trains: &[ProbeTrain<'_>],
    ) -> Result<Vec<Vec<SizeCount>>>;
    /// Groups of trains, none of which waits for what came of the one before it.
    fn probe_groups(&mut self, direction: Direction, groups: &[Vec<ProbeTrain<'_>>]) -> Result<GroupsReport>;
    /// A round trip takes so long that probes which may turn out to be needless cost less than waiting for what they depend on.
    fn is_long(&self) -> bool;
    /// How fast the probes of trains follow each other from now on.
    fn set_pace(&mut self, pace: Pace);
    /// Lets late probes arrive.
    fn wait_for_stragglers(&mut self) -> Result<()>;
    /// The sender's own kernel refused to send a payload of this size unfragmented.
    fn is_refused(&self, direction: Direction, payload: u32) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stragglers_are_waited_for_unless_sizes_arrived_whole_or_not_at_all() {
        let settled = |counts: &[u32], trace: bool, cut: Option<FragmentShape>| {
            let train = ProbeTrain { sizes: &[100, 1400, 1500], count: 3, cut, trace };
            let row = |(size, count): (&u32, &u32)| SizeCount { size: *size, count: *count, fragment: None };
            let rows: Vec<SizeCount> = train.sizes.iter().zip(counts).map(row).collect();
            is_settled([(&train, rows.as_slice())].into_iter())
        };
        assert!(settled(&[3, 3, 0], false, None));
        assert!(!settled(&[3, 2, 0], false, None), "one copy may be late");
        assert!(!settled(&[0, 0, 0], false, None), "all may be late");
        assert!(!settled(&[3, 3, 0], true, None), "of a trace some end at routers");
        assert!(settled(&[0, 0, 0], false, Some(FragmentShape::FirstAlone)), "nothing of it arrives");
        // Trains follow one another: all of the last may be late.
        let train = ProbeTrain { sizes: &[1000], count: 5, cut: Some(FragmentShape::Reversed), trace: false };
        let first = [SizeCount { size: 1000, count: 5, fragment: None }];
        assert!(!is_settled([(&train, &first[..]), (&train, &[][..])].into_iter()));
    }
}
