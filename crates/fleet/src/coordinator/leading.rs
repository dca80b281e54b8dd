//! The lead among several coordinators, and what happens while this one does not have it.

use super::Coordinator;
use crate::error::{FleetError, Result};
use crate::lease::{About, Acquired, COORDINATOR, Claim, Class, Holder, Lease, Renewal, Renewed, holder};
use crate::lease::{stop_waiting, wait};
use crate::ledger::{Ledger, LedgerRow, RunState};
use model::agent::WaitingRun;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;

pub(super) enum Leadership {
    Standby(Standby),
    Leading(Lease, Renewal),
}

/// State of a coordinator that is not at work.
#[derive(Default)]
pub(super) struct Standby {
    again_at: MonoTime,
    attempts: u64,
    pub(super) why: Why,
    /// Since when it waits for another coordinator.
    since: Option<WallTime>,
    /// The revision of the key that shows this.
    shown: Option<u64>,
}

/// The reason why it waits.
#[derive(Default)]
pub(super) enum Why {
    #[default]
    Begins,
    /// Another coordinator holds this resource.
    Another(String),
    /// The server fails, since then.
    Server(String, MonoTime),
}

impl Coordinator<'_> {
    /// Whether this is the one coordinator at work on its mesh, and no other has exclusive runs on the same resources.
    pub(super) fn lead(&mut self) -> Result<bool> {
        let clock = || self.clock.mono();
        match &mut self.leadership {
            Leadership::Leading(lease, renewal) => {
                let (is_due, until) = (clock() >= lease.renew_at(), lease.until);
                let renewed = if is_due { lease.renew(self.broker, renewal, &clock)? } else { Renewed::Held };
                if renewed == Renewed::Lost || !lease.is_held(clock()) {
                    if renewed == Renewed::Lost && clock() < until {
                        // The server lost its leases: those who work under one find that out in this time.
                        self.quiet_until = clock() + LEADERSHIP;
                    }
                    self.step_down();
                    return Ok(false);
                }
                Ok(true)
            }
            Leadership::Standby(standby) if clock() < standby.again_at => Ok(false),
            Leadership::Standby(_) => {
                let led = self.try_to_lead();
                if let (Err(error), Leadership::Standby(standby)) = (&led, &mut self.leadership) {
                    let since = match standby.why {
                        Why::Server(_, since) => since,
                        _ => self.clock.mono(),
                    };
                    standby.why = Why::Server(error.brief(), since);
                }
                led
            }
        }
    }

    fn try_to_lead(&mut self) -> Result<bool> {
        let clock = || self.clock.mono();
        let Leadership::Standby(standby) = &mut self.leadership else { return Ok(true) };
        standby.attempts += 1;
        standby.again_at = clock() + TRY_TO_LEAD_EVERY;
        let name = format!("{}-{}-{}", self.name, self.clock.wall().0, standby.attempts);
        let holder = holder(COORDINATOR, &name);
        let about = About { title: format!("the mesh {}", self.plan.name), since: self.clock.wall() };
        let claim = Claim {
            group: holder.clone(),
            holder,
            run: String::new(),
            grant: String::new(),
            class: Class::Exclusive,
            resources: self.claims.clone(),
            lifetime: LEADERSHIP,
            about,
        };
        match Lease::acquire(self.broker, claim, &clock)? {
            Acquired::Held(lease) => {
                if let Some(revision) = standby.shown {
                    stop_waiting(self.broker, &self.name, revision);
                }
                self.leadership = Leadership::Leading(lease, Renewal::default());
                // Runs that were handed out before are found again in the sink, or handed out anew.
                (self.ledger, self.handed_out) = (Ledger::default(), 0);
                self.unsure.clear();
                self.wake(self.plan.all().map(|run| &run.agent).collect())?;
            }
            Acquired::Blocked { resource, by } => {
                let since = *standby.since.get_or_insert(self.clock.wall());
                let title = format!("the mesh {}", self.plan.name);
                let (needs, why) = (vec![resource.clone()], format!("it is in use: {}", Holder::list(&by)));
                standby.why = Why::Another(resource);
                let waiting = WaitingRun { title, needs, why, since };
                standby.shown = Some(wait(self.broker, &self.name, &waiting, LEADERSHIP)?);
            }
            Acquired::NotGranted => {}
        }
        Ok(self.is_leading())
    }

    /// Another one may be at work: of what was handed out it is not known how it ends.
    fn step_down(&mut self) {
        self.leadership = Leadership::Standby(Standby::default());
        let open = self.ledger.rows().filter(|(_, row)| !row.state.is_final());
        self.unsure.extend(open.map(|(run, row)| (run.to_owned(), row.clone())));
        (self.ledger, self.handed_out) = (Ledger::default(), 0);
        self.waiting.clear();
    }

    /// Deadlines end runs also while no coordinator can take their outcomes; and all of them, when the server fails for longer than the
    /// whole mesh takes.
    pub(super) fn wait_in_vain(&mut self) -> Result<()> {
        let Leadership::Standby(standby) = &self.leadership else { return Ok(()) };
        let now = self.clock.wall();
        let (why, is_over) = match &standby.why {
            Why::Server(why, since) => {
                let longest = self.plan.duration().saturating_add(self.plan.grace);
                (why.clone(), self.clock.mono() - *since > longest)
            }
            Why::Another(_) => ("another coordinator is at work".to_owned(), false),
            Why::Begins => return Ok(()),
        };
        let late = self.unsure.iter().filter(|(_, row)| is_over || now > row.deadline);
        let late: Vec<_> = late.map(|(run, row)| (run.clone(), row.clone())).collect();
        for (run, row) in late {
            self.unsure.remove(&run);
            self.miss(&run, row, &format!("nothing came by its deadline: {why}"))?;
        }
        if is_over && !self.has_given_up {
            self.has_given_up = true;
            for run in self.plan.all().cloned().collect::<Vec<_>>() {
                let name = &run.job.run;
                if !self.is_answered(name) && self.ledger.row(name).is_none() {
                    let row = self.expected(&run, now);
                    self.miss(name, row, &format!("it was not handed out: {why}"))?;
                }
            }
        }
        Ok(())
    }

    /// Notes that nothing came of a run.
    pub(super) fn miss(&mut self, run: &str, row: LedgerRow, why: &str) -> Result<()> {
        self.ledger.expect(run, row);
        self.ledger.end(run, RunState::Missed { reason: why.to_owned() });
        self.note_missed(run.to_owned())
    }

    /// The reason why it waits; `None`: it is at work.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        let standby = match &self.leadership {
            Leadership::Leading(..) => return self.failure.clone(),
            Leadership::Standby(standby) => standby,
        };
        Some(match &standby.why {
            Why::Server(why, _) => why.clone(),
            Why::Another(resource) if resource.starts_with("coordinator.") => {
                "another coordinator is at work on this mesh".to_owned()
            }
            Why::Another(resource) => {
                let resource = resource.trim_start_matches("mesh.");
                let label = self.labels.get(resource).map_or(resource, String::as_str);
                format!("another coordinator is at work, with exclusive runs on {label}")
            }
            Why::Begins => return self.failure.clone(),
        })
    }

    /// After an error that shows that the store is gone: it is made anew, and so are the consumers.
    pub(super) fn recover(&mut self, error: &FleetError) -> Result<()> {
        if !error.is_of_a_lost_store() {
            return Ok(());
        }
        self.outcomes = None;
        let FleetError::NoStream { .. } = error else { return Ok(()) };
        match self.broker.restore() {
            Err(error) if !error.may_pass() => Err(error),
            _ => Ok(()),
        }
    }
}

const TRY_TO_LEAD_EVERY: Nanos = Nanos::from_secs(2);
const LEADERSHIP: Nanos = Nanos::from_secs(15);
