//! The heartbeat of a lease.

use super::{Command, Lease, Reply, Step, heartbeat_key, reliance};
use crate::broker::Expected;
use model::time::MonoTime;

/// A heartbeat that is being sent.
#[derive(Clone, Debug, Default)]
pub struct Renewal {
    phase: Phase,
    /// When the heartbeat was sent, of which it is not known whether it arrived; the first of several.
    unsure: Option<MonoTime>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Begin,
    Sent(MonoTime),
    Looked,
}

/// How a heartbeat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewed {
    /// The lease is held on, until the time that stands in it.
    Held,
    /// Others may hold it.
    Lost,
    /// The store did not answer: it is held until the time that stands in the lease, and can be tried again.
    Unanswered,
}

impl Renewal {
    /// Takes the reply to the last command, and gives the next one; after an end it begins again.
    pub fn next(&mut self, lease: &mut Lease, reply: Option<Reply>, now: MonoTime) -> Step<Renewed> {
        match (self.phase, reply) {
            (Phase::Begin, _) if !lease.is_held(now) => Step::End(Renewed::Lost),
            (Phase::Begin, _) => self.send(lease, now),
            (Phase::Sent(sent), Some(Reply::Written(revision))) => {
                self.unsure = None;
                self.hold(lease, revision, sent, now)
            }
            // An earlier heartbeat without an answer may have arrived after all.
            (Phase::Sent(_), Some(Reply::Conflict)) if self.unsure.is_some() => {
                self.phase = Phase::Looked;
                Step::Do(Command::Get { key: heartbeat_key(&lease.holder) })
            }
            (Phase::Sent(_), Some(Reply::Conflict)) => self.lose(lease, now),
            (Phase::Sent(sent), _) => {
                self.unsure.get_or_insert(sent);
                self.end(Renewed::Unanswered)
            }
            (Phase::Looked, Some(Reply::Entry(entry))) => match (entry, self.unsure.take()) {
                // An old revision is an old answer: the heartbeat that it shows may be gone since.
                (Some(entry), Some(sent))
                    if entry.value == lease.holder.as_bytes() && entry.revision > lease.heartbeat =>
                {
                    self.hold(lease, entry.revision, sent, now)
                }
                _ => self.lose(lease, now),
            },
            (Phase::Looked, _) => self.end(Renewed::Unanswered),
        }
    }

    fn send(&mut self, lease: &Lease, now: MonoTime) -> Step<Renewed> {
        self.phase = Phase::Sent(now);
        Step::Do(Command::Put {
            key: heartbeat_key(&lease.holder),
            value: lease.holder.clone().into_bytes(),
            expected: Expected::Revision(lease.heartbeat),
            lifetime: Some(lease.lifetime),
        })
    }

    fn hold(&mut self, lease: &mut Lease, revision: u64, sent: MonoTime, now: MonoTime) -> Step<Renewed> {
        lease.heartbeat = revision;
        if !lease.is_held(now) {
            // The answer took too long: what the lease allowed has stopped already.
            return self.lose(lease, now);
        }
        lease.until = lease.until.max(sent + reliance(lease.lifetime));
        self.end(Renewed::Held)
    }

    fn lose(&mut self, lease: &mut Lease, now: MonoTime) -> Step<Renewed> {
        lease.until = lease.until.min(now);
        self.end(Renewed::Lost)
    }

    fn end(&mut self, renewed: Renewed) -> Step<Renewed> {
        self.phase = Phase::Begin;
        Step::End(renewed)
    }
}
