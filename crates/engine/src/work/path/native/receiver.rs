//! Whether packets that are not delivered reach the receiver's host all the same: its kernel counts every packet that it receives, and
//! what it hands to nothing was dropped by a rule of its own firewall.

use super::ahead::Counted;
use super::{DATAGRAMS, DirectionSearch, SURE_COPIES, all_pieces, around, crossed};
use crate::error::Result;
use crate::work::probe::ProbeTrain;
use model::path::{BlackHoleCause, FragmentDelivery, FragmentShape, FragmentTest};

/// The counters of a receiver of packets that were not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// They did not reach its host, or it does not count.
    No,
    /// Its kernel dropped as many packets as were sent.
    Yes,
    /// The receiver dropped more packets than were sent, so that these may be others.
    Unclear,
}

impl DirectionSearch<'_> {
    /// Finds out whether packets that vanish end at the receiver's own firewall and not on the path.
    pub(super) fn look_at_receiver(&mut self) -> Result<()> {
        let Some(mtu) = self.one_way.path_mtu.filter(|_| self.one_way.black_hole.is_some()) else {
            return Ok(());
        };
        if self.one_way.changed {
            return Ok(());
        }
        let first = match self.ahead.take_undelivered() {
            Some(counted) => Reached::from_counts(counted, SURE_COPIES),
            None => self.reaches_host(mtu, SURE_COPIES)?,
        };
        // By chance others may have sent as many packets that are dropped there, but hardly twice.
        let reached = if first == Reached::Yes { self.reaches_host(mtu, FEWER)? } else { first };
        self.note_reached(reached);
        Ok(())
    }

    /// Fragments that are missing, and datagrams that were put together and did not arrive, may end at the receiver's firewall. `begin`,
    /// `end`: what its kernel had counted before the tests of fragments, and after them.
    pub(super) fn note_receivers_fragments(&mut self, begin: Counted, end: Counted) {
        let since = |of: fn(&Counted) -> Option<u64>| {
            of(&begin).zip(of(&end)).map(|(begin, end)| end.saturating_sub(begin))
        };
        let (Some(pieces), Some(undelivered)) = (since(|one| one.pieces), since(|one| one.undelivered))
        else {
            return;
        };
        let fragments = &self.one_way.fragments;
        let tests = fragments.tests.iter().filter(|test| test.shape != FragmentShape::MayBeCut);
        let missing = match fragments.delivery {
            FragmentDelivery::NotReassembled => {
                let lost = |test: &FragmentTest| match test.shape {
                    FragmentShape::FirstAlone | FragmentShape::RestAlone => 0,
                    _ => u64::from(test.sent.saturating_sub(test.received)),
                };
                tests.map(lost).sum()
            }
            lossy if lossy.is_lossy() => tests.map(all_pieces).sum::<u64>().saturating_sub(pieces),
            _ => return,
        };
        let is_own = missing >= u64::from(DATAGRAMS) && (missing..=missing + STRAY).contains(&undelivered);
        self.one_way.fragments_end_at_receiver = is_own;
    }

    /// Sends packets that vanish, each ahead of one that arrives: where the latter has come, the former has been counted.
    fn reaches_host(&mut self, mtu: u32, copies: u32) -> Result<Reached> {
        let tried = around(&self.one_way, mtu);
        let sizes: Vec<u32> = tried.iter().rev().copied().collect();
        let before = self.undelivered()?;
        let rows = self.train(ProbeTrain { sizes: &sizes, count: copies, cut: None, trace: false })?;
        let after = self.undelivered()?;
        if crossed(&rows, &tried) != (true, false) {
            return Ok(Reached::No);
        }
        Ok(Reached::from_counts([before, after], copies))
    }

    fn undelivered(&mut self) -> Result<Option<u64>> {
        Ok(self.prober.sender(self.direction.reversed())?.undelivered)
    }

    fn note_reached(&mut self, reached: Reached) {
        let Some(hole) = &mut self.one_way.black_hole else { return };
        match reached {
            Reached::No => return,
            Reached::Unclear => {
                hole.cause = BlackHoleCause::Unknown;
                return;
            }
            Reached::Yes => hole.cause = BlackHoleCause::ReceiverFilter,
        }
        // The last hop that answered is none that drops anything.
        self.one_way.limiting_hop = None;
        self.one_way.fragments_end_at_receiver = false;
        // The firewall sees datagrams once they are put together, and drops those by their size, too: pieces of which no datagram becomes
        // show whether the path passes fragments.
        let fragments = &mut self.one_way.fragments;
        let tests = |shapes: [FragmentShape; 2]| {
            fragments.tests.iter().filter(move |test| shapes.contains(&test.shape))
        };
        let is_dropped = tests([FragmentShape::FirstAlone, FragmentShape::RestAlone])
            .any(|test| test.pieces_received.is_some_and(|pieces| pieces < u64::from(test.sent)));
        if fragments.delivery.is_lossy() && !is_dropped {
            let crosses =
                tests([FragmentShape::InOrder, FragmentShape::ByKernel]).any(|test| test.received > 0);
            fragments.delivery = if crosses { FragmentDelivery::Pass } else { FragmentDelivery::Unknown };
        }
    }
}

impl Reached {
    /// From the totals of what was delivered nowhere, before and after.
    fn from_counts([before, after]: [Option<u64>; 2], sent: u32) -> Reached {
        let Some((before, after)) = before.zip(after) else { return Reached::No };
        match after.saturating_sub(before) {
            dropped if dropped < u64::from(sent) => Reached::No,
            dropped if dropped <= u64::from(sent) + STRAY => Reached::Yes,
            _ => Reached::Unclear,
        }
    }
}

/// Packets of another look, whose number differs from that of the first.
const FEWER: u32 = 5;
/// Packets of others that the receiver may drop meanwhile: multicast without members.
const STRAY: u64 = 2;
