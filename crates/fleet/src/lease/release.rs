//! Giving resources back: the key of each, then the heartbeat.

use super::{Command, Reply, Step, heartbeat_key, resource_key};

/// A claim that is being given back.
#[derive(Clone, Debug)]
pub struct Release {
    holder: String,
    /// Each with the revision of its key, where that is known.
    resources: Vec<(String, Option<u64>)>,
    heartbeat: u64,
    phase: Phase,
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
    pub fn new(holder: &str, resources: Vec<(String, Option<u64>)>, heartbeat: u64) -> Release {
        Release { holder: holder.to_owned(), resources, heartbeat, phase: Phase::Begin, complete: true }
    }

    /// Takes the reply to the last command, and gives the next one. It ends with whether it still held all of it: a release
    /// that comes late changes nothing of what others hold.
    pub fn next(&mut self, reply: Option<Reply>) -> Step<bool> {
        match (self.phase, reply) {
            (Phase::Begin, _) => self.leave(),
            (Phase::Read, Some(Reply::Entry(Some(entry)))) => {
                if let Some((_, revision)) = self.resources.last_mut() {
                    *revision = Some(entry.revision);
                }
                self.leave()
            }
            (Phase::Leave, Some(Reply::Removed)) => {
                self.resources.pop();
                self.leave()
            }
            (Phase::Read | Phase::Leave, _) => {
                // Once its heartbeat is gone, what is left of it does not count.
                self.complete = false;
                self.resources.pop();
                self.leave()
            }
            (Phase::Heart, reply) => Step::End(self.complete && reply == Some(Reply::Removed)),
        }
    }

    fn leave(&mut self) -> Step<bool> {
        let Some((name, revision)) = self.resources.last() else {
            self.phase = Phase::Heart;
            return Step::Do(Command::Remove { key: heartbeat_key(&self.holder), revision: self.heartbeat });
        };
        let key = resource_key(&self.holder, name);
        match *revision {
            Some(revision) => {
                self.phase = Phase::Leave;
                Step::Do(Command::Remove { key, revision })
            }
            None => {
                self.phase = Phase::Read;
                Step::Do(Command::Get { key })
            }
        }
    }
}
