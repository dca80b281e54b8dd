//! Getting hold of all the resources of a claim, in sorted sequence, or of none.

use super::release::Release;
use super::{
    Claim, Command, Holder, Lease, MOST_CONFLICTS, Reply, Step, VOID, has_room, heartbeat_key, is_void,
    reliance, resource_key,
};
use crate::broker::{Entry, Expected};
use model::time::MonoTime;

/// A claim that is being made.
#[derive(Clone, Debug)]
pub struct Acquire {
    claim: Claim,
    phase: Phase,
    tokens: Vec<(String, u64)>,
    heartbeat: u64,
    /// When the last command was given.
    sent: MonoTime,
    conflicts: u32,
}

/// How a claim ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is held.
    Held(Lease),
    /// Others hold a resource, and nothing is held.
    Blocked {
        /// The resource.
        resource: String,
        /// The claims that hold it.
        by: Vec<Holder>,
    },
    /// The store did not answer; what was written vanishes by itself.
    Unanswered,
}

#[derive(Clone, Debug)]
enum Phase {
    Begin,
    /// The heartbeat key was created.
    Heart,
    /// The list of the resource that is next was read.
    Read,
    /// The heartbeat of a holder in the way was read.
    Suspect(List, String),
    /// The heartbeat key of a dead holder was written, so that it stays dead.
    Bury(List, String),
    /// The list was written.
    Enter,
    /// All are entered: the heartbeat is renewed, which proves that nobody took this claim off meanwhile.
    Confirm,
    /// Another holds it: what was entered is given back.
    Undo(Box<Release>, Outcome),
}

/// The list of holders of one resource, as it was read.
#[derive(Clone, Debug)]
struct List {
    revision: Option<u64>,
    holders: Vec<Holder>,
    /// Those whose heartbeat is not yet known to be there.
    unsure: Vec<String>,
}

impl Acquire {
    /// A claim that begins.
    #[must_use]
    pub fn new(mut claim: Claim) -> Acquire {
        claim.resources.sort();
        claim.resources.dedup_by(|later, earlier| later.name == earlier.name);
        let phase = Phase::Begin;
        Acquire { claim, phase, tokens: Vec::new(), heartbeat: 0, sent: MonoTime::ZERO, conflicts: 0 }
    }

    /// Takes the reply to the last command (none at first), and gives the next one. `now` is the clock of this host.
    pub fn next(&mut self, reply: Option<Reply>, now: MonoTime) -> Step<Outcome> {
        let sent_before = self.sent;
        self.sent = now;
        match std::mem::replace(&mut self.phase, Phase::Begin) {
            Phase::Begin => self.beat(Expected::Absent, Phase::Heart),
            Phase::Heart => match reply {
                Some(Reply::Written(revision)) => {
                    self.heartbeat = revision;
                    self.read()
                }
                _ => Step::End(Outcome::Unanswered),
            },
            Phase::Read => match reply {
                Some(Reply::Entry(entry)) => match list_of(entry) {
                    Some(list) => self.consider(list),
                    None => {
                        let id = "an entry that this version cannot read".to_owned();
                        self.blocked(vec![Holder { id, ..Holder::default() }])
                    }
                },
                _ => self.undo(Outcome::Unanswered),
            },
            Phase::Suspect(list, holder) => self.judge(list, holder, reply),
            Phase::Bury(list, holder) => match reply {
                Some(Reply::Written(_)) => self.drop_dead(list, &holder),
                Some(Reply::Conflict) => self.again(),
                _ => self.undo(Outcome::Unanswered),
            },
            Phase::Enter => self.entered(reply),
            Phase::Confirm => match reply {
                Some(Reply::Written(revision)) => Step::End(Outcome::Held(self.lease(revision, sent_before))),
                _ => self.undo(Outcome::Unanswered),
            },
            Phase::Undo(release, outcome) => self.undoing(release, outcome, reply),
        }
    }

    fn lease(&mut self, heartbeat: u64, sent: MonoTime) -> Lease {
        Lease {
            holder: self.claim.holder.clone(),
            tokens: std::mem::take(&mut self.tokens),
            heartbeat,
            lifetime: self.claim.lifetime,
            until: sent + reliance(self.claim.lifetime),
        }
    }

    fn beat(&mut self, expected: Expected, phase: Phase) -> Step<Outcome> {
        self.phase = phase;
        Step::Do(Command::Put {
            key: heartbeat_key(&self.claim.holder),
            value: self.claim.holder.clone().into_bytes(),
            expected,
            lifetime: Some(self.claim.lifetime),
        })
    }

    /// Reads the next resource's list, or confirms when there is none left.
    fn read(&mut self) -> Step<Outcome> {
        let Some(resource) = self.claim.resources.get(self.tokens.len()) else {
            return self.beat(Expected::Revision(self.heartbeat), Phase::Confirm);
        };
        let key = resource_key(&resource.name);
        self.phase = Phase::Read;
        Step::Do(Command::Get { key })
    }

    /// The list was written by somebody else meanwhile.
    fn again(&mut self) -> Step<Outcome> {
        self.conflicts += 1;
        if self.conflicts > MOST_CONFLICTS {
            return self.blocked(Vec::new());
        }
        self.read()
    }

    fn blocked(&mut self, by: Vec<Holder>) -> Step<Outcome> {
        let resource = self.resource().name.clone();
        self.undo(Outcome::Blocked { resource, by })
    }

    fn resource(&self) -> &super::Resource {
        &self.claim.resources[self.tokens.len()]
    }

    /// Enters the list, or looks whether those in the way are still there.
    fn consider(&mut self, mut list: List) -> Step<Outcome> {
        let me = self.claim.holder_of(self.resource());
        list.holders.retain(|each| each.id != me.id);
        let mut wanted = list.holders.clone();
        wanted.push(me);
        if has_room(&wanted) {
            return self.enter(&list, &wanted);
        }
        let Some(holder) = list.unsure.pop() else {
            return self.blocked(list.holders);
        };
        let key = heartbeat_key(&holder);
        self.phase = Phase::Suspect(list, holder);
        Step::Do(Command::Get { key })
    }

    fn enter(&mut self, list: &List, wanted: &[Holder]) -> Step<Outcome> {
        let key = resource_key(&self.resource().name);
        let value = serde_json::to_vec(wanted).unwrap_or_default();
        let expected = list.revision.map_or(Expected::Absent, Expected::Revision);
        self.phase = Phase::Enter;
        Step::Do(Command::Put { key, value, expected, lifetime: None })
    }

    fn entered(&mut self, reply: Option<Reply>) -> Step<Outcome> {
        match reply {
            Some(Reply::Written(revision)) => {
                self.tokens.push((self.resource().name.clone(), revision));
                self.read()
            }
            Some(Reply::Conflict) => self.again(),
            _ => self.undo(Outcome::Unanswered),
        }
    }

    fn judge(&mut self, list: List, holder: String, reply: Option<Reply>) -> Step<Outcome> {
        match reply {
            Some(Reply::Entry(Some(entry))) if is_void(&entry.value) => self.drop_dead(list, &holder),
            Some(Reply::Entry(Some(_))) => self.consider(list),
            Some(Reply::Entry(None)) => {
                let key = heartbeat_key(&holder);
                self.phase = Phase::Bury(list, holder);
                // Long enough for this claim to take it off the list; a later one buries it anew.
                let lifetime = Some(self.claim.lifetime);
                Step::Do(Command::Put { key, value: VOID.to_vec(), expected: Expected::Absent, lifetime })
            }
            _ => self.undo(Outcome::Unanswered),
        }
    }

    fn drop_dead(&mut self, mut list: List, holder: &str) -> Step<Outcome> {
        list.holders.retain(|each| each.id != holder);
        self.consider(list)
    }

    fn undo(&mut self, outcome: Outcome) -> Step<Outcome> {
        let mut entered: Vec<String> = self.tokens.iter().map(|(name, _)| name.clone()).collect();
        // A write without an answer may have entered this one, too.
        entered.extend(self.claim.resources.get(self.tokens.len()).map(|resource| resource.name.clone()));
        let release = Release::new(&self.claim.holder, entered, self.heartbeat);
        self.undoing(Box::new(release), outcome, None)
    }

    fn undoing(
        &mut self,
        mut release: Box<Release>,
        outcome: Outcome,
        reply: Option<Reply>,
    ) -> Step<Outcome> {
        match release.next(reply) {
            Step::Do(command) => {
                self.phase = Phase::Undo(release, outcome);
                Step::Do(command)
            }
            Step::End(_) => Step::End(outcome),
        }
    }
}

/// The list of a resource; `None` when it cannot be read: who wrote it may hold the resource.
fn list_of(entry: Option<Entry>) -> Option<List> {
    let Some(entry) = entry else {
        return Some(List { revision: None, holders: Vec::new(), unsure: Vec::new() });
    };
    let holders: Vec<Holder> = serde_json::from_slice(&entry.value).ok()?;
    let unsure = holders.iter().map(|each| each.id.clone()).collect();
    Some(List { revision: Some(entry.revision), holders, unsure })
}
