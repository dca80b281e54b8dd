//! One job on its way: wait for its lease, carry it out, end.

use super::{Permit, Runner, Task, TaskEnd};
use crate::broker::{Broker, Delivery};
use crate::clock::Clock;
use crate::error::Result;
use crate::job::{AgentJob, End, Outcome};
use crate::lease::{Acquired, Claim, Lease, Renewal, Renewed};
use crate::spool::Spool;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::sync::Arc;

/// What a job is brought on with.
pub(super) struct Context<'a> {
    pub(super) name: &'a str,
    pub(super) lease: Nanos,
    pub(super) broker: &'a dyn Broker,
    pub(super) clock: &'a dyn Clock,
    pub(super) runner: &'a dyn Runner,
}

/// A job that was taken.
pub(super) struct Active {
    pub(super) job: AgentJob,
    pub(super) delivery: Delivery,
    /// Nobody awaits it any more: it ends, and nothing is kept of it.
    pub(super) is_stopped: bool,
    state: State,
    extend_at: MonoTime,
}

enum State {
    /// Its resources are not free, as far as is known.
    Waiting {
        again_at: MonoTime,
        why: String,
    },
    Running(Running),
}

/// A task under its lease.
pub(super) struct Running {
    task: Box<dyn Task>,
    permit: Arc<Permit>,
    lease: Lease,
    renewal: Renewal,
    renew_at: MonoTime,
    is_lost: bool,
    look_at: MonoTime,
}

impl Active {
    pub(super) fn new(job: AgentJob, delivery: Delivery, now: MonoTime) -> Active {
        let state = State::Waiting { again_at: now, why: String::new() };
        Active { job, delivery, is_stopped: false, state, extend_at: now + EXTEND_EVERY }
    }

    /// The same run came once more: by the same message, or by a later one that leaves it more time. To one that was stopped
    /// the later message comes again, when this one has ended.
    pub(super) fn delivered_again(&mut self, job: AgentJob, delivery: Delivery) {
        if self.is_stopped {
            return;
        }
        self.job.deadline = self.job.deadline.max(job.deadline);
        self.delivery = delivery;
    }

    /// When it needs attention.
    pub(super) fn due(&self) -> MonoTime {
        match &self.state {
            State::Waiting { again_at, .. } => *again_at,
            State::Running(running) => running.due(),
        }
    }

    /// Does what is due; returns the outcome when it has ended.
    pub(super) fn bring_on(
        &mut self,
        context: &Context,
        spool: &mut Spool,
        claims: &mut u64,
    ) -> Result<Option<Outcome>> {
        let now = context.clock.mono();
        if now >= self.extend_at {
            self.extend_at = now + EXTEND_EVERY;
            // When it is lost, the job is delivered again, and is known.
            let _ = context.broker.extend(&self.delivery);
        }
        match &mut self.state {
            State::Running(running) => {
                let ended = running.bring_on(context)?;
                Ok(ended.map(|(end, task)| self.outcome(context, end, task.0, task.1, task.2)))
            }
            State::Waiting { .. } if self.is_stopped => {
                let (wall, reason) = (context.clock.wall(), "it was stopped".to_owned());
                Ok(Some(self.outcome(context, End::Failed { reason }, wall, wall, 0)))
            }
            State::Waiting { again_at, .. } if now < *again_at => Ok(None),
            State::Waiting { why, .. } => {
                let why = std::mem::take(why);
                self.begin(context, spool, claims, &why)
            }
        }
    }

    /// Tries to get the lease, and begins.
    fn begin(
        &mut self,
        context: &Context,
        spool: &mut Spool,
        claims: &mut u64,
        why: &str,
    ) -> Result<Option<Outcome>> {
        let wall = context.clock.wall();
        if wall > self.job.deadline {
            let why = if why.is_empty() { String::new() } else { format!(": {why}") };
            let reason = format!(
                "its deadline {} passed before it began{why} (clock of {}: {wall})",
                self.job.deadline, context.name
            );
            return Ok(Some(self.outcome(context, End::Failed { reason }, wall, wall, 0)));
        }
        *claims += 1;
        let holder = format!("{}-{}-{}-{claims}", context.name, self.job.run, wall.0);
        let claim = claim_of(&self.job, holder, context.lease);
        let now = context.clock.mono();
        self.state = match Lease::acquire(context.broker, claim, &|| context.clock.mono())? {
            Acquired::Held(lease) => {
                spool.begin(&self.job.run)?;
                State::Running(Running::start(context, &self.job, None, lease))
            }
            Acquired::Blocked { resource, by } => {
                // What this agent holds itself, it tries again as soon as that ends.
                let own = format!("{}-", context.name);
                let factor = if by.iter().any(|holder| holder.starts_with(&own)) { 8 } else { 1 };
                let again_at = now + backoff(&self.job.run, *claims).saturating_mul(factor);
                State::Waiting { again_at, why: format!("{resource} is in use by {}", by.join(", ")) }
            }
        };
        Ok(None)
    }

    /// Something was given back: it need not wait on.
    pub(super) fn try_now(&mut self) {
        if let State::Waiting { again_at, .. } = &mut self.state {
            *again_at = MonoTime::ZERO;
        }
    }

    pub(super) fn abandon(&mut self) {
        if let State::Running(running) = &self.state {
            running.abandon();
        }
    }

    /// Ends it; its lease is given back when the task has ended.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.abandon();
        self.try_now();
    }

    fn outcome(
        &self,
        context: &Context,
        end: End,
        started: WallTime,
        finished: WallTime,
        token: u64,
    ) -> Outcome {
        let (run, title, agent) = (self.job.run.clone(), self.job.title.clone(), context.name.to_owned());
        Outcome { run, title, agent, end, started, finished, token, attempt: self.delivery.attempt }
    }
}

/// When a run began and ended, and the fencing token of its lease.
type Times = (WallTime, WallTime, u64);

impl Running {
    pub(super) fn start(context: &Context, job: &AgentJob, at: Option<WallTime>, lease: Lease) -> Running {
        let permit = Arc::new(Permit::new(lease.until));
        let task = context.runner.start(job, at, &permit);
        let renew_at = lease.renew_at();
        let look_at = context.clock.mono();
        Running { task, permit, lease, renewal: Renewal::default(), renew_at, is_lost: false, look_at }
    }

    pub(super) fn due(&self) -> MonoTime {
        self.look_at.min(self.renew_at)
    }

    /// Sends the heartbeat, and looks whether the task has ended.
    pub(super) fn bring_on(&mut self, context: &Context) -> Result<Option<(End, Times)>> {
        let clock = || context.clock.mono();
        if clock() >= self.renew_at && !self.is_lost {
            let renewed = self.lease.renew(context.broker, &mut self.renewal, &clock);
            // A heartbeat without an answer is sent again soon; the lease itself says until when it is held.
            let soon = clock() + Nanos(self.lease.lifetime.0 / 12);
            self.permit.extend(self.lease.until);
            self.renew_at = if matches!(renewed, Ok(Renewed::Held)) { self.lease.renew_at() } else { soon };
        }
        if !self.is_lost && !self.lease.is_held(clock()) {
            self.is_lost = true;
            self.permit.revoke();
        }
        let Some(TaskEnd { started, finished, result }) = self.task.poll() else {
            self.look_at = clock() + self.task.look_after();
            return Ok(None);
        };
        let was_held = !self.is_lost && self.lease.is_held(clock());
        let token = self.lease.token();
        // What cannot be given back lapses.
        let _ = self.lease.clone().release(context.broker);
        let end = match result {
            Ok(body) if was_held => End::Done { body },
            Ok(body) => End::Void { reason: LEASE_LOST.to_owned(), body },
            Err(reason) if was_held => End::Failed { reason },
            Err(_) => End::Void { reason: LEASE_LOST.to_owned(), body: String::new() },
        };
        Ok(Some((end, (started, finished, token))))
    }

    pub(super) fn abandon(&self) {
        self.permit.revoke();
    }
}

pub(super) fn claim_of(job: &AgentJob, holder: String, lifetime: Nanos) -> Claim {
    let group = if job.group.is_empty() { holder.clone() } else { job.group.clone() };
    Claim { holder, group, class: job.class, resources: job.resources.clone(), lifetime }
}

/// A quarter of a second to three quarters, another time for each run and attempt.
fn backoff(run: &str, attempt: u64) -> Nanos {
    let mixed = run
        .bytes()
        .fold(attempt.wrapping_mul(0x9E37_79B9), |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    Nanos::from_millis(250 + mixed % 500)
}

const LEASE_LOST: &str = "lease lost";
const EXTEND_EVERY: Nanos = Nanos::from_secs(5);
