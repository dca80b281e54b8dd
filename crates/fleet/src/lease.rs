//! Leases: they decide which holder may use which resource now, so that no test disturbs another.
//!
//! A holder (`ams.CLAIM`) has a key of its own for each resource (`on.ams.CLAIM.nic.h1.eth0`), written only against the last
//! write of all keys of that resource; the revision of that write is its fencing token. It has one heartbeat key with a
//! lifetime (`beat.ams.CLAIM`). An agent's key writes those of its own name alone, and a holder that is an agent counts only
//! for a run that a coordinator granted it, with the class of the grant: so no agent can free what another holds, or hold what
//! it was not granted. A client that finds a holder without a heartbeat or grant must prove that by a *write* that the server
//! accepts only if it is true; a stale read passes over no holder. A holder counts its time from when it *sent* its last
//! heartbeat and stops at two thirds of the lifetime, before the server would admit another holder.
//!
//! [`Acquire`], [`Renewal`] and [`Release`] are state machines: a command comes out, a reply goes in, and time is an argument.
//! [`Lease::acquire`] and the calls beside it drive them over a [`Broker`](crate::broker::Broker).

mod acquire;
mod drive;
mod free;
mod grant;
mod release;
mod renew;
mod rule;
#[cfg(test)]
mod tests;
mod waits;

pub use acquire::{Acquire, Acquired};
pub use free::{Held, free, held, remove_dead};
pub(crate) use grant::take_back;
pub use grant::{Granted, grant};
pub use release::Release;
pub use renew::{Renewal, Renewed};
pub use rule::{About, Class, Holder, has_room};
pub use waits::waits;
pub(crate) use waits::{stop_waiting, wait};

use crate::broker::{Entry, Expected, Listing};
use model::time::MonoTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// Something that tests share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[must_use]
pub struct Resource {
    /// Its name: words of letters, digits, `-` and `_`, joined by dots.
    pub name: String,
    /// How many may use it at once; zero is taken as one.
    #[serde(default = "default_capacity")]
    pub capacity: u32,
}

impl Resource {
    /// A resource for one at a time.
    pub fn sole(name: impl Into<String>) -> Resource {
        Resource { name: name.into(), capacity: 1 }
    }
}

fn default_capacity() -> u32 {
    1
}

/// A request to hold resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The owner and a name that is used for this claim alone, never again: [`holder`].
    pub holder: String,
    /// The run of an agent for which it is; a coordinator has none.
    pub run: String,
    /// The key under which a coordinator granted it.
    pub grant: String,
    /// Claims of one group do not exclude each other: pairs that are measured together on purpose.
    pub group: String,
    /// How it gets on with others.
    pub class: Class,
    /// The resources that it needs; all of them or none.
    pub resources: Vec<Resource>,
    /// How long the server keeps the claim after its last heartbeat: at least 3 s.
    pub lifetime: Nanos,
    /// Its purpose, as text to show.
    pub about: About,
}

/// A set of resources that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The claim's name.
    pub holder: String,
    /// The revisions of the writes that let it in, by resource: a later holder of the same resource has a higher one.
    pub tokens: Vec<(String, u64)>,
    /// Revision of the last heartbeat.
    pub heartbeat: u64,
    /// How long the server keeps it after a heartbeat.
    pub lifetime: Nanos,
    /// From here on it is not held, clock of this host.
    pub until: MonoTime,
}

impl Lease {
    /// Whether it is held now: what it allows must not be done otherwise.
    #[must_use]
    pub fn is_held(&self, now: MonoTime) -> bool {
        now < self.until
    }

    /// The fencing token: of two results about one resource, the one with the higher token began later.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.tokens.iter().map(|(_, token)| *token).max().unwrap_or(self.heartbeat)
    }

    /// When the next heartbeat is due, to have three within the lifetime.
    #[must_use]
    pub fn renew_at(&self) -> MonoTime {
        self.until - Nanos(self.lifetime.0 / 3)
    }
}

/// An operation on the bucket of leases that a machine requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read a key.
    Get {
        /// The key.
        key: String,
    },
    /// Read all keys of a pattern.
    List {
        /// The pattern.
        pattern: String,
    },
    /// Write a key.
    Put {
        /// The key.
        key: String,
        /// The value to write.
        value: Vec<u8>,
        /// The condition of the write.
        expected: Expected,
        /// How long it lives.
        lifetime: Option<Nanos>,
    },
    /// Remove a key.
    Remove {
        /// The key.
        key: String,
        /// The write that it must still hold.
        revision: u64,
    },
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The entry of a key.
    Entry(Option<Entry>),
    /// The keys of a pattern.
    Listing(Listing),
    /// The write's revision.
    Written(u64),
    /// The key was removed.
    Removed,
    /// The key was not as expected.
    Conflict,
    /// Nothing is known: it may have been done, or may yet be.
    Unknown,
}

/// The next step of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Have this done, and return its reply.
    Do(Command),
    /// The machine has ended.
    End(T),
}

/// How long a holder relies on a heartbeat that it sent: the rest of the lifetime covers clocks that run apart.
fn reliance(lifetime: Nanos) -> Nanos {
    Nanos(lifetime.0 / 3 * 2)
}

fn heartbeat_key(holder: &str) -> String {
    format!("beat.{holder}")
}

fn resource_key(holder: &str, name: &str) -> String {
    format!("{ON}{holder}.{name}")
}

/// The keys of all holders of a resource.
fn resource_pattern(name: &str) -> String {
    format!("{ON}*.*.{name}")
}

/// The holder and the resource of a key.
fn holder_and_resource(key: &str) -> Option<(&str, &str)> {
    let rest = key.strip_prefix(ON)?;
    let (dot, _) = rest.match_indices('.').nth(1)?;
    Some((&rest[..dot], &rest[dot + 1..]))
}

/// The name of a claim's holder: its owner, an agent or a coordinator, and a word that no other claim of that owner has.
#[must_use]
pub fn holder(owner: &str, claim: &str) -> String {
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' }
    };
    let [owner, claim] = [owner, claim].map(|word| word.chars().map(plain).collect::<String>());
    format!("{owner}.{claim}")
}

/// Whether a heartbeat key has the value of a holder that was taken off: it can never be renewed.
fn is_void(value: &[u8]) -> bool {
    value.starts_with(FREED)
}

/// The owner of a coordinator's claims. Agents cannot write in its name, and none is called so.
pub const COORDINATOR: &str = "coordinator";
/// The keys of holders begin so.
const ON: &str = "on.";
/// The value of the heartbeat key of a holder that was taken off on purpose; the reason follows.
const FREED: &[u8] = b"void: ";
/// A failed write means that another one succeeded; after so many the resource is called busy.
const MOST_CONFLICTS: u32 = 50;
