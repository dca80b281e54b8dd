//! Taking outcomes: from the log, and from coordinators that were given ours.

use super::Coordinator;
use super::forgery::{Forgery, Origin, origin};
use crate::broker::{self, Delivery, Log, Message};
use crate::error::{FleetError, Result};
use crate::job::{End, Outcome, parse_attempt};
use crate::ledger::{RunState, Stored, StoredEnd};
use model::units::Nanos;

impl Coordinator<'_> {
    /// Answers which of their runs the sink has.
    pub(super) fn answer(&mut self) -> Result<()> {
        while let Some(question) = self.questions.next(Nanos::ZERO)? {
            let attempts: Vec<String> = serde_json::from_slice(&question.data).unwrap_or_default();
            let is_stored = |attempt: &&String| {
                let (run, number) = parse_attempt(attempt);
                self.refused.contains(*attempt)
                    || self.sink.stored(run).is_some_and(|stored| stored.number >= number)
            };
            let stored: Vec<&String> = attempts.iter().filter(is_stored).collect();
            if let Some(reply) = question.reply {
                broker::reply(self.broker, &reply, &serde_json::to_vec(&stored).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    pub(super) fn take_outcomes(&mut self, wait: Nanos) -> Result<()> {
        while let Some(message) = self.forwarded.next(Nanos::ZERO)? {
            // An outcome that is not ours either comes again from the log.
            if let Some(delivery) = forwarded(message) {
                self.take_outcome(&delivery)?;
            }
        }
        let mut wait = wait;
        loop {
            let consumer = match &mut self.outcomes {
                Some(consumer) => consumer,
                None => {
                    self.outcomes.insert(self.broker.consume(Log::Outcomes, "sink", None, REDELIVER_AFTER)?)
                }
            };
            let Some(delivery) = consumer.next(wait)? else { return Ok(()) };
            wait = Nanos::ZERO;
            if !self.take_outcome(&delivery)? {
                // The coordinator whose it is may be at work beside this one; otherwise it is delivered again.
                let subject = format!("{FORWARD}{}.{}", delivery.subject, delivery.token);
                self.broker.publish(&subject, &delivery.data)?;
            }
        }
    }

    /// Stores an outcome and confirms it. False: it is another coordinator's.
    fn take_outcome(&mut self, delivery: &Delivery) -> Result<bool> {
        // A message that cannot be read is no outcome, and cannot be stored.
        if let Ok(outcome) = serde_json::from_slice::<Outcome>(&delivery.data) {
            match self.origin(&outcome, &delivery.subject) {
                Origin::Ours => {}
                Origin::Another => return Ok(false),
                Origin::Forged(forgery) => {
                    // Its agent need not offer it any more.
                    if forgery.agent == outcome.agent {
                        self.refused.insert(outcome.id());
                    }
                    self.refuse(forgery)?;
                    return self.broker.done(delivery).map(|()| true);
                }
            }
            if self.is_new(&outcome)
                && let Err(why) = self.sink.store(&outcome)
            {
                // The outcome stays in the log and in the agent's spool, and is delivered again.
                let object = outcome.run;
                return Err(FleetError::Server { operation: "store the outcome of", object, why });
            }
            if self.wanted(&outcome.run).takes(outcome.number, matches!(outcome.end, End::Done { .. })) {
                self.ledger.end(&outcome.run, state_of(&outcome));
                self.unsure.remove(&outcome.run);
            }
        }
        self.broker.done(delivery).map(|()| true)
    }

    /// Whether the sink has neither this attempt nor a later one; a result takes the place of a report that there is none.
    fn is_new(&self, outcome: &Outcome) -> bool {
        self.sink.stored(&outcome.run).is_none_or(|Stored { number, end }| {
            let is_better = end == StoredEnd::Unmeasured && !outcome.unmeasured;
            number < outcome.number || is_better && number == outcome.number
        })
    }

    /// The server lets an agent append as itself alone; what it appends is held against the run that was planned or missed.
    fn origin(&self, outcome: &Outcome, subject: &str) -> Origin {
        let (planned, awaited) = (self.planned.get(&outcome.run), self.sink.awaited(&outcome.run));
        let found = origin(planned.or(awaited.as_ref()), outcome, subject, self.check);
        // An earlier attempt without an outcome may have had a different request: another length of the test.
        match (&found, planned.and(awaited.as_ref())) {
            (Origin::Forged(_), Some(earlier)) if outcome.number <= earlier.number.max(1) => {
                match origin(Some(earlier), outcome, subject, self.check) {
                    Origin::Ours => Origin::Ours,
                    _ => found,
                }
            }
            _ => found,
        }
    }

    /// Notes a forged outcome. Nothing else will come of a run whose own agent forged it.
    fn refuse(&mut self, forgery: Forgery) -> Result<()> {
        let run = forgery.run.clone();
        let is_own = self.ledger.row(&run).is_some_and(|row| row.agent == forgery.agent);
        let missed = is_own && self.ledger.end(&run, RunState::Missed { reason: forgery.text() });
        self.forgeries.note(forgery);
        if missed { self.note_missed(run) } else { Ok(()) }
    }
}

fn state_of(outcome: &Outcome) -> RunState {
    let reason = match &outcome.end {
        End::Done { .. } => "",
        End::Void { reason, .. } | End::Failed { reason } => reason,
    };
    RunState::of_end(Stored::new(outcome).end, reason)
}

/// An outcome that another coordinator was given and that is not its own.
fn forwarded(message: Message) -> Option<Delivery> {
    let (agent, token) = message.subject.strip_prefix(FORWARD)?.split_once('.')?;
    Some(Delivery { subject: agent.to_owned(), token: token.to_owned(), data: message.data, attempt: 1 })
}

const REDELIVER_AFTER: Nanos = Nanos::from_secs(30);
/// Where coordinators give each other outcomes: `pm.forward.AGENT.` and by what the log knows the message.
pub(super) const FORWARD: &str = "pm.forward.";
