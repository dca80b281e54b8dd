//! Keys that have outlived their lifetimes, by the clock of their reader.
//!
//! A server that ended uncleanly can bring keys back and never scan their lifetimes again (nats-server 2.15.2 after a SIGKILL). A
//! key that lives is written again within a third of its lifetime; so one that has not changed for all of it, and a margin, by the
//! monotonic clock of a reader that read it all that time, is dead, also where the back end still has it.

use super::Bucket;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Since when each key has been unchanged.
#[derive(Debug, Default)]
pub struct Lifetimes {
    observed: Mutex<HashMap<(Bucket, String), Observation>>,
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    revision: u64,
    since: MonoTime,
    /// When it was read last.
    last: MonoTime,
}

impl Lifetimes {
    /// Whether a key that was read now with this revision and lifetime is dead. It may be removed against that revision.
    pub fn is_over(
        &self,
        (bucket, key): (Bucket, &str),
        revision: u64,
        lifetime: Option<Nanos>,
        now: MonoTime,
    ) -> bool {
        let Some(lifetime) = lifetime else { return false };
        // A panic of another thread leaves each observation whole.
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        if observed.len() >= MOST {
            observed.retain(|_, entry| now - entry.last <= FORGOTTEN_AFTER);
        }
        let first = Observation { revision, since: now, last: now };
        let entry = observed.entry((bucket, key.to_owned())).or_insert(first);
        if entry.revision != revision {
            *entry = first;
        }
        entry.last = now;
        now - entry.since > lifetime.saturating_add(MARGIN)
    }

    /// The key is gone.
    pub fn forget(&self, bucket: Bucket, key: &str) {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        observed.remove(&(bucket, key.to_owned()));
    }
}

/// How much longer than its lifetime a key is believed: the back end counts whole seconds, and its answers take time.
pub(super) const MARGIN: Nanos = Nanos::from_secs(5);
/// With so many keys in memory, those that were not read for long are forgotten: they are observed anew.
const MOST: usize = 10_000;
const FORGOTTEN_AFTER: Nanos = Nanos::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_dead_when_it_has_not_changed_for_its_lifetime_and_a_margin() {
        let lifetimes = Lifetimes::default();
        let at = |seconds: u64| MonoTime(seconds * 1_000_000_000);
        let read = |revision, seconds: u64| {
            lifetimes.is_over(
                (Bucket::Leases, "beat.a"),
                revision,
                Some(Nanos::from_secs(15)),
                at(1000 + seconds),
            )
        };
        assert!(!read(1, 0) && !read(1, 20));
        assert!(read(1, 21), "unchanged for more than 20 s");
        assert!(!read(2, 22) && !read(2, 42), "it was written again");
        assert!(read(2, 43));
        lifetimes.forget(Bucket::Leases, "beat.a");
        assert!(!read(2, 44), "it was removed and is observed for the first time");
        let list = |seconds| lifetimes.is_over((Bucket::Leases, "on.a"), 1, None, at(seconds));
        assert!(!list(1) && !list(100_000), "it has no lifetime");
    }

    #[test]
    fn keys_that_are_not_read_are_forgotten() {
        let lifetimes = Lifetimes::default();
        for number in 0..=MOST as u64 {
            let key = format!("beat.{number}");
            let now = MonoTime(number * 1_000_000_000);
            lifetimes.is_over((Bucket::Leases, &key), 1, Some(Nanos::from_secs(15)), now);
        }
        assert!(lifetimes.observed.lock().expect("whole").len() < 200);
    }
}
