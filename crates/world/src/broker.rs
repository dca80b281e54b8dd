//! A broker of a fleet in this process: the same guarantees as those of a server, kept in memory.
//!
//! Time is [`Time::Real`], or [`Time::Simulated`], which moves only when the caller advances it: then nothing waits.

use fleet::broker::{
    Appended, Broker, Bucket, Consumer, Delivery, Entry, Expected, Lifetimes, Listing, Log, MOST_LISTED,
    Mailbox, Message, matches,
};
use fleet::{FleetError, Result};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The clock of a [`Local`].
#[derive(Clone, Debug)]
pub enum Time {
    /// The clock of this host, from when the back end was made.
    Real(Instant),
    /// Nanoseconds that the caller sets.
    Simulated(Arc<AtomicU64>),
}

impl Time {
    fn now(&self) -> MonoTime {
        match self {
            Time::Real(begin) => MonoTime(Nanos::from_duration(begin.elapsed()).0),
            Time::Simulated(now) => MonoTime(now.load(Ordering::SeqCst)),
        }
    }
}

/// Whether a caller may do an operation (`write`, `publish to`, …) with a subject (`lease.on.x`, `pm.cmd.ams`, `job.ams`): what
/// stands for a server's permissions.
pub type Permission = dyn Fn(&str, &str) -> bool + Send + Sync;

/// A back end in this process. Clones are the same one.
#[derive(Clone)]
pub struct Local {
    shared: Arc<Shared>,
    permission: Option<Arc<Permission>>,
}

struct Shared {
    time: Time,
    state: Mutex<State>,
    lifetimes: Lifetimes,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    revision: u64,
    keys: HashMap<Bucket, BTreeMap<String, Slot>>,
    /// No key vanishes before.
    vanishes_next: Option<MonoTime>,
    mailboxes: HashMap<u64, Pending>,
    next_mailbox: u64,
    logs: HashMap<Log, Stored>,
    /// No key vanishes any more.
    is_forgetful: bool,
    /// There is no store until it is made anew.
    is_lost: bool,
    /// How often the store was lost: consumers of an earlier one are gone.
    losses: u64,
}

struct Slot {
    entry: Entry,
    vanishes: Option<MonoTime>,
    lifetime: Option<Nanos>,
}

struct Pending {
    pattern: String,
    messages: VecDeque<Message>,
}

#[derive(Default)]
struct Stored {
    messages: BTreeMap<u64, Logged>,
    ids: HashSet<String>,
    next: u64,
}

struct Logged {
    subject: String,
    data: Vec<u8>,
    attempt: u64,
    /// Delivered, and not again before.
    until: Option<MonoTime>,
    /// How long until then.
    again: Nanos,
}

impl Default for Local {
    fn default() -> Local {
        Local::new(Time::Real(Instant::now()))
    }
}

impl Local {
    /// An empty back end.
    #[must_use]
    pub fn new(time: Time) -> Local {
        let (state, lifetimes) = (Mutex::default(), Lifetimes::default());
        let shared = Shared { time, state, lifetimes, changed: Condvar::new() };
        Local { shared: Arc::new(shared), permission: None }
    }

    /// The same back end for a caller with fewer rights.
    #[must_use]
    pub fn permitted(&self, permission: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Local {
        Local { shared: Arc::clone(&self.shared), permission: Some(Arc::new(permission)) }
    }

    /// From now on no key vanishes at the end of its lifetime, as after an unclean end of a server.
    pub fn forget_lifetimes(&self) {
        self.shared.state().is_forgetful = true;
    }

    /// Sends a request whose answer goes to this subject.
    pub fn ask_from(&self, subject: &str, data: &[u8], reply: &str) {
        let (subject, reply) = (subject.to_owned(), Some(reply.to_owned()));
        self.shared.state().deliver(&Message { subject, data: data.to_vec(), reply });
    }

    /// All that was stored is gone, and so are the streams and consumers, as after a server lost its disk.
    pub fn lose_store(&self) {
        let mut state = self.shared.state();
        state.keys.clear();
        state.logs.clear();
        (state.is_lost, state.losses) = (true, state.losses + 1);
    }

    fn check(&self, operation: &'static str, subject: &str) -> Result<()> {
        match &self.permission {
            Some(permission) if !permission(operation, subject) => {
                Err(FleetError::NotPermitted { operation, subject: subject.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Changes the messages of a log, given the number of one that was delivered.
    fn delivered(&self, delivery: &Delivery, change: impl FnOnce(&mut BTreeMap<u64, Logged>, u64)) {
        let Some((word, number)) = delivery.token.split_once(' ') else { return };
        let Some(log) = Log::ALL.into_iter().find(|log| log.word() == word) else { return };
        let mut state = self.shared.state();
        if let (Ok(number), Some(stored)) = (number.parse(), state.logs.get_mut(&log)) {
            change(&mut stored.messages, number);
        }
    }

    fn key(&self, operation: &'static str, bucket: Bucket, key: &str) -> Result<()> {
        self.check(operation, &format!("{}.{key}", bucket.word()))?;
        self.is_stored(operation, key)
    }

    fn is_stored(&self, operation: &'static str, object: &str) -> Result<()> {
        match self.shared.state().is_lost {
            true => Err(no_store(operation, object)),
            false => Ok(()),
        }
    }

    /// The slot of a key that has not outlived its lifetime.
    fn slot<'s>(&self, state: &'s State, bucket: Bucket, key: &str) -> Option<&'s Slot> {
        let slot = state.keys.get(&bucket)?.get(key)?;
        let now = self.shared.time.now();
        let is_over = self.shared.lifetimes.is_over((bucket, key), slot.entry.revision, slot.lifetime, now);
        (!is_over).then_some(slot)
    }

    /// The keys of a pattern, by their revisions.
    fn fitting(&self, state: &State, bucket: Bucket, pattern: &str) -> Vec<(String, Entry)> {
        let keys = state.keys.get(&bucket).into_iter().flat_map(BTreeMap::keys);
        let fitting = keys.filter(|key| matches(pattern, key));
        let mut entries: Vec<(String, Entry)> = fitting
            .filter_map(|key| Some((key.clone(), self.slot(state, bucket, key)?.entry.clone())))
            .collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.revision);
        entries
    }
}

fn no_store(operation: &'static str, object: &str) -> FleetError {
    FleetError::NoStream { operation, object: object.to_owned(), server: "this process".to_owned() }
}

impl Shared {
    /// The state, without what has vanished by now.
    fn state(&self) -> MutexGuard<'_, State> {
        let now = self.time.now();
        // A panic of another thread leaves each message and key whole.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.is_forgetful && state.vanishes_next.is_some_and(|next| now >= next) {
            state.vanish(now);
        }
        state
    }

    /// Waits until `find` finds something, or the time is over; in simulated time it looks once.
    fn wait<T>(&self, wait: Nanos, mut find: impl FnMut(&mut State, MonoTime) -> Option<T>) -> Option<T> {
        let end = self.time.now() + wait;
        let mut state = self.state();
        loop {
            let now = self.time.now();
            if let Some(found) = find(&mut state, now) {
                return Some(found);
            }
            if now >= end || matches!(self.time, Time::Simulated(_)) {
                return None;
            }
            // An unconfirmed delivery comes back by time alone: check again soon.
            let slice = Duration::from_nanos((end - now).0).min(Duration::from_millis(10));
            let waited = self.changed.wait_timeout(state, slice);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn vanish(&mut self, now: MonoTime) {
        for keys in self.keys.values_mut() {
            keys.retain(|_, slot| slot.vanishes.is_none_or(|end| now < end));
        }
        self.vanishes_next =
            self.keys.values().flat_map(BTreeMap::values).filter_map(|slot| slot.vanishes).min();
    }

    fn deliver(&mut self, message: &Message) -> usize {
        let fitting = self.mailboxes.values_mut().filter(|each| matches(&each.pattern, &message.subject));
        fitting.map(|each| each.messages.push_back(message.clone())).count()
    }

    fn open(&mut self, pattern: String) -> u64 {
        self.next_mailbox += 1;
        self.mailboxes.insert(self.next_mailbox, Pending { pattern, messages: VecDeque::new() });
        self.next_mailbox
    }
}

impl Broker for Local {
    fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>> {
        self.key("read", bucket, key)?;
        let state = self.shared.state();
        Ok(self.slot(&state, bucket, key).map(|slot| slot.entry.clone()))
    }

    fn put(
        &self,
        bucket: Bucket,
        key: &str,
        value: &[u8],
        expected: Expected,
        lifetime: Option<Nanos>,
    ) -> Result<u64> {
        self.key("write", bucket, key)?;
        let vanishes = lifetime.map(|lifetime| self.shared.time.now() + lifetime);
        let mut state = self.shared.state();
        let found = state.keys.get(&bucket).and_then(|keys| keys.get(key)).map(|slot| slot.entry.revision);
        let fits = match expected {
            Expected::Absent => self.slot(&state, bucket, key).is_none(),
            Expected::Revision(revision) => found == Some(revision),
            Expected::Anything => true,
            Expected::Without(other) => self.slot(&state, bucket, &other).is_none(),
            Expected::LastOf { pattern, revision } => {
                let last = self.fitting(&state, bucket, &pattern).pop();
                last.map_or(0, |(_, entry)| entry.revision) == revision
            }
        };
        if !fits {
            return Err(FleetError::Conflict(key.to_owned()));
        }
        state.revision += 1;
        let revision = state.revision;
        let slot = Slot { entry: Entry { value: value.to_vec(), revision }, vanishes, lifetime };
        state.keys.entry(bucket).or_default().insert(key.to_owned(), slot);
        state.vanishes_next = [state.vanishes_next, vanishes].into_iter().flatten().min();
        Ok(revision)
    }

    fn remove(&self, bucket: Bucket, key: &str, revision: u64) -> Result<()> {
        self.key("remove", bucket, key)?;
        let mut state = self.shared.state();
        let keys = state.keys.entry(bucket).or_default();
        if keys.get(key).is_none_or(|slot| slot.entry.revision != revision) {
            return Err(FleetError::Conflict(key.to_owned()));
        }
        keys.remove(key);
        Ok(())
    }

    fn keys(&self, bucket: Bucket) -> Result<Vec<String>> {
        let state = self.shared.state();
        let keys = state.keys.get(&bucket).into_iter().flat_map(BTreeMap::keys);
        Ok(keys.filter(|key| self.slot(&state, bucket, key).is_some()).cloned().collect())
    }

    fn list(&self, bucket: Bucket, pattern: &str, after: u64) -> Result<Listing> {
        self.key("read", bucket, pattern)?;
        let mut entries = self.fitting(&self.shared.state(), bucket, pattern);
        entries.retain(|(_, entry)| entry.revision > after);
        let is_whole = entries.len() <= MOST_LISTED;
        entries.truncate(MOST_LISTED);
        let last = entries.last().map_or(after, |(_, entry)| entry.revision);
        Ok(Listing { entries, last, is_whole })
    }

    fn publish(&self, subject: &str, data: &[u8]) -> Result<()> {
        self.check("publish to", subject)?;
        let message = Message { subject: subject.to_owned(), data: data.to_vec(), reply: None };
        self.shared.state().deliver(&message);
        self.shared.changed.notify_all();
        Ok(())
    }

    fn subscribe(&self, subject: &str) -> Result<Box<dyn Mailbox>> {
        self.check("listen on", subject)?;
        let number = self.shared.state().open(subject.to_owned());
        Ok(Box::new(LocalMailbox { shared: Arc::clone(&self.shared), number, unanswered: None }))
    }

    fn request(&self, subject: &str, data: &[u8]) -> Result<Box<dyn Mailbox>> {
        self.check("publish to", subject)?;
        let mut state = self.shared.state();
        let reply = format!("_inbox.{}", state.next_mailbox + 1);
        let number = state.open(reply.clone());
        let message = Message { subject: subject.to_owned(), data: data.to_vec(), reply: Some(reply) };
        let unanswered = (state.deliver(&message) == 0).then(|| subject.to_owned());
        drop(state);
        self.shared.changed.notify_all();
        Ok(Box::new(LocalMailbox { shared: Arc::clone(&self.shared), number, unanswered }))
    }

    fn append(&self, log: Log, subject: &str, id: &str, data: &[u8]) -> Result<Appended> {
        self.check("append to", &format!("{}.{subject}", log.word()))?;
        self.is_stored("append to", subject)?;
        let mut state = self.shared.state();
        let stored = state.logs.entry(log).or_default();
        if !stored.ids.insert(id.to_owned()) {
            return Ok(Appended::Duplicate);
        }
        stored.next += 1;
        let logged = Logged {
            subject: subject.to_owned(),
            data: data.to_vec(),
            attempt: 0,
            until: None,
            again: Nanos::ZERO,
        };
        stored.messages.insert(stored.next, logged);
        drop(state);
        self.shared.changed.notify_all();
        Ok(Appended::New)
    }

    fn consume(
        &self,
        log: Log,
        name: &str,
        subject: Option<&str>,
        redeliver_after: Nanos,
    ) -> Result<Box<dyn Consumer>> {
        self.check("consume", &format!("{}.{}", log.word(), subject.unwrap_or(name)))?;
        self.is_stored("consume", name)?;
        let (shared, losses) = (Arc::clone(&self.shared), self.shared.state().losses);
        let subject = subject.map(str::to_owned);
        Ok(Box::new(LocalConsumer { shared, log, subject, redeliver_after, losses }))
    }

    fn restore(&self) -> Result<()> {
        self.check("make", "streams")?;
        self.shared.state().is_lost = false;
        Ok(())
    }

    fn done(&self, delivery: &Delivery) -> Result<()> {
        self.delivered(delivery, |messages, number| {
            messages.remove(&number);
        });
        Ok(())
    }

    fn extend(&self, delivery: &Delivery) -> Result<()> {
        let now = self.shared.time.now();
        self.delivered(delivery, |messages, number| {
            if let Some(logged) = messages.get_mut(&number) {
                logged.until = Some(now + logged.again);
            }
        });
        Ok(())
    }
}

struct LocalMailbox {
    shared: Arc<Shared>,
    number: u64,
    /// The subject of a request without a responder.
    unanswered: Option<String>,
}

impl Mailbox for LocalMailbox {
    fn next(&mut self, wait: Nanos) -> Result<Option<Message>> {
        if let Some(subject) = &self.unanswered {
            return Err(FleetError::NoResponder(subject.clone()));
        }
        let number = self.number;
        Ok(self.shared.wait(wait, |state, _| state.mailboxes.get_mut(&number)?.messages.pop_front()))
    }
}

impl Drop for LocalMailbox {
    fn drop(&mut self) {
        self.shared.state().mailboxes.remove(&self.number);
    }
}

struct LocalConsumer {
    shared: Arc<Shared>,
    log: Log,
    subject: Option<String>,
    redeliver_after: Nanos,
    /// The store's losses when it was made.
    losses: u64,
}

impl Consumer for LocalConsumer {
    fn next(&mut self, wait: Nanos) -> Result<Option<Delivery>> {
        if self.shared.state().losses != self.losses {
            let (object, why) = (self.log.word().to_owned(), "503: its consumer is gone".to_owned());
            return Err(FleetError::Server { operation: "consume", object, why });
        }
        let (log, again) = (self.log, self.redeliver_after);
        let subject = self.subject.as_deref();
        Ok(self.shared.wait(wait, |state, now| {
            let stored = state.logs.get_mut(&log)?;
            let (number, logged) = stored.messages.iter_mut().find(|(_, logged)| {
                subject.is_none_or(|subject| matches(subject, &logged.subject))
                    && logged.until.is_none_or(|until| now >= until)
            })?;
            logged.attempt += 1;
            logged.again = again;
            logged.until = Some(now + again);
            let token = format!("{} {number}", log.word());
            let (subject, data) = (logged.subject.clone(), logged.data.clone());
            Some(Delivery { subject, data, attempt: logged.attempt, token })
        }))
    }
}
