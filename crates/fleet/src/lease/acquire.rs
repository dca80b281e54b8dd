//! Getting hold of all the resources of a claim, in sorted sequence, or of none.

use super::grant::grant_key;
use super::release::Release;
use super::{
    Claim, Command, Holder, Lease, MOST_CONFLICTS, Reply, Step, has_room, heartbeat_key, holder_and_resource,
    is_void, reliance, resource_key, resource_pattern,
};
use crate::broker::{Entry, Expected, Listing};
use model::time::MonoTime;
use model::units::Nanos;

/// How a claim ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// All of it is held.
    Held(Lease),
    /// Others hold a resource, and nothing is held.
    Blocked {
        /// The resource.
        resource: String,
        /// The claims that hold it; none when it was too busy to be entered.
        by: Vec<Holder>,
    },
    /// No coordinator granted it to this agent, or not any more.
    NotGranted,
}

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

/// How a claim ended; absent: the store did not answer, and what was written vanishes by itself.
type Outcome = Option<Acquired>;

#[derive(Clone, Debug)]
enum Phase {
    Begin,
    /// The claim's own grant was read.
    Permit,
    /// The heartbeat key was created.
    Heart,
    /// The holders of the resource that is next were listed.
    Read,
    /// The heartbeat of a holder that excludes it was read.
    Suspect(List, Holder),
    /// The grant of a holder that excludes it was read.
    Grant(List, Holder),
    /// A write proves that a holder that excludes it holds nothing.
    Prove(List),
    /// The resource's key was written.
    Enter,
    /// All are entered: the heartbeat is renewed, which proves that this claim was not removed meanwhile.
    Confirm,
    /// Another holds it: what was entered is given back.
    Undo(Box<Release>, Outcome),
}

/// The holders of one resource, as they were read.
#[derive(Clone, Debug)]
struct List {
    /// Their last write.
    last: u64,
    /// Those that are known to hold it.
    sure: Vec<Holder>,
    /// Those of which it is not yet known.
    unsure: Vec<Holder>,
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
            Phase::Begin => self.begin(),
            Phase::Permit => match reply {
                Some(Reply::Entry(grant)) if self.is_granted(grant.as_ref()) => {
                    self.beat(Expected::Absent, Phase::Heart)
                }
                Some(Reply::Entry(_)) => Step::End(Some(Acquired::NotGranted)),
                _ => Step::End(None),
            },
            Phase::Heart => match reply {
                Some(Reply::Written(revision)) => {
                    self.heartbeat = revision;
                    self.read()
                }
                _ => Step::End(None),
            },
            Phase::Read => match reply {
                Some(Reply::Listing(listing)) => self.consider(list_of(listing)),
                _ => self.undo(None),
            },
            Phase::Suspect(list, holder) => self.suspect(list, holder, reply),
            Phase::Grant(list, holder) => self.judge(list, holder, reply),
            Phase::Prove(list) => match reply {
                Some(Reply::Written(_)) => self.consider(list),
                Some(Reply::Conflict) => self.again(),
                _ => self.undo(None),
            },
            Phase::Enter => match reply {
                Some(Reply::Written(revision)) => {
                    self.tokens.push((self.resource().name.clone(), revision));
                    self.read()
                }
                Some(Reply::Conflict) => self.again(),
                _ => self.undo(None),
            },
            Phase::Confirm => match reply {
                Some(Reply::Written(revision)) => {
                    Step::End(Some(Acquired::Held(self.lease(revision, sent_before))))
                }
                _ => self.undo(None),
            },
            Phase::Undo(release, outcome) => self.undoing(release, outcome, reply),
        }
    }

    fn begin(&mut self) -> Step<Outcome> {
        if self.me().is_agent() {
            self.phase = Phase::Permit;
            return Step::Do(Command::Get { key: grant_key(&self.claim.grant) });
        }
        self.beat(Expected::Absent, Phase::Heart)
    }

    /// Whether all that it wants is granted, so that others believe it.
    fn is_granted(&self, grant: Option<&Entry>) -> bool {
        self.claim.resources.iter().all(|resource| self.me().granted(&resource.name, grant).is_some())
    }

    fn me(&self) -> Holder {
        Holder { id: self.claim.holder.clone(), run: self.claim.run.clone(), ..Holder::default() }
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

    /// Lists the holders of the next resource, or confirms when there is none left.
    fn read(&mut self) -> Step<Outcome> {
        let Some(resource) = self.claim.resources.get(self.tokens.len()) else {
            return self.beat(Expected::Revision(self.heartbeat), Phase::Confirm);
        };
        let pattern = resource_pattern(&resource.name);
        self.phase = Phase::Read;
        Step::Do(Command::List { pattern })
    }

    /// Somebody else came meanwhile.
    fn again(&mut self) -> Step<Outcome> {
        self.conflicts += 1;
        if self.conflicts > MOST_CONFLICTS {
            return self.blocked(Vec::new());
        }
        self.read()
    }

    fn blocked(&mut self, by: Vec<Holder>) -> Step<Outcome> {
        let resource = self.resource().name.clone();
        self.undo(Some(Acquired::Blocked { resource, by }))
    }

    fn resource(&self) -> &super::Resource {
        &self.claim.resources[self.tokens.len()]
    }

    /// Enters, or looks whether those that exclude it hold it.
    fn consider(&mut self, mut list: List) -> Step<Outcome> {
        let me = self.claim.holder_of(self.resource());
        list.unsure.retain(|each| each.id != me.id);
        // An agent is believed about its class and group here: its own words can at most let others in beside it.
        let wanted: Vec<Holder> = list.sure.iter().chain(&list.unsure).chain([&me]).cloned().collect();
        if has_room(&wanted) {
            return self.enter(&list, &me);
        }
        let Some(at) = list.unsure.iter().rposition(Holder::is_weighty) else {
            return self.blocked(list.sure);
        };
        let holder = list.unsure.remove(at);
        let key = heartbeat_key(&holder.id);
        self.phase = Phase::Suspect(list, holder);
        Step::Do(Command::Get { key })
    }

    fn enter(&mut self, list: &List, me: &Holder) -> Step<Outcome> {
        let name = &self.resource().name;
        let (key, pattern) = (resource_key(&me.id, name), resource_pattern(name));
        let value = serde_json::to_vec(me).unwrap_or_default();
        self.phase = Phase::Enter;
        let expected = Expected::LastOf { pattern, revision: list.last };
        Step::Do(Command::Put { key, value, expected, lifetime: None })
    }

    /// By its heartbeat.
    fn suspect(&mut self, mut list: List, holder: Holder, reply: Option<Reply>) -> Step<Outcome> {
        match reply {
            Some(Reply::Entry(Some(entry))) if is_void(&entry.value) => self.consider(list),
            Some(Reply::Entry(Some(_))) if holder.is_agent() => {
                let key = grant_key(&holder.grant);
                self.phase = Phase::Grant(list, holder);
                Step::Do(Command::Get { key })
            }
            Some(Reply::Entry(Some(_))) => {
                list.sure.push(holder);
                self.consider(list)
            }
            Some(Reply::Entry(None)) => self.prove(list, Expected::Without(heartbeat_key(&holder.id))),
            _ => self.undo(None),
        }
    }

    /// By its grant.
    fn judge(&mut self, mut list: List, holder: Holder, reply: Option<Reply>) -> Step<Outcome> {
        let Some(Reply::Entry(grant)) = reply else { return self.undo(None) };
        let pattern = grant_key(&holder.grant);
        match holder.granted(&self.resource().name, grant.as_ref()) {
            Some(holder) => {
                list.sure.push(holder);
                self.consider(list)
            }
            None => self.prove(
                list,
                match grant {
                    Some(Entry { revision, .. }) => Expected::LastOf { pattern, revision },
                    None => Expected::Without(pattern),
                },
            ),
        }
    }

    /// The server takes this write only if a holder, which is not in the list any more, holds nothing as it was read.
    fn prove(&mut self, list: List, expected: Expected) -> Step<Outcome> {
        self.phase = Phase::Prove(list);
        let key = format!("{}.proof", heartbeat_key(&self.claim.holder));
        Step::Do(Command::Put { key, value: Vec::new(), expected, lifetime: Some(PROOF) })
    }

    fn undo(&mut self, outcome: Outcome) -> Step<Outcome> {
        let mut entered: Vec<(String, Option<u64>)> =
            self.tokens.iter().map(|(name, token)| (name.clone(), Some(*token))).collect();
        // A write without an answer may have entered this one, too.
        entered.extend(self.claim.resources.get(self.tokens.len()).map(|one| (one.name.clone(), None)));
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

/// The holders in a listing. An entry of another version that this one cannot read counts as an exclusive holder.
fn list_of(listing: Listing) -> List {
    let holders = listing.entries.iter().filter_map(|(key, entry)| holder_at(key, entry));
    List { last: listing.last, sure: Vec::new(), unsure: holders.collect() }
}

/// The holder of a key, whose name is that of the key and not what stands in it.
pub(super) fn holder_at(key: &str, entry: &Entry) -> Option<Holder> {
    let (id, _) = holder_and_resource(key)?;
    let read: Holder = serde_json::from_slice(&entry.value).unwrap_or_default();
    let group = if read.group.is_empty() { id.to_owned() } else { read.group.clone() };
    Some(Holder { id: id.to_owned(), group, ..read })
}

/// How long a write stays that proves something.
const PROOF: Nanos = Nanos::from_secs(1);
