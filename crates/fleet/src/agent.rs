//! The agent's loop: it reports that it is there, takes jobs, holds their leases while it carries them out, and keeps outcomes
//! until the sink has them.
//!
//! [`Agent::step`] does what is due and returns when to call it again, so that simulated time can drive it; it never blocks
//! longer than the broker does. A [`Runner`] measures: [`Threads`] calls a closure in a thread of its own.

mod command;
mod name;
mod permit;
mod prepared;
mod status;
mod threads;
mod work;

pub use command::{Answer, Command, StoppedRun};
pub use name::{Instance, at_work, is_there};
pub use permit::Permit;
pub use threads::{Answers, Measured, Start, Threads, Work};

use crate::broker::{Broker, Bucket, Consumer, Expected, Log, Mailbox};
use crate::clock::Clock;
use crate::error::{Result, check_name};
use crate::job::{AgentJob, Outcome};
use crate::spool::Spool;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use name::Name;
use prepared::Prepared;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use work::{Active, Context};

/// Carries jobs out.
pub trait Runner {
    /// Begins a job, now or at a time of this host's wall clock. It must end soon after its permit is no longer valid.
    fn start(&self, job: &AgentJob, at: Option<WallTime>, permit: &Arc<Permit>) -> Box<dyn Task>;

    /// Answers a question that only the program understands, at once; absent: it knows no such question.
    fn answer(&self, _question: &str) -> Option<String> {
        None
    }
}

/// A job that is carried out.
pub trait Task {
    /// The result, once the task has ended.
    fn poll(&mut self) -> Option<TaskEnd>;
    /// When to look again.
    fn look_after(&self) -> Nanos {
        Nanos::from_millis(50)
    }
}

/// The result of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEnd {
    /// Its true begin.
    pub started: WallTime,
    /// Its end.
    pub finished: WallTime,
    /// When it used what it held last, by the clock that leases go by.
    pub ended: MonoTime,
    /// The result, or why there is none.
    pub result: std::result::Result<String, String>,
}

/// Identity and settings of an agent.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Its name, which no other agent of the mesh has.
    pub name: String,
    /// The process that has this name.
    pub instance: Instance,
    /// Its report about itself, an object: interfaces, capabilities, whether it listens.
    pub inventory: Value,
    /// How many jobs it carries out at once.
    pub jobs: usize,
    /// How long the leases of its jobs outlive its last heartbeat: at least 3 s.
    pub lease: Nanos,
}

impl AgentOptions {
    /// An agent with nothing to report, eight jobs at once and leases of 15 s.
    #[must_use]
    pub fn named(name: impl Into<String>) -> AgentOptions {
        let inventory = Value::Object(serde_json::Map::new());
        let name = name.into();
        let instance = Instance { id: name.clone(), host: String::new() };
        AgentOptions { name, instance, inventory, jobs: 8, lease: Nanos::from_secs(15) }
    }
}

/// An agent at work.
pub struct Agent<'a> {
    context: Context<'a>,
    spool: Spool,
    name: Name,
    commands: Box<dyn Mailbox>,
    starts: Box<dyn Mailbox>,
    jobs: Option<Box<dyn Consumer>>,
    active: Vec<Active>,
    prepared: Vec<Prepared>,
    report_at: MonoTime,
    deliver_at: MonoTime,
    /// How often outcomes were offered since one was last added or stored.
    offers: u32,
    /// Runs that were stopped, and when their jobs were handed out.
    stopped: BTreeMap<String, WallTime>,
    /// The question to the sink that is not answered yet.
    asked: Option<Box<dyn Mailbox>>,
    claims: u64,
    failure: Option<String>,
    /// The last failure, and when it was.
    last_failure: Option<(WallTime, String)>,
    /// When a run ended last.
    last_end: Option<WallTime>,
}

impl<'a> Agent<'a> {
    /// An agent that listens for commands; it takes jobs from the first step on.
    ///
    /// # Errors
    /// The name cannot be one, or the broker does not permit it to this key.
    pub fn new(
        options: AgentOptions,
        broker: &'a dyn Broker,
        clock: &'a dyn Clock,
        runner: &'a dyn Runner,
        spool: Spool,
    ) -> Result<Agent<'a>> {
        check_name("an agent", &options.name)?;
        let commands = broker.subscribe(&format!("pm.cmd.{}", options.name))?;
        let starts = broker.subscribe("pm.go.>")?;
        let name = Name::new(&options.name, options.instance.clone());
        Ok(Agent {
            context: Context { options, broker, clock, runner, quiet_until: MonoTime::ZERO },
            name,
            spool,
            commands,
            starts,
            jobs: None,
            active: Vec::new(),
            prepared: Vec::new(),
            report_at: MonoTime::ZERO,
            deliver_at: MonoTime::ZERO,
            offers: 0,
            stopped: BTreeMap::new(),
            asked: None,
            claims: 0,
            failure: None,
            last_failure: None,
            last_end: None,
        })
    }

    /// Does what is due, and returns when something will be next. A broker that is out of reach is tried again: jobs go on
    /// while their leases are held, and outcomes wait in the spool.
    ///
    /// # Errors
    /// The broker does not permit something.
    pub fn step(&mut self) -> Result<MonoTime> {
        self.failure = None;
        self.spool.catch_up();
        let outcomes = [
            self.hold_name(),
            self.report(),
            self.obey(Nanos::ZERO),
            self.go(),
            self.take(),
            self.work(),
            self.deliver(),
        ];
        for outcome in outcomes {
            match outcome {
                Ok(()) => {}
                Err(error) if error.may_pass() => self.failure = Some(error.brief()),
                Err(error) => return Err(error),
            }
        }
        self.failure = self.spool.failure().map(ToString::to_string).or(self.failure.take());
        if let Some(failure) = &self.failure {
            let is_new = self.last_failure.as_ref().is_none_or(|(_, last)| last != failure);
            // A failure that just began is reported at once.
            self.report_at = if is_new { self.context.clock.mono() } else { self.report_at };
            self.last_failure = Some((self.context.clock.wall(), failure.clone()));
        }
        Ok(self.due())
    }

    /// Waits for a command, at most until `due` and a second.
    ///
    /// # Errors
    /// Those of [`Agent::step`].
    pub fn rest(&mut self, due: MonoTime) -> Result<()> {
        let wait = (due - self.context.clock.mono()).min(LONGEST_REST);
        match self.obey(wait) {
            Err(error) if error.may_pass() => Ok(()),
            outcome => outcome,
        }
    }

    /// Why the last step could not do all of it; it is tried again.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether it carries nothing out and has nothing to deliver.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.active.is_empty() && self.prepared.is_empty() && self.spool.pending().is_empty()
    }

    /// Ends what it carries out: those jobs are delivered again, and outcomes that are not delivered stay in the spool. The
    /// leases lapse by themselves, so that no other holder begins before the last packet is sent.
    pub fn stop(&mut self) {
        self.active.iter_mut().for_each(Active::abandon);
        self.prepared.iter_mut().for_each(Prepared::abandon);
        self.name.give_back(self.context.broker);
    }

    /// Two agents of one name would take each other's jobs: the second one waits until the first is gone.
    fn hold_name(&mut self) -> Result<()> {
        let held = self.name.hold(self.context.broker, &|| self.context.clock.mono());
        if self.name.take_loss() {
            self.context.quiet_until =
                self.context.clock.mono() + self.context.options.lease.max(USUAL_LEASE);
            self.deliver_soon();
        }
        held?;
        if let Some(host) = self.name.taken() {
            let name = &self.context.options.name;
            let at = if host.is_empty() { String::new() } else { format!(" on {host}") };
            self.failure = Some(format!(
                "another agent is called `{name}` and at work{at}: this one takes no jobs (name it apart with --name; the name of \
                 an agent that was killed is free after 30 s)"
            ));
        }
        Ok(())
    }

    fn has_name(&self) -> bool {
        self.name.is_held(self.context.clock.mono())
    }

    fn due(&self) -> MonoTime {
        let now = self.context.clock.mono();
        let work = self.active.iter().map(Active::due);
        let prepared = self.prepared.iter().map(|prepared| prepared.due(now));
        let fixed = [self.report_at.max(self.name.due()), self.name.due(), now + LONGEST_REST];
        let deliver = (!self.spool.pending().is_empty()).then_some(self.deliver_at);
        fixed.into_iter().chain(work).chain(prepared).chain(deliver).min().unwrap_or(now)
    }

    /// Publishes its inventory and status. The report stays when the agent is gone; only its name shows that the agent is
    /// there.
    fn report(&mut self) -> Result<()> {
        let now = self.context.clock.mono();
        if now < self.report_at || !self.has_name() {
            return Ok(());
        }
        self.report_at = now + REPORT_EVERY;
        let mut inventory = self.context.options.inventory.clone();
        let status = serde_json::to_value(self.status()).unwrap_or_default();
        for (key, value) in status.as_object().into_iter().flatten() {
            inventory[key] = value.clone();
        }
        let text = inventory.to_string();
        let name = &self.context.options.name;
        self.context.broker.put(Bucket::Agents, name, text.as_bytes(), Expected::Anything, None).map(|_| ())
    }

    /// Takes jobs while there is room.
    fn take(&mut self) -> Result<()> {
        let name = self.context.options.name.clone();
        while self.has_name() && self.active.len() < self.context.options.jobs {
            let consumer = match &mut self.jobs {
                Some(consumer) => consumer,
                None => {
                    let made = self.context.broker.consume(Log::Jobs, &name, Some(&name), REDELIVER_AFTER);
                    let made = made.inspect_err(|_| self.doubt())?;
                    // Where the store was lost, outcomes in the spool are offered again.
                    (self.deliver_at, self.offers) = (self.context.clock.mono(), 0);
                    self.jobs.insert(made)
                }
            };
            let delivery = match consumer.next(Nanos::ZERO) {
                Ok(Some(delivery)) => delivery,
                Ok(None) => break,
                Err(error) => {
                    if error.is_of_a_lost_store() {
                        self.jobs = None;
                        self.doubt();
                    }
                    return Err(error);
                }
            };
            let Ok(job) = serde_json::from_slice::<AgentJob>(&delivery.data) else {
                // The job cannot be carried out; its run is missed in the coordinator's ledger.
                self.context.broker.done(&delivery)?;
                continue;
            };
            if self.spool.answers(&job) || self.was_stopped(&job) {
                self.deliver_answer(&job)?;
                // Only what is on the disk is known after a crash.
                if self.spool.is_written() {
                    self.context.broker.done(&delivery)?;
                }
            } else if let Some(active) = self.active.iter_mut().find(|active| active.job.run == job.run) {
                active.delivered_again(job, delivery);
            } else {
                let now = (self.context.clock.mono(), self.context.clock.wall());
                self.active.push(Active::new(job, delivery, now));
            }
        }
        Ok(())
    }

    /// Brings every job on, and keeps what ended.
    fn work(&mut self) -> Result<()> {
        let mut active = std::mem::take(&mut self.active);
        let count = active.len();
        let mut outcome = Ok(());
        active.retain_mut(|each| match self.bring_on(each) {
            Ok(is_on) => is_on,
            Err(error) => {
                outcome = Err(error);
                true
            }
        });
        // A job that ended may have released a resource that another waits for.
        if active.len() < count {
            active.iter_mut().for_each(Active::try_now);
        }
        self.active = active;
        outcome
    }

    /// Whether the job is still to be carried out.
    fn bring_on(&mut self, active: &mut Active) -> Result<bool> {
        if let Some(ended) = active.bring_on(&self.context, &mut self.spool, &mut self.claims)? {
            if !active.is_stopped {
                self.keep(ended);
            }
            // When it is lost, the job is delivered again, and the spool knows its end.
            if self.spool.is_written() {
                let _ = self.context.broker.done(&active.delivery);
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// Sends a result once more that answers a later attempt: the coordinator has lost what it had of it. The log stores each name of
    /// a message once, and the first one was taken.
    fn deliver_answer(&self, job: &AgentJob) -> Result<()> {
        let Some(outcome) = self.spool.pending_answer(job).filter(|outcome| outcome.number < job.number)
        else {
            return Ok(());
        };
        let id = format!("{}>{}", outcome.id(), job.number);
        let text = serde_json::to_vec(outcome).unwrap_or_default();
        self.context.broker.append(Log::Outcomes, &self.context.options.name, &id, &text).map(|_| ())
    }

    /// The store may be gone: until its name shows whether it is, no run begins.
    fn doubt(&mut self) {
        self.name.doubt();
        self.context.quiet_until = self.context.quiet_until.max(self.context.clock.mono() + LONGEST_REST);
    }

    fn keep(&mut self, outcome: Outcome) {
        self.last_end = Some(outcome.finished);
        self.spool.finish(outcome);
        self.deliver_soon();
    }

    /// Offers outcomes now, and then as often as at first.
    fn deliver_soon(&mut self) {
        (self.deliver_at, self.offers) = (self.context.clock.mono(), 0);
    }

    /// Hands outcomes to the broker, and queries the sink for those that it has, less often the longer none is taken. Outcomes
    /// that were not taken within a week are put aside.
    fn deliver(&mut self) -> Result<()> {
        self.hear_the_sink()?;
        let now = self.context.clock.mono();
        if self.spool.pending().is_empty() || now < self.deliver_at {
            return Ok(());
        }
        // An outcome that was offered once is stored by the broker, so that a clock that was corrected meanwhile loses nothing.
        if self.offers > 0 {
            self.spool.lapse(self.context.clock.wall(), LAPSES_AFTER)?;
        }
        // An outcome that the broker does not accept, as it is out of reach or full, counts as not offered.
        self.deliver_at = now + DELIVER_EVERY;
        for outcome in self.spool.pending() {
            let text = serde_json::to_vec(outcome).unwrap_or_default();
            self.context.broker.append(Log::Outcomes, &self.context.options.name, &outcome.id(), &text)?;
        }
        self.deliver_at = now + offer_after(self.offers);
        self.offers = self.offers.saturating_add(1);
        let runs: Vec<String> = self.spool.pending().iter().map(Outcome::id).collect();
        let question = Value::from(runs).to_string();
        self.asked = Some(self.context.broker.request(SINK, question.as_bytes())?);
        Ok(())
    }

    /// The sinks' answers: the runs that they have. Each coordinator at work answers for its own runs; without one there is no
    /// answer.
    fn hear_the_sink(&mut self) -> Result<()> {
        while let Some(mailbox) = &mut self.asked {
            match mailbox.next(Nanos::ZERO) {
                Ok(None) => return Ok(()),
                Ok(Some(message)) => {
                    let runs: Vec<String> = serde_json::from_slice(&message.data).unwrap_or_default();
                    runs.iter().for_each(|run| self.spool.stored(run));
                }
                Err(error) if error.is_transient() => self.asked = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// How long after one offer the next one is made.
fn offer_after(offers: u32) -> Nanos {
    DELIVER_EVERY.saturating_mul(1 << offers.min(16)).min(DELIVER_SELDOM)
}

/// Where agents ask which runs the sink has.
pub(crate) const SINK: &str = "pm.sink";
const REPORT_EVERY: Nanos = Nanos::from_secs(10);
/// How old the last sign of an agent can be that still counts as there.
pub const REPORT_LIVES: Nanos = name::LIVES;
const DELIVER_EVERY: Nanos = Nanos::from_secs(5);
const DELIVER_SELDOM: Nanos = Nanos::from_secs(600);
/// The time for which the server keeps an outcome.
const LAPSES_AFTER: Nanos = Nanos::from_secs(7 * 86_400);
/// A job whose agent died is delivered again after so long.
const REDELIVER_AFTER: Nanos = Nanos::from_secs(15);
const LONGEST_REST: Nanos = Nanos::from_secs(1);
/// The default lifetime of leases.
const USUAL_LEASE: Nanos = Nanos::from_secs(15);
