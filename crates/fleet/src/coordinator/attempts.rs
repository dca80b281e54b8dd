//! Which attempt at a run is wanted: one that ended for good is not made again, one of which nothing came is.

use super::Sink;
use crate::ledger::{Stored, StoredEnd};

/// Which runs that ended are measured again. Missed runs always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Again {
    /// Those that failed.
    pub failed: bool,
    /// Those that are void.
    pub void: bool,
}

/// The attempt that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) number: u32,
    /// The result of this attempt or a later one answers it: the sink has those before.
    pub(super) since: u32,
}

impl Wanted {
    /// By what the sink has now. An attempt that the sink has for good is wanted as it is.
    pub(super) fn new(sink: &dyn Sink, run: &str, again: Again) -> Wanted {
        let (stored, attempts) = (sink.stored(run), sink.attempts(run));
        let since = stored.map_or(1, |stored| stored.number + 1);
        // An attempt that was made after it had no outcome.
        let latest = stored.filter(|stored| stored.number >= attempts);
        let is_kept = match latest.map(|stored| stored.end) {
            Some(StoredEnd::Done) => true,
            Some(StoredEnd::Failed) => !again.failed,
            Some(StoredEnd::Void) => !again.void,
            Some(StoredEnd::Unmeasured) | None => false,
        };
        match (is_kept, stored) {
            (true, Some(stored)) => Wanted { number: stored.number, since: stored.number },
            _ => Wanted { number: attempts + 1, since },
        }
    }

    /// Whether what the sink has answers it.
    pub(super) fn is_answered_by(self, stored: Stored) -> bool {
        stored.number >= self.number || self.takes(stored.number, stored.end == StoredEnd::Done)
    }

    /// Whether the end of an attempt answers it: a result does that also late, what failed or is void only in its own place.
    pub(super) fn takes(self, number: u32, is_done: bool) -> bool {
        number >= if is_done { self.since } else { self.number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Outcome;
    use crate::ledger::LedgerRow;

    struct Fixed(Option<Stored>, u32);

    impl Sink for Fixed {
        fn stored(&self, _: &str) -> Option<Stored> {
            self.0
        }
        fn attempts(&self, _: &str) -> u32 {
            self.1
        }
        fn store(&mut self, _: &Outcome) -> Result<(), String> {
            Ok(())
        }
        fn missed(&mut self, _: &str, _: &LedgerRow) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn what_ended_for_good_stays_and_the_rest_is_measured_again() {
        use StoredEnd::{Done, Failed, Unmeasured, Void};
        let wanted = |stored: Option<(u32, StoredEnd)>, attempts, again| {
            let stored = stored.map(|(number, end)| Stored { number, end });
            let wanted = Wanted::new(&Fixed(stored, attempts), "r", again);
            (wanted.number, wanted.since, stored.is_some_and(|stored| wanted.is_answered_by(stored)))
        };
        let (none, both) = (Again::default(), Again { failed: true, void: true });
        assert_eq!(wanted(None, 0, none), (1, 1, false), "never measured");
        assert_eq!(wanted(None, 1, none), (2, 1, false), "missed: the first's late result answers it, too");
        assert_eq!(wanted(Some((1, Done)), 1, both), (1, 1, true));
        assert_eq!(wanted(Some((1, Failed)), 1, none), (1, 1, true));
        assert_eq!(wanted(Some((1, Failed)), 1, both), (2, 2, false));
        assert_eq!(wanted(Some((1, Void)), 1, Again { failed: true, void: false }), (1, 1, true));
        assert_eq!(wanted(Some((1, Void)), 1, both), (2, 2, false));
        assert_eq!(wanted(Some((1, Unmeasured)), 1, none), (2, 2, false));
        assert_eq!(wanted(Some((1, Failed)), 2, none), (3, 2, false), "the second one was missed");
        let second = Wanted { number: 2, since: 1 };
        assert!(second.takes(1, true) && !second.takes(1, false) && second.takes(2, false));
    }
}
