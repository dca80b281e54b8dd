//! How long a client waits whose address has given wrong tokens, or another of its /64: so that no client can try many.

use crate::session::budget::network_of;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The addresses that have failed lately.
#[derive(Debug, Default)]
pub(crate) struct Penalties(Mutex<Sources>);

#[derive(Debug, Default)]
struct Sources {
    known: HashMap<IpAddr, Penalty>,
    /// When old failures were last removed: at most once in [`SHORTEST`], since that looks at every source.
    swept: Option<MonoTime>,
}

#[derive(Debug)]
struct Penalty {
    failures: u32,
    /// When the next attempt may be made: they wait one behind the other.
    next: MonoTime,
}

impl Penalties {
    /// How long a client of this address waits before it is heard; `None`: too many wait already.
    pub(crate) fn wait(&self, source: IpAddr, now: MonoTime) -> Option<Nanos> {
        let mut sources = self.lock();
        let key = sources.key(source);
        let Some(penalty) = sources.known.get_mut(&key) else { return Some(Nanos::ZERO) };
        let wait = penalty.next.saturating_since(now);
        if wait > LONGEST_QUEUE {
            return None;
        }
        penalty.next = penalty.next.max(now) + penalty.delay();
        Some(wait)
    }

    /// A wrong token came from this address.
    pub(crate) fn failed(&self, source: IpAddr, now: MonoTime) {
        let mut sources = self.lock();
        let is_due = sources.swept.is_none_or(|swept| now.saturating_since(swept) >= SHORTEST);
        if sources.known.len() >= MOST_SOURCES && is_due {
            sources.known.retain(|_, penalty| now.saturating_since(penalty.next) < FORGOTTEN);
            sources.swept = Some(now);
        }
        let key = sources.key(source);
        let penalty = sources.known.entry(key).or_insert(Penalty { failures: 0, next: now });
        penalty.failures += 1;
        penalty.next = penalty.next.max(now + penalty.delay());
    }

    /// The right token came from this address.
    pub(crate) fn succeeded(&self, source: IpAddr) {
        self.lock().known.remove(&network_of(source));
    }

    fn lock(&self) -> MutexGuard<'_, Sources> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sources {
    /// The source that an address counts as. Where no more can be remembered, those that are new share one.
    fn key(&self, source: IpAddr) -> IpAddr {
        let source = network_of(source);
        let is_known = self.known.len() < MOST_SOURCES || self.known.contains_key(&source);
        if is_known { source } else { OTHERS }
    }
}

impl Penalty {
    fn delay(&self) -> Nanos {
        SHORTEST.saturating_mul(1 << self.failures.min(10)).min(LONGEST)
    }
}

/// Doubled with each failure.
const SHORTEST: Nanos = Nanos::from_millis(50);
const LONGEST: Nanos = Nanos::from_secs(5);
/// Longest wait of one behind others.
const LONGEST_QUEUE: Nanos = Nanos::from_secs(10);
/// After so long a failure counts no more, when room is needed.
const FORGOTTEN: Nanos = Nanos::from_secs(600);
const MOST_SOURCES: usize = 4096;
/// Stands for all sources that could not be remembered: no client has this address.
const OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime(1) + Nanos::from_millis(millis)
    }

    #[test]
    fn who_fails_waits_and_others_do_not() {
        let penalties = Penalties::default();
        let (bad, good) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        assert_eq!(penalties.wait(bad, at(0)), Some(Nanos::ZERO));
        penalties.failed(bad, at(0));
        assert_eq!(penalties.wait(bad, at(0)), Some(Nanos::from_millis(100)));
        assert_eq!(penalties.wait(bad, at(0)), Some(Nanos::from_millis(200)), "one behind the other");
        assert_eq!(penalties.wait(good, at(0)), Some(Nanos::ZERO));
        penalties.succeeded(bad);
        assert_eq!(penalties.wait(bad, at(0)), Some(Nanos::ZERO));
    }

    #[test]
    fn parallel_guesses_are_no_faster() {
        let penalties = Penalties::default();
        let bad = IpAddr::from([192, 0, 2, 1]);
        (0..20).for_each(|_| penalties.failed(bad, at(0)));
        let heard = (0..1000).filter(|_| penalties.wait(bad, at(0)).is_some()).count();
        assert!(heard <= 3, "{heard} guesses in fifteen seconds");
    }

    #[test]
    fn many_addresses_take_no_memory() {
        let penalties = Penalties::default();
        (0..100_000_u32).for_each(|n| penalties.failed(n.to_be_bytes().into(), at(0)));
        assert!(penalties.lock().known.len() <= MOST_SOURCES + 1);
        let waits =
            (0..100_u32).filter(|n| penalties.wait((200_000 + n).to_be_bytes().into(), at(0)).is_none());
        assert!(waits.count() > 90, "a new address is not enough");
    }

    #[test]
    fn one_network_is_one_source() {
        let penalties = Penalties::default();
        let address = |host: u16| IpAddr::from([0x2001, 0xdb8, 1, 1, 0, 0, 0, host]);
        (0..20).for_each(|host| penalties.failed(address(host), at(0)));
        let heard = (0..1000).filter(|host| penalties.wait(address(*host), at(0)).is_some()).count();
        assert!(heard <= 3, "{heard} guesses in fifteen seconds");
        let other = IpAddr::from([0x2001, 0xdb8, 1, 2, 0, 0, 0, 1]);
        assert_eq!(penalties.wait(other, at(0)), Some(Nanos::ZERO));
    }
}
