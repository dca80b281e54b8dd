//! One job: it waits for its lease, is carried out, and ends.

use super::{AgentOptions, Permit, Runner, Task, TaskEnd};
use crate::broker::{Broker, Delivery};
use crate::clock::Clock;
use crate::error::Result;
use crate::job::{AgentJob, End, Outcome};
use crate::lease::{About, Acquired, Claim, Holder, Lease, Renewal, Renewed, holder};
use crate::spool::Spool;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::sync::Arc;

/// The surroundings of a job.
pub(super) struct Context<'a> {
    pub(super) options: AgentOptions,
    pub(super) broker: &'a dyn Broker,
    pub(super) clock: &'a dyn Clock,
    pub(super) runner: &'a dyn Runner,
    /// No run begins before: the server lost its leases, and those who work under one find that out in this time.
    pub(super) quiet_until: MonoTime,
}

/// A job that was taken.
pub(super) struct Active {
    pub(super) job: AgentJob,
    pub(super) delivery: Delivery,
    /// No coordinator awaits it any more: it ends, and no result is kept.
    pub(super) is_stopped: bool,
    state: State,
    extend_at: MonoTime,
}

enum State {
    /// Its resources are not free, as far as is known.
    Waiting {
        again_at: MonoTime,
        since: WallTime,
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
    /// From when on others may have had what it holds; absent: it is held.
    lost_from: Option<MonoTime>,
    /// When it was last sure that it was held.
    confirmed: MonoTime,
    /// Why it is lost.
    lost_for: String,
    look_at: MonoTime,
}

impl Active {
    pub(super) fn new(job: AgentJob, delivery: Delivery, (now, since): (MonoTime, WallTime)) -> Active {
        let state = State::Waiting { again_at: now, since, why: String::new() };
        Active { job, delivery, is_stopped: false, state, extend_at: now + EXTEND_EVERY }
    }

    /// The same run came once more: by the same message, or by a later one that leaves it more time. To one that was stopped
    /// the later message comes again, when this one has ended.
    pub(super) fn delivered_again(&mut self, job: AgentJob, delivery: Delivery) {
        if self.is_stopped {
            return;
        }
        self.delivery = delivery;
        match &self.state {
            State::Waiting { .. } if job.number > self.job.number => self.job = job,
            _ => {
                // A new store has the grant of the later message alone.
                self.job.grant = job.grant;
                self.job.deadline = self.job.deadline.max(job.deadline);
            }
        }
    }

    /// The reason why it waits, and since when.
    pub(super) fn waits_for(&self) -> Option<(&str, WallTime)> {
        match &self.state {
            State::Waiting { why, since, .. } if !why.is_empty() => Some((why, *since)),
            _ => None,
        }
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
                Ok(ended.map(|(end, times)| outcome(&self.job, context, self.delivery.attempt, end, times)))
            }
            State::Waiting { .. } if self.is_stopped => {
                Ok(Some(self.unmeasured(context, "it was stopped".to_owned())))
            }
            State::Waiting { again_at, .. } if now < *again_at => Ok(None),
            State::Waiting { .. } => self.begin(context, spool, claims),
        }
    }

    /// Tries to get the lease, and begins.
    fn begin(&mut self, context: &Context, spool: &mut Spool, claims: &mut u64) -> Result<Option<Outcome>> {
        let wall = context.clock.wall();
        if wall > self.job.deadline {
            let reason = self.too_late(context, spool.was_begun(&self.job), wall);
            return Ok(Some(self.unmeasured(context, reason)));
        }
        if self.job.grant.is_empty() {
            return Ok(Some(self.unmeasured(context, UNGRANTED.to_owned())));
        }
        let now = context.clock.mono();
        if now < context.quiet_until {
            if let State::Waiting { again_at, why, .. } = &mut self.state {
                (*again_at, *why) = (context.quiet_until, LOST.to_owned());
            }
            return Ok(None);
        }
        *claims += 1;
        let claim = claim_of(&self.job, *claims, context);
        let (after, why) = match Lease::acquire(context.broker, claim, &|| context.clock.mono())? {
            Acquired::Held(lease) => match spool.begin(&self.job) {
                Ok(()) => {
                    self.state = State::Running(Running::start(context, &self.job, None, lease));
                    return Ok(None);
                }
                Err(error) => {
                    // A lease that cannot be given back lapses.
                    let _ = lease.release(context.broker);
                    (UNWRITTEN, error.to_string())
                }
            },
            Acquired::Blocked { by, .. } => {
                // A resource that this agent holds itself is tried again as soon as that job ends.
                let factor =
                    if by.iter().any(|holder| holder.owner() == context.options.name) { 8 } else { 1 };
                (backoff(&self.job.run, *claims).saturating_mul(factor), in_use(&by))
            }
            Acquired::NotGranted => (UNWRITTEN, NOT_GRANTED.to_owned()),
        };
        if let State::Waiting { again_at, why: last, .. } = &mut self.state {
            (*again_at, *last) = (now + after, why);
        }
        Ok(None)
    }

    /// Why a job is not carried out any more.
    fn too_late(&self, context: &Context, was_begun: bool, wall: WallTime) -> String {
        let (name, deadline) = (&context.options.name, self.job.deadline);
        if was_begun {
            return format!(
                "the agent {name} was interrupted in it, and was not back before its deadline {deadline}"
            );
        }
        let why = match &self.state {
            State::Waiting { why, .. } if !why.is_empty() => format!(": {why}"),
            _ => String::new(),
        };
        format!("its deadline {deadline} passed before it began{why} (clock of {name}: {wall})")
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

    /// The outcome of a job that was not carried out, for a reason of the fleet.
    fn unmeasured(&self, context: &Context, reason: String) -> Outcome {
        let wall = context.clock.wall();
        let (attempt, end) = (self.delivery.attempt, End::Failed { reason });
        Outcome { unmeasured: true, ..outcome(&self.job, context, attempt, end, (wall, wall, 0)) }
    }
}

/// The outcome of a job that was delivered so often.
pub(super) fn outcome(
    job: &AgentJob,
    context: &Context,
    attempt: u64,
    end: End,
    (started, finished, token): Times,
) -> Outcome {
    let (run, title, agent) = (job.run.clone(), job.title.clone(), context.options.name.clone());
    let number = job.number;
    Outcome { run, title, agent, end, started, finished, token, attempt, number, unmeasured: false }
}

/// When a run began and ended, and the fencing token of its lease.
type Times = (WallTime, WallTime, u64);

impl Running {
    pub(super) fn start(context: &Context, job: &AgentJob, at: Option<WallTime>, lease: Lease) -> Running {
        let permit = Arc::new(Permit::new(lease.until));
        let task = context.runner.start(job, at, &permit);
        let (renew_at, now) = (lease.renew_at(), context.clock.mono());
        Running {
            task,
            permit,
            lease,
            renewal: Renewal::default(),
            renew_at,
            lost_from: None,
            confirmed: now,
            lost_for: LEASE_LOST.to_owned(),
            look_at: now,
        }
    }

    pub(super) fn due(&self) -> MonoTime {
        self.look_at.min(self.renew_at)
    }

    /// Sends the heartbeat, and looks whether the task has ended. The lease must have been held when the task ended, however
    /// late that is noticed.
    pub(super) fn bring_on(&mut self, context: &Context) -> Result<Option<(End, Times)>> {
        let Some(TaskEnd { started, finished, ended, result }) = self.task.poll() else {
            self.keep_lease(context);
            self.look_at = context.clock.mono() + self.task.look_after();
            return Ok(None);
        };
        let token = self.lease.token();
        let is_due = self.lease.is_held(context.clock.mono());
        // A lease that cannot be released lapses.
        let released = self.lease.clone().release(context.broker);
        // Somebody took it away before its time, and it was not noticed yet.
        let is_gone = is_due && matches!(released, Ok(false)) && self.lease.is_taken_off(context.broker);
        let was_held = !is_gone && ended < self.lost_from.unwrap_or(self.lease.until);
        let reason = self.lost_for.clone();
        let end = match result {
            Ok(body) if was_held => End::Done { body },
            Ok(body) => End::Void { reason, body },
            Err(reason) if was_held => End::Failed { reason },
            Err(_) => End::Void { reason, body: String::new() },
        };
        Ok(Some((end, (started, finished, token))))
    }

    fn keep_lease(&mut self, context: &Context) {
        let clock = || context.clock.mono();
        if self.lost_from.is_some() {
            return;
        }
        let until = self.lease.until;
        if clock() >= self.renew_at {
            let sent = clock();
            let renewed = self.lease.renew(context.broker, &mut self.renewal, &clock);
            // A heartbeat without an answer is repeated soon; the lease itself has the time until which it is held.
            let soon = clock() + Nanos(self.lease.lifetime.0 / 12);
            self.renew_at = if matches!(renewed, Ok(Renewed::Held)) { self.lease.renew_at() } else { soon };
            match renewed {
                Ok(Renewed::Held) => self.confirmed = sent,
                Ok(Renewed::Lost) if clock() < until => {
                    // Somebody took it away before its time: when, is not known.
                    self.lost_from = Some(self.confirmed);
                    let freed = self.lease.freed_for(context.broker);
                    self.lost_for = freed.map_or(self.lost_for.clone(), |why| format!("lease freed: {why}"));
                }
                _ => {}
            }
            self.permit.extend(self.lease.until);
        }
        if self.lost_from.is_none() && !self.lease.is_held(clock()) {
            self.lost_from = Some(until.max(self.lease.until));
        }
        if self.lost_from.is_some() {
            self.permit.revoke();
        }
    }

    pub(super) fn abandon(&self) {
        self.permit.revoke();
    }
}

/// The claim of a job, the agent's `number`th.
pub(super) fn claim_of(job: &AgentJob, number: u64, context: &Context) -> Claim {
    let name = format!("{}-{}-{number}", job.run, context.clock.wall().0);
    let holder = holder(&context.options.name, &name);
    let (run, grant) = (job.run.clone(), job.grant.clone());
    let group = if job.group.is_empty() { holder.clone() } else { job.group.clone() };
    let about =
        About { title: format!("{} by {}", job.title, context.options.name), since: context.clock.wall() };
    let (class, resources, lifetime) = (job.class, job.resources.clone(), context.options.lease);
    Claim { holder, run, grant, group, class, resources, lifetime, about }
}

/// Others have what a job needs.
pub(super) fn in_use(by: &[Holder]) -> String {
    match by {
        [] => "others come and go on what it needs".to_owned(),
        by => format!("what it needs is in use: {}", Holder::list(by)),
    }
}

/// A quarter of a second to three quarters, another time for each run and attempt.
fn backoff(run: &str, attempt: u64) -> Nanos {
    let mixed = run
        .bytes()
        .fold(attempt.wrapping_mul(0x9E37_79B9), |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
    Nanos::from_millis(250 + mixed % 500)
}

/// Why no run begins.
pub(super) const LOST: &str = "the server lost its leases: runs under them end first";
const LEASE_LOST: &str = "lease lost";
/// Why a job waits whose grant is not there: a coordinator that leads writes it.
pub(super) const NOT_GRANTED: &str = "its coordinator grants it no lease now";
/// Why a job of an earlier version is not carried out.
pub(super) const UNGRANTED: &str =
    "its coordinator is of an earlier version, which grants no leases: update the coordinator";
/// How long after a write that the disk did not take the next is tried.
const UNWRITTEN: Nanos = Nanos::from_secs(2);
const EXTEND_EVERY: Nanos = Nanos::from_secs(5);
