//! Giving resources back: off each list, then the heartbeat.

use super::{Command, Holder, MOST_CONFLICTS, Reply, Step, heartbeat_key, resource_key};
use crate::broker::Expected;

/// A claim that is being given back.
#[derive(Clone, Debug)]
pub struct Release {
    holder: String,
    resources: Vec<String>,
    heartbeat: u64,
    phase: Phase,
    conflicts: u32,
    complete: bool,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Begin,
    Read,
    Leave,
    Heart,
}

impl Release {
    /// Gives back what `holder` has of these resources. `heartbeat` is the revision of its last heartbeat.
    #[must_use]
    pub fn new(holder: &str, resources: Vec<String>, heartbeat: u64) -> Release {
        let phase = Phase::Begin;
        Release { holder: holder.to_owned(), resources, heartbeat, phase, conflicts: 0, complete: true }
    }

    /// Takes the reply to the last command, and gives the next one. It ends with whether it still held all of it: a release
    /// that comes late changes nothing of what others hold.
    pub fn next(&mut self, reply: Option<Reply>) -> Step<bool> {
        match (self.phase, reply) {
            (Phase::Begin, _) => self.read(),
            (Phase::Read, Some(Reply::Entry(entry))) => self.leave(entry),
            (Phase::Leave, Some(Reply::Conflict)) if self.conflicts < MOST_CONFLICTS => {
                self.conflicts += 1;
                self.read()
            }
            (Phase::Leave, Some(Reply::Written(_) | Reply::Removed)) => {
                self.resources.pop();
                self.read()
            }
            (Phase::Read | Phase::Leave, _) => {
                // Others take this claim off once its heartbeat is gone.
                self.complete = false;
                self.resources.pop();
                self.read()
            }
            (Phase::Heart, reply) => Step::End(self.complete && reply == Some(Reply::Removed)),
        }
    }

    fn read(&mut self) -> Step<bool> {
        if let Some(name) = self.resources.last() {
            self.phase = Phase::Read;
            return Step::Do(Command::Get { key: resource_key(name) });
        }
        self.phase = Phase::Heart;
        Step::Do(Command::Remove { key: heartbeat_key(&self.holder), revision: self.heartbeat })
    }

    fn leave(&mut self, entry: Option<crate::broker::Entry>) -> Step<bool> {
        let revision = entry.as_ref().map(|entry| entry.revision);
        let mut holders: Vec<Holder> =
            entry.and_then(|entry| serde_json::from_slice(&entry.value).ok()).unwrap_or_default();
        let before = holders.len();
        holders.retain(|each| each.id != self.holder);
        let (Some(revision), Some(name), true) = (revision, self.resources.last(), holders.len() < before)
        else {
            self.complete = false;
            self.resources.pop();
            return self.read();
        };
        let key = resource_key(name);
        self.phase = Phase::Leave;
        if holders.is_empty() {
            return Step::Do(Command::Remove { key, revision });
        }
        let value = serde_json::to_vec(&holders).unwrap_or_default();
        Step::Do(Command::Put { key, value, expected: Expected::Revision(revision), lifetime: None })
    }
}
