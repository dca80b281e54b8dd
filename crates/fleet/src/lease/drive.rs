//! The machines at work over a broker.

use super::{
    Acquire, Acquired, Claim, Command, FREED, Lease, Release, Renewal, Renewed, Reply, Step, heartbeat_key,
};
use crate::broker::{Broker, Bucket, Listing};
use crate::error::{FleetError, Result};
use model::time::MonoTime;

impl Lease {
    /// Claims resources. `clock` is this host's monotonic clock.
    ///
    /// # Errors
    /// The broker is out of reach, or does not permit it; nothing is held then.
    pub fn acquire(broker: &dyn Broker, claim: Claim, clock: &dyn Fn() -> MonoTime) -> Result<Acquired> {
        let mut machine = Acquire::new(claim);
        let mut failure = None;
        match run(broker, &mut failure, |reply| machine.next(reply, clock())) {
            Some(acquired) => Ok(acquired),
            None => Err(failure
                .unwrap_or(FleetError::TimedOut { operation: "acquire", object: "a lease".to_owned() })),
        }
    }

    /// Sends the heartbeat, `renewal` being the one of this lease.
    ///
    /// # Errors
    /// The broker does not permit it. Where it is out of reach, it returns [`Renewed::Unanswered`].
    pub fn renew(
        &mut self,
        broker: &dyn Broker,
        renewal: &mut Renewal,
        clock: &dyn Fn() -> MonoTime,
    ) -> Result<Renewed> {
        let mut failure = None;
        let renewed = run(broker, &mut failure, |reply| renewal.next(self, reply, clock()));
        match failure {
            Some(error) if renewed == Renewed::Unanswered && !error.is_transient() => Err(error),
            _ => Ok(renewed),
        }
    }

    /// Whether others may have it: its heartbeat is gone, or another's. Where that is not known it is taken to be there.
    #[must_use]
    pub fn is_taken_off(&self, broker: &dyn Broker) -> bool {
        let entry = broker.get(Bucket::Leases, &heartbeat_key(&self.holder));
        entry.is_ok_and(|entry| entry.is_none_or(|entry| entry.value != self.holder.as_bytes()))
    }

    /// Why somebody freed it on purpose, where that is so and known.
    #[must_use]
    pub fn freed_for(&self, broker: &dyn Broker) -> Option<String> {
        let entry = broker.get(Bucket::Leases, &heartbeat_key(&self.holder)).ok()??;
        let reason = entry.value.strip_prefix(FREED).filter(|reason| !reason.is_empty())?;
        Some(String::from_utf8_lossy(reason).into_owned())
    }

    /// Gives all of it back, and returns whether it was still held: a late release changes nothing of what others hold.
    ///
    /// # Errors
    /// The broker is out of reach, or does not permit it; the lease lapses by itself then.
    pub fn release(self, broker: &dyn Broker) -> Result<bool> {
        let resources = self.tokens.into_iter().map(|(name, token)| (name, Some(token))).collect();
        let mut machine = Release::new(&self.holder, resources, self.heartbeat);
        let mut failure = None;
        let complete = run(broker, &mut failure, |reply| machine.next(reply));
        failure.map_or(Ok(complete), Err)
    }
}

/// Carries a machine's commands out until it ends; the last error that was no conflict is kept in `failure`.
fn run<T>(
    broker: &dyn Broker,
    failure: &mut Option<FleetError>,
    mut next: impl FnMut(Option<Reply>) -> Step<T>,
) -> T {
    let mut reply = None;
    loop {
        match next(reply.take()) {
            Step::End(outcome) => return outcome,
            Step::Do(command) => {
                reply = Some(match carry_out(broker, &command) {
                    Ok(reply) => reply,
                    Err(FleetError::Conflict(_)) => Reply::Conflict,
                    Err(error) => {
                        *failure = Some(error);
                        Reply::Unknown
                    }
                });
            }
        }
    }
}

fn carry_out(broker: &dyn Broker, command: &Command) -> Result<Reply> {
    let bucket = Bucket::Leases;
    match command {
        Command::Get { key } => broker.get(bucket, key).map(Reply::Entry),
        Command::List { pattern } => Listing::whole(broker, bucket, pattern).map(Reply::Listing),
        Command::Put { key, value, expected, lifetime } => {
            broker.put(bucket, key, value, expected.clone(), *lifetime).map(Reply::Written)
        }
        Command::Remove { key, revision } => broker.remove(bucket, key, *revision).map(|()| Reply::Removed),
    }
}
