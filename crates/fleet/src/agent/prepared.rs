//! A job of a group: it holds its leases and waits for the start.

use super::work::{Context, NOT_GRANTED, Running, UNGRANTED, claim_of, in_use, outcome};
use crate::job::{AgentJob, Outcome};
use crate::lease::{Acquired, Lease, Renewal};
use model::time::{MonoTime, WallTime};
use model::units::Nanos;

/// A job that is ready, or runs.
pub(super) struct Prepared {
    pub(super) job: AgentJob,
    /// No coordinator awaits it any more: it ends, and no result is kept.
    is_stopped: bool,
    state: State,
}

enum State {
    Ready { lease: Lease, renewal: Renewal, until: MonoTime },
    Running(Running),
    Over,
}

impl Prepared {
    /// Gets the leases, or returns why not.
    pub(super) fn new(job: AgentJob, number: u64, context: &Context) -> Result<Prepared, String> {
        if job.grant.is_empty() {
            return Err(UNGRANTED.to_owned());
        }
        let clock = || context.clock.mono();
        let claim = claim_of(&job, number, context);
        match Lease::acquire(context.broker, claim, &clock).map_err(|error| error.to_string())? {
            Acquired::Held(lease) => {
                let state =
                    State::Ready { lease, renewal: Renewal::default(), until: clock() + WAIT_FOR_START };
                Ok(Prepared { job, is_stopped: false, state })
            }
            Acquired::Blocked { by, .. } => Err(in_use(&by)),
            Acquired::NotGranted => Err(NOT_GRANTED.to_owned()),
        }
    }

    pub(super) fn due(&self, now: MonoTime) -> MonoTime {
        match &self.state {
            // The start comes apart from commands, for which an agent waits longer.
            State::Ready { .. } => now + LOOK_FOR_START,
            State::Running(running) => running.due(),
            State::Over => MonoTime::ZERO,
        }
    }

    /// Waits on after a repeated request: another agent was not ready.
    pub(super) fn wait_on(&mut self, now: MonoTime) {
        if let State::Ready { until, .. } = &mut self.state {
            *until = now + WAIT_FOR_START;
        }
    }

    /// Starts at a time of this host's wall clock.
    pub(super) fn start(&mut self, at: WallTime, context: &Context) {
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::Ready { lease, .. } => State::Running(Running::start(context, &self.job, Some(at), lease)),
            other => other,
        };
    }

    /// Does what is due; whether it goes on.
    pub(super) fn bring_on(&mut self, context: &Context, ended: &mut Vec<Outcome>) -> bool {
        let now = context.clock.mono();
        match &mut self.state {
            State::Ready { lease, renewal, until } => {
                if now >= lease.renew_at() {
                    let _ = lease.renew(context.broker, renewal, &|| context.clock.mono());
                }
                let is_on = now < *until && lease.is_held(now);
                if !is_on {
                    // No start came: the coordinator has given the group up, or is gone.
                    let _ = lease.clone().release(context.broker);
                }
                is_on
            }
            State::Running(running) => {
                let Ok(Some((end, times))) = running.bring_on(context) else { return true };
                let outcome = outcome(&self.job, context, 1, end, times);
                ended.extend((!self.is_stopped).then_some(outcome));
                false
            }
            State::Over => false,
        }
    }

    pub(super) fn abandon(&mut self) {
        if let State::Running(running) = &self.state {
            running.abandon();
        }
    }

    /// Ends it, or gives up to wait for the start.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.abandon();
        if let State::Ready { until, .. } = &mut self.state {
            *until = MonoTime::ZERO;
        }
    }
}

const LOOK_FOR_START: Nanos = Nanos::from_millis(20);
const WAIT_FOR_START: Nanos = Nanos::from_secs(20);
