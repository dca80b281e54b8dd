//! The name of an agent: a key with a lifetime, so that no two agents of one name are at work, and that of one that is gone becomes
//! free by itself.

use crate::broker::{Broker, Bucket, Expected};
use crate::error::{FleetError, Result};
use model::time::MonoTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// The process that holds a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Identifies this agent: only one process at a time can have it, and a restart has the same one.
    pub id: String,
    /// Its host, for people.
    pub host: String,
}

/// A name that is held, or tried for.
#[derive(Debug, Default)]
pub(super) struct Name {
    key: String,
    instance: Instance,
    /// The last write of this end.
    revision: Option<u64>,
    /// The name is no longer held from here on.
    until: MonoTime,
    again_at: MonoTime,
    /// Where another agent of this name is at work.
    taken: Option<String>,
    /// Its key was gone before its time: the server lost what it had.
    is_lost: bool,
}

/// The holder of the agent's name, as it was found.
#[derive(Debug)]
enum Found {
    Free,
    /// An earlier process of the same agent, or a write of this one whose answer was lost.
    Own(u64),
    Another(String),
}

impl Name {
    pub(super) fn new(name: &str, instance: Instance) -> Name {
        Name { key: key(name), instance, ..Name::default() }
    }

    pub(super) fn is_held(&self, now: MonoTime) -> bool {
        now < self.until
    }

    pub(super) fn due(&self) -> MonoTime {
        self.again_at
    }

    /// Looks at once whether it is still there.
    pub(super) fn doubt(&mut self) {
        self.again_at = MonoTime::ZERO;
    }

    /// Whether the server lost it since the last call.
    pub(super) fn take_loss(&mut self) -> bool {
        std::mem::take(&mut self.is_lost)
    }

    /// Where another agent of this name is at work.
    pub(super) fn taken(&self) -> Option<&str> {
        self.taken.as_deref()
    }

    /// Takes the name, or keeps it.
    ///
    /// # Errors
    /// The broker is out of reach, or does not permit it.
    pub(super) fn hold(&mut self, broker: &dyn Broker, clock: &dyn Fn() -> MonoTime) -> Result<()> {
        if clock() < self.again_at {
            return Ok(());
        }
        // One more attempt for a key that vanished or is our own; whatever it is then, it is looked at again soon.
        for _ in 0..2 {
            let sent = clock();
            self.again_at = sent + TRY_EVERY;
            let value = serde_json::to_vec(&self.instance).unwrap_or_default();
            let expected = self.revision.map_or(Expected::Absent, Expected::Revision);
            match broker.put(Bucket::Leases, &self.key, &value, expected, Some(LIVES)) {
                Ok(revision) => {
                    (self.revision, self.taken) = (Some(revision), None);
                    (self.until, self.again_at) = (sent + RELIED_ON, sent + HOLD_EVERY);
                    return Ok(());
                }
                Err(FleetError::Conflict(_)) => match self.find(broker)? {
                    Found::Free => {
                        self.is_lost |= self.revision.is_some() && self.is_held(clock());
                        self.revision = None;
                    }
                    Found::Own(revision) => self.revision = Some(revision),
                    Found::Another(host) => {
                        (self.revision, self.until, self.taken) = (None, MonoTime::ZERO, Some(host));
                        return Ok(());
                    }
                },
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn find(&self, broker: &dyn Broker) -> Result<Found> {
        let Some(entry) = broker.get(Bucket::Leases, &self.key)? else { return Ok(Found::Free) };
        let other: Instance = serde_json::from_slice(&entry.value).unwrap_or_default();
        Ok(match other.id == self.instance.id {
            true => Found::Own(entry.revision),
            false => Found::Another(other.host),
        })
    }

    /// Gives it back; what cannot be given back vanishes by itself.
    pub(super) fn give_back(&mut self, broker: &dyn Broker) {
        if let Some(revision) = self.revision.take() {
            let _ = broker.remove(Bucket::Leases, &self.key, revision);
        }
        self.until = MonoTime::ZERO;
    }
}

/// Whether an agent of this name is at work: it was heard within 30 s.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub fn is_there(broker: &dyn Broker, name: &str) -> Result<bool> {
    Ok(broker.get(Bucket::Leases, &key(name))?.is_some())
}

/// The names of all agents that are at work.
///
/// # Errors
/// Those of [`is_there`].
pub fn at_work(broker: &dyn Broker) -> Result<Vec<String>> {
    let keys = broker.keys(Bucket::Leases)?;
    Ok(keys.iter().filter_map(|key| Some(key.strip_prefix(PREFIX)?.to_owned())).collect())
}

fn key(name: &str) -> String {
    format!("{PREFIX}{name}")
}

const PREFIX: &str = "name.";
/// How old the last sign of an agent can be that still counts as there.
pub(super) const LIVES: Nanos = Nanos::from_secs(30);
/// An agent relies on it no longer than this: the rest covers clocks that run apart.
const RELIED_ON: Nanos = Nanos::from_secs(20);
const HOLD_EVERY: Nanos = Nanos::from_secs(10);
const TRY_EVERY: Nanos = Nanos::from_secs(1);
