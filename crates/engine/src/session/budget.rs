//! The budget of a server for one resource (connections, tests, streams): a limit in all and one for each source, and a share
//! is returned on drop. A source that takes much keeps out only itself.
//!
//! A source is an IPv4 address, or for IPv6 the network of a link and that of a site (RFC 4291 section 2.5.4, RFC 6177):
//! one host may have every address of its /64, one customer every /64 of a /48.
//!
//! Where all is taken, a newcomer may take the place of one that has been quiet: that of the source that holds most.

use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The class of a client in a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Anybody.
    Unknown,
    /// The client has proved its identity or its purpose, or it is on this host: no limit of a source applies, and it may use
    /// the reserve.
    Trusted,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) total: u32,
    /// For one IPv4 address, or one /64.
    pub(crate) per_source: u32,
    /// For one /48.
    pub(crate) per_site: u32,
    /// Part of the total for trusted clients alone.
    pub(crate) reserve: u32,
}

impl Limits {
    /// A quarter of the total for one source and half of it for one site. `reserve`: a quarter is for trusted clients.
    pub(crate) fn quarters(total: u32, reserve: bool) -> Limits {
        let reserve = if reserve { total / 4 } else { 0 };
        Limits { total, per_source: total.div_ceil(4), per_site: total.div_ceil(2), reserve }
    }
}

/// Why nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// All is taken.
    Total,
    /// The source has its share.
    Source,
}

/// A budget and what is taken of it.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    all: u32,
    /// Number that unknown clients hold.
    unknown: u32,
    sources: HashMap<Prefix, u32>,
    /// Holders that a newcomer may take the place of, by number.
    quiet: BTreeMap<u64, Quiet>,
    next: u64,
    /// Holders that have been requested to leave.
    going: u32,
}

#[derive(Debug)]
struct Quiet {
    source: Prefix,
    since: MonoTime,
    /// Nothing is to be lost: the holder may be requested to leave.
    idle: bool,
    leave: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Prefix {
    /// An IPv4 address, or a /64.
    Source(IpAddr),
    /// A /48.
    Site(Ipv6Addr),
    /// An IPv6 address; nothing is limited by it.
    Address(Ipv6Addr),
}

/// A part of a budget; given back on drop.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    source: IpAddr,
    amount: u32,
    client: Client,
    /// Its number, where a newcomer may take its place.
    number: Option<u64>,
    leave: Arc<AtomicBool>,
}

impl Budget {
    /// A budget of which nothing is taken.
    pub(crate) fn new(limits: Limits) -> Arc<Budget> {
        Arc::new(Budget { limits, counts: Mutex::default() })
    }

    /// Takes so much for a client of this address.
    pub(crate) fn take(self: &Arc<Self>, source: IpAddr, amount: u32, client: Client) -> Result<Held, Full> {
        let mut counts = self.lock();
        self.limits.check(&counts, source, amount, client)?;
        counts.add(source, amount, client);
        Ok(Held { budget: self.clone(), source, amount, client, number: None, leave: Arc::default() })
    }

    /// Takes one for an unknown client. Its share may be reclaimed for another client ([`Held::must_leave`]), and may be one
    /// that was reclaimed for it.
    pub(crate) fn enter(self: &Arc<Self>, source: IpAddr, now: MonoTime) -> Result<Held, Full> {
        let mut counts = self.lock();
        match self.limits.check(&counts, source, 1, Client::Unknown) {
            Ok(()) => {}
            Err(Full::Total) if counts.make_room(source, now) => {}
            Err(full) => return Err(full),
        }
        counts.add(source, 1, Client::Unknown);
        let (number, leave) = (counts.next, Arc::<AtomicBool>::default());
        counts.next += 1;
        let quiet = Quiet { source: prefixes(source)[0], since: now, idle: true, leave: leave.clone() };
        counts.quiet.insert(number, quiet);
        let (budget, number) = (self.clone(), Some(number));
        Ok(Held { budget, source, amount: 1, client: Client::Unknown, number, leave })
    }

    /// Could so much be taken now?
    pub(crate) fn has_room(&self, source: IpAddr, amount: u32, client: Client) -> bool {
        self.limits.check(&self.lock(), source, amount, client).is_ok()
    }

    /// Works as [`Budget::enter`] for an unknown client, and as [`Budget::take`] for a trusted one.
    pub(crate) fn admit(
        self: &Arc<Self>,
        source: IpAddr,
        client: Client,
        now: MonoTime,
    ) -> Result<Held, Full> {
        match client {
            Client::Unknown => self.enter(source, now),
            Client::Trusted => self.take(source, 1, client),
        }
    }

    /// Does an unknown client of this very address hold something?
    pub(crate) fn is_held_by(&self, source: IpAddr) -> bool {
        let counts = self.lock();
        prefixes(source).last().is_some_and(|address| counts.sources.contains_key(address))
    }

    /// The number taken in all.
    #[cfg(test)]
    pub(crate) fn held(&self) -> u32 {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limits {
    fn check(self, counts: &Counts, source: IpAddr, amount: u32, client: Client) -> Result<(), Full> {
        let fits = |taken: u32, limit: u32| taken.checked_add(amount).is_some_and(|sum| sum <= limit);
        if client == Client::Unknown {
            let within = |prefix: &Prefix| {
                let limit = match prefix {
                    Prefix::Source(_) => self.per_source,
                    Prefix::Site(_) => self.per_site,
                    Prefix::Address(_) => u32::MAX,
                };
                fits(counts.sources.get(prefix).copied().unwrap_or(0), limit)
            };
            if !prefixes(source).iter().all(within) {
                return Err(Full::Source);
            }
            if !fits(counts.unknown, self.total - self.reserve) {
                return Err(Full::Total);
            }
        }
        // Holders that were requested to leave do so in a moment.
        let stay = counts.all - counts.going.min(counts.all);
        if fits(stay, self.total) { Ok(()) } else { Err(Full::Total) }
    }
}

impl Counts {
    fn add(&mut self, source: IpAddr, amount: u32, client: Client) {
        self.all += amount;
        if client == Client::Unknown {
            self.unknown += amount;
            prefixes(source)
                .into_iter()
                .for_each(|prefix| *self.sources.entry(prefix).or_default() += amount);
        }
    }

    fn remove(&mut self, source: IpAddr, amount: u32, client: Client) {
        self.all -= amount;
        if client == Client::Unknown {
            self.unknown -= amount;
            for prefix in prefixes(source) {
                let left = self.sources.get_mut(&prefix).map_or(0, |held| {
                    *held -= amount;
                    *held
                });
                if left == 0 {
                    self.sources.remove(&prefix);
                }
            }
        }
    }

    /// Requests the quietest holder of the source with most to leave, for a new client from `source`; returns whether there was
    /// one.
    fn make_room(&mut self, source: IpAddr, now: MonoTime) -> bool {
        if self.going >= MOST_GOING {
            return false;
        }
        let sources = &self.sources;
        let held_by = |source: &Prefix| sources.get(source).copied().unwrap_or(0);
        let newcomers = held_by(&prefixes(source)[0]) + 1;
        let may_close = |quiet: &&mut Quiet| {
            let is_greedy = held_by(&quiet.source) >= newcomers.saturating_mul(GREEDY);
            let timeout = if is_greedy { QUIET_OF_MANY } else { QUIET };
            let is_quiet = now.saturating_since(quiet.since) >= timeout;
            quiet.idle && is_quiet && !quiet.leave.load(Ordering::Relaxed)
        };
        let weight = |quiet: &Quiet| (held_by(&quiet.source), std::cmp::Reverse(quiet.since));
        let heaviest = self.quiet.values_mut().filter(may_close).max_by_key(|quiet| weight(quiet));
        let Some(quiet) = heaviest else { return false };
        quiet.leave.store(true, Ordering::Relaxed);
        self.going += 1;
        self.unknown -= 1;
        true
    }

    fn forget(&mut self, number: Option<u64>) {
        let quiet = number.and_then(|number| self.quiet.remove(&number));
        if quiet.is_some_and(|quiet| quiet.leave.load(Ordering::Relaxed)) {
            self.going -= 1;
            // The holder was removed from the count when it was requested to leave.
            self.unknown += 1;
        }
    }
}

impl Held {
    /// Another client needs its place: it is to end.
    pub(crate) fn must_leave(&self) -> bool {
        self.leave.load(Ordering::Relaxed)
    }

    /// Raised when it [must leave](Held::must_leave).
    pub(crate) fn leave(&self) -> Arc<AtomicBool> {
        self.leave.clone()
    }

    /// Notes that data came from it. `idle`: it may be requested to leave when nothing more comes.
    pub(crate) fn touch(&self, now: MonoTime, idle: bool) {
        let Some(number) = self.number else { return };
        if let Some(quiet) = self.budget.lock().quiet.get_mut(&number) {
            quiet.since = now;
            quiet.idle = idle;
        }
    }

    /// Trusts the client, which has shown its purpose or identity: from now on it counts in the total alone.
    pub(crate) fn trust(&mut self) {
        if self.client == Client::Trusted || self.must_leave() {
            return;
        }
        let mut counts = self.budget.lock();
        counts.forget(self.number.take());
        counts.remove(self.source, self.amount, Client::Unknown);
        counts.add(self.source, self.amount, Client::Trusted);
        self.client = Client::Trusted;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut counts = self.budget.lock();
        counts.forget(self.number);
        counts.remove(self.source, self.amount, self.client);
    }
}

/// Trusts a client whose protocol makes it prove itself before this point, and one on this host.
pub(crate) fn client_of(source: IpAddr, proves: bool) -> Client {
    if proves || source.to_canonical().is_loopback() { Client::Trusted } else { Client::Unknown }
}

/// A client that connects now.
pub(crate) fn enter(connections: &Arc<Budget>, source: IpAddr) -> Result<Held, &'static str> {
    connections.enter(source, mono_now()).map_err(|full| match full {
        Full::Total => "as many connections as this server can have",
        Full::Source => "too many silent connections of this address",
    })
}

/// The limits of a listener's connections: far more than honest clients need, as theirs say at once what they are. Fewer where this
/// process may have few open files.
pub(crate) fn connections() -> Limits {
    connections_within(linux::privilege::open_files())
}

fn connections_within(files: u64) -> Limits {
    let total = within(1024, files).max(8);
    Limits {
        total,
        per_source: (total / 4).max(2),
        per_site: (total / 2).max(2),
        reserve: (total / 8).max(1),
    }
}

/// The usual number of something, each of which is a file or two, or its share of the open files that this process may have: all budgets
/// together leave some for what answers.
pub(crate) fn within(usual: u32, files: u64) -> u32 {
    let share = u64::from(usual).saturating_mul(files) / ENOUGH_FILES;
    usual.min(u32::try_from(share).unwrap_or(u32::MAX)).max(1)
}

/// Open files with which every budget may be used up at once: five of connections, one of flows, one of streams.
const ENOUGH_FILES: u64 = 16_384;

/// The source that an address is of: itself, or its /64.
pub(crate) fn network_of(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

fn prefixes(source: IpAddr) -> Vec<Prefix> {
    match source.to_canonical() {
        v4 @ IpAddr::V4(_) => vec![Prefix::Source(v4)],
        IpAddr::V6(v6) => {
            let network = |bits: u32| Ipv6Addr::from_bits(v6.to_bits() >> (128 - bits) << (128 - bits));
            vec![Prefix::Source(network(64).into()), Prefix::Site(network(48)), Prefix::Address(v6)]
        }
    }
}

/// A holder that is silent for so long may have to leave.
const QUIET: Nanos = Nanos::from_secs(1);
/// The same of a source that holds so many times what the newcomer's does.
const QUIET_OF_MANY: Nanos = Nanos::from_millis(50);
const GREEDY: u32 = 2;
/// Most holders that were requested to leave and are still there: the total is exceeded by no more.
const MOST_GOING: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(number: u32) -> IpAddr {
        number.to_be_bytes().into()
    }

    fn v6(site: u16, link: u16, host: u16) -> IpAddr {
        Ipv6Addr::new(0x2001, 0xdb8, site, link, 0, 0, 0, host).into()
    }

    fn at(millis: u64) -> MonoTime {
        MonoTime(1) + Nanos::from_millis(millis)
    }

    #[test]
    fn a_source_has_a_quarter_and_others_the_rest() {
        let budget = Budget::new(Limits::quarters(64, false));
        let take = |source| budget.take(source, 1, Client::Unknown);
        let held: Vec<Held> = (0..16).map(|_| take(v4(1)).unwrap()).collect();
        assert_eq!(take(v4(1)).unwrap_err(), Full::Source);
        assert!(take(v4(2)).is_ok());
        assert!(budget.take(v4(1), 1, Client::Trusted).is_ok(), "the token was right");
        assert!(budget.is_held_by(v4(1)) && !budget.is_held_by(v4(3)));
        drop(held);
        assert!(take(v4(1)).is_ok());
        assert_eq!(budget.held(), 0);
        assert!(budget.lock().sources.is_empty());
    }

    #[test]
    fn a_network_is_one_source_and_a_site_has_half() {
        let budget = Budget::new(Limits::quarters(64, false));
        let take = |source| budget.take(source, 1, Client::Unknown);
        let mut held: Vec<Held> = (0..16).map(|host| take(v6(1, 1, host)).unwrap()).collect();
        assert_eq!(take(v6(1, 1, 99)).unwrap_err(), Full::Source);
        held.extend((0..16).map(|link| take(v6(1, 2 + link, 0)).unwrap()));
        assert_eq!(take(v6(1, 99, 0)).unwrap_err(), Full::Source, "half of it has the site");
        assert!(take(v6(2, 1, 0)).is_ok());
        assert!(budget.is_held_by(v6(1, 1, 3)) && !budget.is_held_by(v6(1, 1, 99)), "the very address");
        drop(held);
    }

    #[test]
    fn the_reserve_is_for_those_who_know_the_token() {
        let budget = Budget::new(Limits::quarters(64, true));
        let held: Vec<Held> =
            (0..48).map(|source| budget.take(v4(source), 1, Client::Unknown).unwrap()).collect();
        assert_eq!(budget.take(v4(99), 1, Client::Unknown).unwrap_err(), Full::Total);
        let trusted: Vec<Held> = (0..16).map(|_| budget.take(v4(99), 1, Client::Trusted).unwrap()).collect();
        assert_eq!(budget.take(v4(99), 1, Client::Trusted).unwrap_err(), Full::Total);
        assert!(!budget.has_room(v4(7), 1, Client::Trusted));
        drop((held, trusted));
        assert!(budget.has_room(v4(7), 64, Client::Trusted));
        assert!(!budget.has_room(v4(7), u32::MAX, Client::Trusted));
    }

    #[test]
    fn budgets_fit_the_limit_of_open_files() {
        let usual = Limits { total: 1024, per_source: 256, per_site: 512, reserve: 128 };
        assert_eq!(connections_within(1 << 20), usual);
        for files in [64_u64, 1024, 4096] {
            let connections = connections_within(files);
            let all = 5 * u64::from(connections.total) + u64::from(within(512, files) + within(1024, files));
            assert!(all < files, "{files}: {all}");
            assert!(connections.per_source >= 2 && connections.reserve > 0, "{connections:?}");
        }
    }

    #[test]
    fn one_client_alone_is_always_served() {
        for total in 1..5 {
            assert!(Budget::new(Limits::quarters(total, true)).take(v4(1), 1, Client::Unknown).is_ok());
        }
    }

    #[test]
    fn who_has_shown_what_it_wants_counts_in_the_total_alone() {
        let budget = Budget::new(Limits { total: 4, per_source: 1, per_site: 2, reserve: 1 });
        let mut first = budget.enter(v4(1), at(0)).unwrap();
        assert_eq!(budget.enter(v4(1), at(0)).unwrap_err(), Full::Source);
        first.trust();
        first.trust();
        let second = budget.enter(v4(1), at(0)).unwrap();
        assert_eq!(budget.held(), 2);
        drop((first, second));
        let counts = budget.lock();
        assert_eq!((counts.all, counts.unknown, counts.quiet.len()), (0, 0, 0));
    }

    #[test]
    fn who_has_been_quiet_for_long_makes_room() {
        let budget = Budget::new(Limits { total: 3, per_source: 3, per_site: 3, reserve: 0 });
        let enter = |n: u32, ms: u64| budget.enter(v4(n), at(ms));
        let held = [(1, 0), (2, 100), (3, 200)].map(|(n, ms)| enter(n, ms).unwrap());
        assert_eq!(enter(4, 900).unwrap_err(), Full::Total, "no client has been quiet for long");
        held[0].touch(at(1000), true);
        held[1].touch(at(100), false);
        let new = enter(4, 1500).unwrap();
        assert_eq!(held.each_ref().map(Held::must_leave), [false, false, true]);
        assert_eq!(enter(5, 1600).unwrap_err(), Full::Total, "one has just sent something, one is busy");
        drop((held, new));
        let counts = budget.lock();
        assert_eq!((counts.all, counts.unknown, counts.going), (0, 0, 0));
    }

    #[test]
    fn who_holds_many_makes_room_at_once_for_who_has_none() {
        let budget = Budget::new(Limits { total: 8, per_source: 8, per_site: 8, reserve: 0 });
        let held: Vec<Held> = (0..8).map(|_| budget.enter(v4(1), at(0)).unwrap()).collect();
        let new = budget.enter(v4(2), at(100)).unwrap();
        assert_eq!(held.iter().filter(|held| held.must_leave()).count(), 1);
        assert_eq!(budget.enter(v4(1), at(100)).unwrap_err(), Full::Source);
        drop((held, new));
    }

    #[test]
    fn only_a_few_are_closing_at_once() {
        let limits = Limits { total: 2048, per_source: 1, per_site: 1, reserve: 0 };
        let budget = Budget::new(limits);
        let mut held: Vec<Held> = (0..2048).map(|n| budget.enter(v4(n), at(0)).unwrap()).collect();
        held.extend((0..MOST_GOING).map(|n| budget.enter(v4(10_000 + n), at(2000)).unwrap()));
        assert_eq!(budget.enter(v4(99_999), at(2000)).unwrap_err(), Full::Total);
        assert_eq!(budget.held(), 2048 + MOST_GOING);
        held.retain(|held| !held.must_leave());
        assert_eq!(budget.held(), 2048);
    }
}
