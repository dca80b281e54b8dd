//! How many messages the far end reports it has answered, and so in which direction the others were lost.

use wire::echo::Reply;

/// Follows the counts in the replies of one far end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FarCounter {
    /// The highest count so far, and the last message that it covers; absent: no reply has had one.
    latest: Option<FarCount>,
    /// The same when the counted messages began.
    before: FarCount,
    /// The far end is known to count, and not to copy our numbers.
    pub(crate) proven: bool,
    /// Requests that reached it twice: it has answered each of them once more.
    doubled: u64,
    /// The last counted message: those behind it were sent for the count alone.
    settled: Option<u64>,
}

/// The number of messages answered among the first ones sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FarCount {
    pub(crate) answered: u64,
    pub(crate) of: u64,
}

impl FarCounter {
    /// A reply reports how many came before it. `again`: its message was answered before.
    pub(crate) fn take(&mut self, reply: &Reply, again: bool) {
        let Some(far) = reply.far_sequence else { return };
        self.proven |= far.proven;
        let latest = self.latest.get_or_insert_default();
        // A reply that is duplicated has the same count twice.
        self.doubled += u64::from(again && far.before >= latest.answered);
        latest.answered = latest.answered.max(far.before + 1);
        latest.of = latest.of.max(reply.sequence);
    }

    /// The count begins anew.
    pub(crate) fn begin(&mut self) {
        let FarCount { answered, of } = self.latest.unwrap_or_default();
        self.before = FarCount { answered: answered.saturating_sub(self.doubled), of };
        self.settled = None;
    }

    /// Replies carry a number.
    pub(crate) fn is_there(&self) -> bool {
        self.latest.is_some()
    }

    /// The number of the last message that a count covers.
    pub(crate) fn covers(&self) -> u64 {
        self.latest.map_or(0, |latest| latest.of)
    }

    /// Messages behind `last` were sent for the count alone.
    pub(crate) fn settled(&mut self, last: u64) {
        self.settled = Some(last);
    }

    /// How many messages the far end has answered, of how many since the beginning. `None`: it does not count.
    pub(crate) fn counted(&self) -> Option<FarCount> {
        let latest = self.latest.filter(|_| self.proven)?;
        let answered = latest.answered.saturating_sub(self.doubled);
        let (answered, among) = match self.settled {
            // Those sent for the count alone that it covers came, as far as is known: all but the last had no reply.
            Some(last) if latest.of > last => (answered.saturating_sub(latest.of - last), last),
            _ => (answered, latest.of),
        };
        let among = among.checked_sub(self.before.of)?;
        Some(FarCount { answered: answered.saturating_sub(self.before.answered).min(among), of: among })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::echo::FarSequence;

    fn reply(sequence: u64, before: u64, proven: bool) -> Reply {
        Reply { sequence, far: None, far_sequence: Some(FarSequence { before, proven }) }
    }

    #[test]
    fn a_far_end_that_shows_late_that_it_counts_has_counted_from_the_start() {
        let mut counter = FarCounter::default();
        (1..=300).for_each(|number| counter.take(&reply(number, number - 1, false), false));
        counter.begin();
        assert_eq!(counter.counted(), None, "it may copy");
        (301..=310).for_each(|number| counter.take(&reply(number, number - 1, false), false));
        // 311 is lost on the forward path.
        counter.take(&reply(312, 310, true), false);
        assert_eq!(counter.counted(), Some(FarCount { answered: 11, of: 12 }));
    }

    #[test]
    fn requests_that_come_twice_or_overtake_each_other_are_no_loss_and_hide_none() {
        let mut counter = FarCounter::default();
        counter.take(&reply(1, 0, true), false);
        counter.begin();
        counter.take(&reply(2, 1, true), false);
        // 2 reaches it again; 3 is lost; 5 overtakes 4.
        counter.take(&reply(2, 2, true), true);
        counter.take(&reply(5, 3, true), false);
        counter.take(&reply(4, 4, true), false);
        // The reply to 4 comes twice.
        counter.take(&reply(4, 4, true), true);
        assert_eq!(counter.counted(), Some(FarCount { answered: 3, of: 4 }));
    }

    #[test]
    fn messages_for_the_count_alone_are_no_part_of_it() {
        let mut counter = FarCounter::default();
        counter.take(&reply(1, 0, true), false);
        counter.begin();
        counter.take(&reply(9, 6, true), false);
        // 10 was the last one, and is lost there; 11 asks for the count.
        counter.take(&reply(11, 7, true), false);
        counter.settled(10);
        assert_eq!(counter.counted(), Some(FarCount { answered: 6, of: 9 }), "two before, and 10");
    }
}
