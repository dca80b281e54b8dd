//! The connections at once: so many in all, a share for one source, and a reserve for those who are logged in. Where all are
//! taken, the quietest connection of the source that has most makes room for a new one, so that a source with many connections
//! keeps no other out.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The places of a server.
#[derive(Debug)]
pub(crate) struct Places {
    total: usize,
    /// For clients that have not logged in: the rest is a reserve.
    unknown: usize,
    per_source: usize,
    /// Behind these come many sources.
    proxies: Vec<IpAddr>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<u64, Holder>,
    next: u64,
}

#[derive(Debug)]
struct Holder {
    source: IpAddr,
    /// Time of its latest request.
    since: Instant,
    is_known: bool,
    is_leaving: bool,
    leave: Arc<Notify>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All are taken, and none can be closed yet.
    Total,
    /// The source has its share.
    Source,
}

/// A place; given back on drop.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionSlot(Arc<Held>);

#[derive(Debug)]
struct Held {
    places: Arc<Places>,
    number: u64,
    leave: Arc<Notify>,
}

impl Places {
    /// `reserve`: there is a token by which clients are known.
    pub(crate) fn new(total: usize, reserve: bool, proxies: Vec<IpAddr>) -> Arc<Places> {
        let unknown = if reserve { total - total / 4 } else { total };
        Arc::new(Places { total, unknown, per_source: total.div_ceil(4), proxies, state: Mutex::default() })
    }

    /// A place for a connection from there.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr, now: Instant) -> Result<ConnectionSlot, Full> {
        let mut state = self.lock();
        let source = source(from);
        let is_one = !from.to_canonical().is_loopback() && !self.proxies.contains(&from.to_canonical());
        if is_one && state.count_of(source) >= self.per_source && !state.make_room(Some(source), now) {
            return Err(Full::Source);
        }
        let is_full = state.staying() >= self.total || state.unknown() >= self.unknown;
        if is_full && !state.make_room(None, now) {
            return Err(Full::Total);
        }
        let (number, leave) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        let holder = Holder { source, since: now, is_known: false, is_leaving: false, leave: leave.clone() };
        state.held.insert(number, holder);
        Ok(ConnectionSlot(Arc::new(Held { places: self.clone(), number, leave })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn staying(&self) -> usize {
        self.held.values().filter(|holder| !holder.is_leaving).count()
    }

    fn unknown(&self) -> usize {
        self.held.values().filter(|holder| !holder.is_leaving && !holder.is_known).count()
    }

    fn count_of(&self, source: IpAddr) -> usize {
        let own = |holder: &&Holder| holder.source == source && !holder.is_leaving && !holder.is_known;
        self.held.values().filter(own).count()
    }

    /// Has the quietest unknown client of this source leave, or of that which has most of them.
    fn make_room(&mut self, of: Option<IpAddr>, now: Instant) -> bool {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        let unknown = |holder: &&Holder| !holder.is_known && !holder.is_leaving;
        for holder in self.held.values().filter(unknown) {
            *counts.entry(holder.source).or_default() += 1;
        }
        let may_leave = |holder: &&mut Holder| {
            !holder.is_known
                && !holder.is_leaving
                && of.is_none_or(|source| source == holder.source)
                && now.saturating_duration_since(holder.since) >= QUIET
        };
        let weight = |holder: &Holder| (counts.get(&holder.source).copied(), std::cmp::Reverse(holder.since));
        let Some(holder) = self.held.values_mut().filter(may_leave).max_by_key(|one| weight(one)) else {
            return false;
        };
        holder.is_leaving = true;
        holder.leave.notify_one();
        true
    }
}

impl ConnectionSlot {
    /// Its client asks for something now.
    pub(crate) fn touch(&self, now: Instant) {
        if let Some(holder) = self.0.places.lock().held.get_mut(&self.0.number) {
            holder.since = now;
        }
    }

    /// Its client is logged in: it stays, and its source has its share without it.
    pub(crate) fn is_known(&self) {
        if let Some(holder) = self.0.places.lock().held.get_mut(&self.0.number) {
            holder.is_known = !holder.is_leaving;
        }
    }

    /// Returns when another client needs the place.
    pub(crate) async fn left(&self) {
        self.0.leave.notified().await;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.places.lock().held.remove(&self.number);
    }
}

/// Addresses that one host has at will count as one: those of an IPv6 network of 64 bits.
pub(crate) fn source(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & (u128::MAX << 64)).into()),
        v4 => v4,
    }
}

/// A client without a request for so long may have to leave.
const QUIET: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(number: u32) -> IpAddr {
        IpAddr::V4((0x0a00_0000 + number).into())
    }

    #[test]
    fn one_source_has_its_share_and_others_the_rest() {
        let (places, now) = (Places::new(16, true, Vec::new()), Instant::now());
        let held: Vec<ConnectionSlot> = (0..4).map(|_| places.enter(v4(1), now).unwrap()).collect();
        assert!(places.enter(v4(1), now).err() == Some(Full::Source), "a quarter");
        let others: Vec<ConnectionSlot> = (0..8).map(|n| places.enter(v4(2 + n), now).unwrap()).collect();
        assert!(places.enter(v4(99), now).err() == Some(Full::Total), "no client has been quiet for long");
        // The reserve: clients that log in have it, and then others come in again.
        others[0].is_known();
        let more = places.enter(v4(99), now).unwrap();
        let new = places.enter(v4(98), now + QUIET).unwrap();
        assert_eq!(places.lock().held.values().filter(|one| one.is_leaving).count(), 1);
        assert!(places.lock().held.values().any(|one| one.is_leaving && one.source == v4(1)), "it has most");
        drop((held, others, more, new));
        assert!(places.lock().held.is_empty());
        assert_eq!(source("2001:db8::1".parse().unwrap()), source("2001:db8::2".parse().unwrap()));
    }

    #[test]
    fn those_who_are_logged_in_never_make_room() {
        let (places, now) = (Places::new(4, true, Vec::new()), Instant::now());
        let held: Vec<ConnectionSlot> = (0..3).map(|n| places.enter(v4(n), now).unwrap()).collect();
        held.iter().for_each(ConnectionSlot::is_known);
        let last = places.enter(v4(9), now).unwrap();
        last.is_known();
        assert!(places.enter(v4(10), now + QUIET * 10).is_err(), "all are logged in");
    }

    #[test]
    fn a_named_proxy_is_not_one_source() {
        let (places, now) = (Places::new(16, true, vec![v4(1)]), Instant::now());
        let held: Vec<ConnectionSlot> = (0..12).map(|_| places.enter(v4(1), now).unwrap()).collect();
        assert!(places.enter(v4(1), now + QUIET).is_ok(), "the quietest makes room");
        drop(held);
    }
}
