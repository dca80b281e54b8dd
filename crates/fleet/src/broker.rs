//! The basis of coordination: one trait, and two back ends that pass the same tests (`tests/conformance`).
//!
//! [`nats::Nats`] is a NATS server with JetStream; `world::broker`, for tests, is this process. Every call returns at once or within
//! the back end's time limit. Calls that wait take the longest wait as an argument; zero does not wait.

mod lifetime;
#[cfg(feature = "nats")]
pub mod nats;

pub use lifetime::Lifetimes;

use crate::error::Result;
use model::units::Nanos;

/// Keys with a value each, of which a write can demand the revision that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// The holders of resources, and their heartbeats.
    Leases,
    /// The agents that are there, with their inventory.
    Agents,
    /// The plans to measure.
    Plans,
}

/// Messages that stay until somebody confirms them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Log {
    /// Jobs for agents.
    Jobs,
    /// Outcomes of agents.
    Outcomes,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Bucket; 3] = [Bucket::Leases, Bucket::Agents, Bucket::Plans];

    /// The word for it in subjects.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Bucket::Leases => "lease",
            Bucket::Agents => "agent",
            Bucket::Plans => "plan",
        }
    }
}

impl Log {
    /// All of them.
    pub const ALL: [Log; 2] = [Log::Jobs, Log::Outcomes];

    /// The word for it in subjects.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Log::Jobs => "job",
            Log::Outcomes => "outcome",
        }
    }
}

/// The content of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its bytes.
    pub value: Vec<u8>,
    /// The number of the write; in one bucket a later write has a higher number, whatever its key.
    pub revision: u64,
}

/// Keys of a pattern, as one read found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Each key with what it holds, by the numbers of their writes.
    pub entries: Vec<(String, Entry)>,
    /// The number of the last write that was read, for [`Expected::LastOf`] and for the next listing; where there is none, the
    /// number that the listing began after.
    pub last: u64,
    /// Whether no key has a later write.
    pub is_whole: bool,
}

impl Listing {
    /// All keys of a pattern.
    ///
    /// # Errors
    /// The errors of all calls; there are more than one listing has: what writes so many on one resource is not a mesh at work.
    pub fn whole(broker: &dyn Broker, bucket: Bucket, pattern: &str) -> Result<Listing> {
        let listing = broker.list(bucket, pattern, 0)?;
        if listing.is_whole {
            return Ok(listing);
        }
        let why = format!("it has more than {MOST_LISTED} keys");
        Err(crate::FleetError::Server { operation: "list", object: pattern.to_owned(), why })
    }
}

/// The condition of a write on its key, or on others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The key does not exist.
    Absent,
    /// Its last write has this number.
    Revision(u64),
    /// Nothing.
    Anything,
    /// Another key does not exist.
    Without(String),
    /// The last write of all keys of a pattern has this number (0: there is none): since a [`Broker::list`] found it, no key came in.
    LastOf {
        /// The pattern.
        pattern: String,
        /// The number.
        revision: u64,
    },
}

/// A message of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it was sent to.
    pub subject: String,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Where an answer goes, when one is awaited.
    pub reply: Option<String>,
}

/// Whether an appended message is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The message was stored.
    New,
    /// One with the same id was stored before.
    Duplicate,
}

/// A message of a log, to be confirmed with [`Broker::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The subject that it was appended with: an outcome's agent, which the server holds to that agent's key.
    pub subject: String,
    /// Its bytes.
    pub data: Vec<u8>,
    /// How often it was delivered, this time included.
    pub attempt: u64,
    /// By which the back end knows it.
    pub token: String,
}

/// The operations that coordination is built on.
pub trait Broker: Send + Sync {
    /// Reads a key.
    ///
    /// # Errors
    /// Those of all calls of this trait: the server cannot be reached, does not answer in time, or does not permit it.
    fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Entry>>;

    /// Writes a key, and returns the revision of this write. With `lifetime` (at least a second, in whole seconds) the key
    /// vanishes so long after the write, by the back end's clock, unless it is written again. One that the back end keeps beyond that
    /// counts as gone to a reader that found it unchanged for its lifetime and 5 s more.
    ///
    /// # Errors
    /// [`Conflict`](crate::FleetError::Conflict) when the key is not as `expected`. After
    /// [`TimedOut`](crate::FleetError::TimedOut) the write may have happened.
    fn put(
        &self,
        bucket: Bucket,
        key: &str,
        value: &[u8],
        expected: Expected,
        lifetime: Option<Nanos>,
    ) -> Result<u64>;

    /// Removes a key whose last write has this revision.
    ///
    /// # Errors
    /// [`Conflict`](crate::FleetError::Conflict) when it is gone or was written since.
    fn remove(&self, bucket: Bucket, key: &str, revision: u64) -> Result<()>;

    /// The keys of a bucket, sorted.
    ///
    /// # Errors
    /// Those of all calls.
    fn keys(&self, bucket: Bucket) -> Result<Vec<String>>;

    /// The keys of a pattern, in which `*` stands for one word, that were written after the write with this number (0: all),
    /// with what they hold, at most 1,000. A listed key may be gone since; a key written since makes a write that expects
    /// [`Expected::LastOf`] fail.
    ///
    /// # Errors
    /// The errors of all calls.
    fn list(&self, bucket: Bucket, pattern: &str, after: u64) -> Result<Listing>;

    /// Sends a message to everybody who listens on a subject now. Nothing confirms it: a server that does not permit it may
    /// report so later.
    ///
    /// # Errors
    /// Those of all calls.
    fn publish(&self, subject: &str, data: &[u8]) -> Result<()>;

    /// Listens on a subject; `*` stands for one word of it, `>` for all further ones.
    ///
    /// # Errors
    /// Those of all calls.
    fn subscribe(&self, subject: &str) -> Result<Box<dyn Mailbox>>;

    /// Sends a message, and returns where the answers arrive.
    ///
    /// # Errors
    /// Those of all calls. A subject without a listener is reported by the mailbox: [`NoResponder`](crate::FleetError::NoResponder).
    fn request(&self, subject: &str, data: &[u8]) -> Result<Box<dyn Mailbox>>;

    /// Stores a message for the consumers of its subject. `id` makes it one of a kind: the same id is stored once.
    ///
    /// # Errors
    /// Those of all calls. After [`TimedOut`](crate::FleetError::TimedOut) it may be stored: the same call again is safe.
    fn append(&self, log: Log, subject: &str, id: &str, data: &[u8]) -> Result<Appended>;

    /// Takes part in the work of a log: what is appended with `subject` (`None`: all of it) is delivered to one of those
    /// who consume by this name, and again after `redeliver_after` unless it is confirmed. It stays until then.
    ///
    /// # Errors
    /// Those of all calls.
    fn consume(
        &self,
        log: Log,
        name: &str,
        subject: Option<&str>,
        redeliver_after: Nanos,
    ) -> Result<Box<dyn Consumer>>;

    /// Confirms a message: it is gone from the log, and is not delivered again.
    ///
    /// # Errors
    /// Those of all calls; it may be delivered again then.
    fn done(&self, delivery: &Delivery) -> Result<()>;

    /// Makes anew what is missing of the store, as after the server lost its disk. Existing parts stay.
    ///
    /// # Errors
    /// The errors of all calls; an agent's key has no right to it.
    fn restore(&self) -> Result<()>;

    /// Reports that a delivery is being worked on: the time until it is delivered again begins anew.
    ///
    /// # Errors
    /// Those of all calls.
    fn extend(&self, delivery: &Delivery) -> Result<()>;
}

/// Messages that arrive.
pub trait Mailbox: Send {
    /// The next message, waited for as long as given.
    ///
    /// # Errors
    /// The subject may not be listened on, or has no responder.
    fn next(&mut self, wait: Nanos) -> Result<Option<Message>>;
}

/// Messages of a log that are this end's to handle.
pub trait Consumer: Send {
    /// The next message, waited for as long as given.
    ///
    /// # Errors
    /// Those of all calls of [`Broker`].
    fn next(&mut self, wait: Nanos) -> Result<Option<Delivery>>;
}

/// Asks somebody and waits for the answer.
///
/// # Errors
/// [`NoResponder`](crate::FleetError::NoResponder), or [`TimedOut`](crate::FleetError::TimedOut) after `wait`.
pub fn ask(broker: &dyn Broker, subject: &str, data: &[u8], wait: Nanos) -> Result<Message> {
    let answer = broker.request(subject, data)?.next(wait)?;
    answer.ok_or_else(|| crate::FleetError::TimedOut { operation: "ask", object: subject.to_owned() })
}

/// Answers a request. A restarted server knows no earlier request and permits no answer to it: the request is repeated.
pub(crate) fn reply(broker: &dyn Broker, subject: &str, data: &[u8]) -> Result<()> {
    match broker.publish(subject, data) {
        Err(crate::FleetError::NotPermitted { .. }) => Ok(()),
        sent => sent,
    }
}

/// The most keys that one listing has.
pub const MOST_LISTED: usize = 1000;

/// Whether a subject is among those of a pattern with `*` and `>`.
#[must_use]
pub fn matches(pattern: &str, subject: &str) -> bool {
    let (mut wanted, mut found) = (pattern.split('.'), subject.split('.'));
    loop {
        match (wanted.next(), found.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(word), Some(other)) if word == "*" || word == other => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_word_by_word() {
        for (pattern, subject, expected) in [
            ("a.b", "a.b", true),
            ("a.*", "a.b", true),
            ("a.*", "a.b.c", false),
            ("a.>", "a.b.c", true),
            ("a.>", "a", false),
            ("a.b", "a.c", false),
            ("a", "a.b", false),
        ] {
            assert_eq!(matches(pattern, subject), expected, "{pattern} {subject}");
        }
    }
}
