//! The coordinator's loop: it hands out rounds, takes outcomes, and lets no run vanish in silence.
//!
//! It keeps nothing that it cannot find again: what is to be run follows from the plan, what was run from the sink, and who of
//! several coordinators is at work from a lease. So one that is killed is simply started anew.

mod forgery;

pub use forgery::{Check, Forgery};

use crate::agent::{Command, SINK, StoppedRun, is_there};
use crate::broker::{Broker, Bucket, Consumer, Delivery, Log, Mailbox, Message};
use crate::clock::Clock;
use crate::error::{FleetError, Result};
use crate::group::{self, Started};
use crate::job::{AgentJob, End, Outcome, run_name};
use crate::lease::{Acquired, Claim, Class, Lease, Renewal, Renewed, Resource};
use crate::ledger::{Ledger, LedgerRow, RunState};
use crate::mesh::{BESIDE, MeshPlan, PlannedRun, span_of};
use forgery::{Forgeries, Origin};
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where outcomes stay. What it has stored it never forgets, and storing the same run again changes nothing.
pub trait Sink {
    /// Whether it has the outcome of a run.
    fn has(&self, run: &str) -> bool;

    /// Stores an outcome; when this returns, it is safe.
    ///
    /// # Errors
    /// Why not; it is tried again.
    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String>;

    /// The row of a run whose outcome it awaits beside those of the plan at work. What nobody here awaits is left for the
    /// coordinator whose run it is.
    fn awaited(&self, _run: &str) -> Option<LedgerRow> {
        None
    }

    /// Notes that a mesh begins that was due then; when this returns, it is safe.
    ///
    /// # Errors
    /// Why not.
    fn begins(&mut self, _due: WallTime) -> std::result::Result<(), String> {
        Ok(())
    }

    /// Notes that nothing came of a run. Its outcome may still come.
    ///
    /// # Errors
    /// Why not.
    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String>;
}

/// A coordinator at work on one plan.
pub struct Coordinator<'a> {
    name: String,
    broker: &'a dyn Broker,
    clock: &'a dyn Clock,
    plan: MeshPlan,
    sink: &'a mut dyn Sink,
    ledger: Ledger,
    /// Rounds that were handed out.
    handed_out: usize,
    leadership: Leadership,
    /// What it holds while it is at work.
    claims: Vec<Resource>,
    /// What another coordinator holds of that.
    held_by_another: Option<String>,
    /// Runs that were handed out before it lost its leadership.
    unsure: BTreeSet<String>,
    questions: Box<dyn Mailbox>,
    outcomes: Option<Box<dyn Consumer>>,
    /// Outcomes that another coordinator was given.
    forwarded: Box<dyn Mailbox>,
    /// Each run of the plan, with its agent.
    planned: HashMap<String, LedgerRow>,
    check: Check,
    forgeries: Forgeries,
    /// Groups that are to start, and when that is tried again.
    waiting: Vec<(MonoTime, Vec<PlannedRun>)>,
    started: BTreeMap<String, Started>,
    look_at: MonoTime,
    failure: Option<String>,
}

enum Leadership {
    Standby { again_at: MonoTime, attempts: u64 },
    Leading(Lease, Renewal),
}

/// What a coordinator holds that works on the mesh of this name.
fn identity(mesh: &str) -> Resource {
    Resource::sole(format!("coordinator.{}", run_name(&[mesh])))
}

impl<'a> Coordinator<'a> {
    /// A coordinator, whose name no other one ever had. `check` holds results against their jobs.
    ///
    /// # Errors
    /// The broker cannot be reached, or does not permit it to this key.
    pub fn new(
        name: impl Into<String>,
        broker: &'a dyn Broker,
        clock: &'a dyn Clock,
        plan: MeshPlan,
        (sink, check): (&'a mut dyn Sink, Check),
    ) -> Result<Coordinator<'a>> {
        let planned = plan.all().map(planned).collect();
        let mut claims = plan.turns();
        claims.push(identity(&plan.name));
        Ok(Coordinator {
            planned,
            check,
            forgeries: Forgeries::default(),
            claims,
            held_by_another: None,
            unsure: BTreeSet::new(),
            name: name.into(),
            broker,
            clock,
            plan,
            sink,
            ledger: Ledger::default(),
            handed_out: 0,
            leadership: Leadership::Standby { again_at: MonoTime::ZERO, attempts: 0 },
            questions: broker.subscribe(SINK)?,
            outcomes: None,
            forwarded: broker.subscribe(&format!("{FORWARD}>"))?,
            waiting: Vec::new(),
            started: BTreeMap::new(),
            look_at: MonoTime::ZERO,
            failure: None,
        })
    }

    /// It will hand out runs that its plan does not have yet ([`Coordinator::go_on_with`]), and these are their turns
    /// ([`MeshPlan::turns`]).
    #[must_use]
    pub fn with_turns(mut self, turns: Vec<Resource>) -> Coordinator<'a> {
        self.claims.extend(turns);
        self
    }

    /// Does what is due, and returns when something will be next.
    ///
    /// # Errors
    /// What no second attempt mends: the broker does not permit something.
    pub fn step(&mut self) -> Result<MonoTime> {
        self.failure = None;
        match self.advance() {
            Ok(()) => {}
            Err(error) if error.may_pass() => {
                self.failure = Some(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(self.clock.mono() + STEP_EVERY)
    }

    /// Waits for an outcome, at most until `due`.
    ///
    /// # Errors
    /// As [`Coordinator::step`].
    pub fn rest(&mut self, due: MonoTime) -> Result<()> {
        let wait = due - self.clock.mono();
        let Leadership::Leading(..) = self.leadership else {
            return self.questions.next(wait).map(|_| ());
        };
        match self.take_outcomes(wait) {
            Err(error) if error.may_pass() => Ok(()),
            outcome => outcome,
        }
    }

    /// What is known of every run so far.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// How a group was started, by its name; `None`: it was not, or by another coordinator.
    #[must_use]
    pub fn started(&self, group: &str) -> Option<&Started> {
        self.started.get(group)
    }

    /// Goes on with this round. Those before are over, and what came of them is no longer in the ledger.
    pub fn go_on_with(&mut self, round: Vec<PlannedRun>) {
        self.plan.rounds.clear();
        (self.ledger, self.handed_out) = (Ledger::default(), 0);
        self.waiting.clear();
        self.planned.extend(round.iter().map(planned));
        self.plan.rounds.push(round);
    }

    /// The outcomes that were refused as forged since this was asked last, some of each agent.
    pub fn take_forgeries(&mut self) -> Vec<Forgery> {
        self.forgeries.take()
    }

    /// Whether it is the one at work.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        matches!(self.leadership, Leadership::Leading(..))
    }

    /// Whether every run has ended, or is missed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.handed_out >= self.plan.rounds.len()
            && self.ledger.is_complete()
            && self.plan.background.iter().all(|run| self.ledger.row(&run.job.run).is_some())
    }

    /// Why the last step could not do all of it; it is tried again.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// What it waits for; `None`: it is at work.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        let what = || match self.held_by_another.as_deref() {
            Some(resource) if resource.starts_with("coordinator.") => " on this mesh".to_owned(),
            Some(resource) => format!(", with exclusive runs on {}", resource.trim_start_matches("mesh.")),
            None => String::new(),
        };
        (!self.is_leading()).then(|| format!("another coordinator is at work{}", what()))
    }

    /// Gives up what has not ended: its agents end those runs, and the sink has each as missed for this reason; what was not handed
    /// out has a row, too. A coordinator of the same plan hands all of them out anew. An agent that does not confirm it within 2 s
    /// ends its run by itself.
    ///
    /// # Errors
    /// The sink cannot note it, or the broker does not permit it. One that is out of reach is no error: the rows say so.
    pub fn stop(&mut self, why: &str) -> Result<()> {
        let mut unreached = false;
        if self.is_leading() {
            match self.take_outcomes(Nanos::ZERO).and_then(|()| self.stop_agents()) {
                Err(error) if error.may_pass() => unreached = true,
                outcome => outcome?,
            }
        }
        let out_of_reach = format!(
            "{why} while the server could not be reached: what its agent measured comes with the next run of the same command"
        );
        for run in self.plan.all().cloned().collect::<Vec<_>>() {
            let name = run.job.run.clone();
            let reason = match self.ledger.row(&name) {
                Some(row) if row.state.is_final() => continue,
                None if self.sink.has(&name) => continue,
                Some(_) if unreached => &out_of_reach,
                None if self.unsure.contains(&name) => &out_of_reach,
                Some(_) => why,
                None => "stopped before it began",
            };
            let now = self.clock.wall();
            self.ledger.expect(&name, LedgerRow::expected(&run, now, now));
            self.ledger.end(&name, RunState::Missed { reason: reason.to_owned() });
            self.note_missed(name)?;
        }
        self.waiting.clear();
        Ok(())
    }

    /// Has agents end the runs that were handed out to them.
    fn stop_agents(&self) -> Result<()> {
        let mut of_agents: BTreeMap<String, Vec<StoppedRun>> = BTreeMap::new();
        for run in self.plan.all() {
            let row = self.ledger.row(&run.job.run).filter(|row| !row.state.is_final());
            let Some(row) = row else { continue };
            let stopped = StoppedRun { run: run.job.run.clone(), handed_out: row.due };
            of_agents.entry(run.agent.clone()).or_default().push(stopped);
        }
        let mut answers = Vec::new();
        for (agent, runs) in of_agents {
            let command = serde_json::to_vec(&Command::Stop(runs)).unwrap_or_default();
            answers.push(self.broker.request(&format!("pm.cmd.{agent}"), &command)?);
        }
        let end = self.clock.mono() + STOPS_WITHIN;
        for mut answer in answers {
            // Nobody there, or not in time: no second attempt would change it.
            let _ = answer.next(end - self.clock.mono());
        }
        Ok(())
    }

    /// Gives the work to another coordinator. Where the broker is out of reach, the lease lapses by itself.
    ///
    /// # Errors
    /// The broker does not permit it.
    pub fn resign(self) -> Result<()> {
        match self.leadership {
            Leadership::Leading(lease, _) => match lease.release(self.broker) {
                Err(error) if !error.may_pass() => Err(error),
                _ => Ok(()),
            },
            Leadership::Standby { .. } => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<()> {
        if !self.lead()? {
            return Ok(());
        }
        self.answer()?;
        self.take_outcomes(Nanos::ZERO)?;
        self.sweep()?;
        self.hand_out()?;
        self.start_groups()?;
        self.look()
    }

    /// Whether this is the one coordinator at work on its mesh, and no other has exclusive runs on the same resources.
    fn lead(&mut self) -> Result<bool> {
        let clock = || self.clock.mono();
        match &mut self.leadership {
            Leadership::Leading(lease, renewal) => {
                let is_due = clock() >= lease.renew_at();
                let renewed = if is_due { lease.renew(self.broker, renewal, &clock)? } else { Renewed::Held };
                if renewed == Renewed::Lost || !lease.is_held(clock()) {
                    self.leadership = Leadership::Standby { again_at: clock(), attempts: 0 };
                    let open = self.ledger.rows().filter(|(_, row)| !row.state.is_final());
                    self.unsure.extend(open.map(|(run, _)| run.to_owned()));
                    // Another one may be at work: what was handed out is found again in the sink.
                    (self.ledger, self.handed_out) = (Ledger::default(), 0);
                    self.waiting.clear();
                    return Ok(false);
                }
                Ok(true)
            }
            Leadership::Standby { again_at, .. } if clock() < *again_at => Ok(false),
            Leadership::Standby { again_at, attempts } => {
                *attempts += 1;
                *again_at = clock() + TRY_TO_LEAD_EVERY;
                let holder = format!("{}-{}-{attempts}", self.name, self.clock.wall().0);
                let claim = Claim {
                    group: holder.clone(),
                    holder,
                    class: Class::Exclusive,
                    resources: self.claims.clone(),
                    lifetime: LEADERSHIP,
                };
                self.held_by_another = None;
                match Lease::acquire(self.broker, claim, &clock)? {
                    Acquired::Held(lease) => {
                        self.leadership = Leadership::Leading(lease, Renewal::default());
                    }
                    Acquired::Blocked { resource, .. } => self.held_by_another = Some(resource),
                }
                Ok(self.is_leading())
            }
        }
    }

    /// Tells agents which of their runs the sink has.
    fn answer(&mut self) -> Result<()> {
        while let Some(question) = self.questions.next(Nanos::ZERO)? {
            let runs: Vec<String> = serde_json::from_slice(&question.data).unwrap_or_default();
            let stored: Vec<&String> = runs.iter().filter(|run| self.sink.has(run)).collect();
            if let Some(reply) = question.reply {
                self.broker.publish(&reply, &serde_json::to_vec(&stored).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    fn take_outcomes(&mut self, wait: Nanos) -> Result<()> {
        while let Some(message) = self.forwarded.next(Nanos::ZERO)? {
            // What is not ours either comes again from the log.
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
        // What cannot be read is no outcome, and nobody can store it.
        if let Ok(outcome) = serde_json::from_slice::<Outcome>(&delivery.data) {
            match self.origin(&outcome, &delivery.subject) {
                Origin::Ours => {}
                Origin::Another => return Ok(false),
                Origin::Forged(forgery) => {
                    self.refuse(forgery)?;
                    return self.broker.done(delivery).map(|()| true);
                }
            }
            if !self.sink.has(&outcome.run)
                && let Err(why) = self.sink.store(&outcome)
            {
                // It stays in the log and in the agent's spool, and is delivered again.
                let object = outcome.run;
                return Err(FleetError::Server { operation: "store the outcome of", object, why });
            }
            self.ledger.end(&outcome.run, state_of(&outcome));
        }
        self.broker.done(delivery).map(|()| true)
    }

    /// The server lets an agent append as itself alone; what it appends is held against the run that was planned or missed.
    fn origin(&self, outcome: &Outcome, subject: &str) -> Origin {
        let row = self.planned.get(&outcome.run).cloned().or_else(|| self.sink.awaited(&outcome.run));
        forgery::origin(row.as_ref(), outcome, subject, self.check)
    }

    /// Notes a forged outcome. Nothing else will come of a run whose own agent forged it.
    fn refuse(&mut self, forgery: Forgery) -> Result<()> {
        let run = forgery.run.clone();
        let is_own = self.ledger.row(&run).is_some_and(|row| row.agent == forgery.agent);
        let missed = is_own && self.ledger.end(&run, RunState::Missed { reason: forgery.text() });
        self.forgeries.note(forgery);
        if missed { self.note_missed(run) } else { Ok(()) }
    }

    fn sweep(&mut self) -> Result<()> {
        let late = self.ledger.sweep(self.clock.wall());
        late.into_iter().try_for_each(|run| self.note_missed(run))
    }

    fn note_missed(&mut self, run: String) -> Result<()> {
        let Some(row) = self.ledger.row(&run) else { return Ok(()) };
        let noted = self.sink.missed(&run, row);
        noted.map_err(|why| FleetError::Server { operation: "note as missed", object: run, why })
    }

    /// Hands each round out once the one before has ended, and beside them what disturbs nobody.
    fn hand_out(&mut self) -> Result<()> {
        while self.handed_out < self.plan.rounds.len() && self.is_round_over() {
            self.hand_out_runs(&self.plan.rounds[self.handed_out].clone())?;
            self.handed_out += 1;
        }
        let beside = self.next_beside();
        if beside.is_empty() { Ok(()) } else { self.hand_out_runs(&beside) }
    }

    /// The runs beside the rounds that are next: each agent has a few at a time.
    fn next_beside(&self) -> Vec<PlannedRun> {
        let mut at_work: HashMap<&str, usize> = HashMap::new();
        for run in &self.plan.background {
            let is_open = self.ledger.row(&run.job.run).is_some_and(|row| !row.state.is_final());
            *at_work.entry(&run.agent).or_default() += usize::from(is_open);
        }
        let mut next = Vec::new();
        for run in self.plan.background.iter().filter(|run| self.ledger.row(&run.job.run).is_none()) {
            let count = at_work.entry(&run.agent).or_default();
            if *count < BESIDE {
                *count += 1;
                next.push(run.clone());
            }
        }
        next
    }

    fn current_round(&self) -> &[PlannedRun] {
        let index = self.handed_out.checked_sub(1);
        index.and_then(|index| self.plan.rounds.get(index)).map_or(&[], Vec::as_slice)
    }

    fn is_round_over(&self) -> bool {
        let is_final =
            |run: &PlannedRun| self.ledger.row(&run.job.run).is_some_and(|row| row.state.is_final());
        self.current_round().iter().all(is_final)
    }

    fn hand_out_runs(&mut self, runs: &[PlannedRun]) -> Result<()> {
        let within = span_of(runs).saturating_add(self.plan.grace);
        let mut groups: BTreeMap<&str, Vec<PlannedRun>> = BTreeMap::new();
        for run in runs {
            self.hand_out_run(run, within)?;
            if !run.job.group.is_empty() {
                groups.entry(&run.job.group).or_default().push(run.clone());
            }
        }
        self.waiting.extend(groups.into_values().map(|runs| (MonoTime::ZERO, runs)));
        let agents: BTreeSet<&String> = runs.iter().map(|run| &run.agent).collect();
        let look = serde_json::to_vec(&Command::Look).unwrap_or_default();
        agents.into_iter().try_for_each(|agent| self.broker.publish(&format!("pm.cmd.{agent}"), &look))
    }

    fn hand_out_run(&mut self, run: &PlannedRun, within: Nanos) -> Result<()> {
        let now = self.clock.wall();
        let mut job = run.job.clone();
        let deadline = now + within;
        job.deadline = now + within.saturating_sub(job.span);
        job.handed_out = now;
        self.ledger.expect(&job.run, LedgerRow::expected(run, now, deadline));
        if self.sink.has(&job.run) {
            self.ledger.end(&job.run, RunState::Done);
            return Ok(());
        }
        if !job.group.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_vec(&job).unwrap_or_default();
        // After a restart it may be there already: a run is one message, but for one that was missed before.
        let id = if self.sink.awaited(&job.run).is_some() {
            format!("{}@{}", job.run, now.0)
        } else {
            job.run.clone()
        };
        self.broker.append(Log::Jobs, &run.agent, &id, &text).map(|_| ())
    }

    /// Starts groups whose agents are ready. What one of them lacks is tried again, until the runs are missed.
    fn start_groups(&mut self) -> Result<()> {
        let now = self.clock.mono();
        for (again_at, runs) in std::mem::take(&mut self.waiting) {
            let open: Vec<(String, AgentJob)> = runs
                .iter()
                .filter(|run| self.ledger.row(&run.job.run).is_some_and(|row| !row.state.is_final()))
                .map(|run| (run.agent.clone(), run.job.clone()))
                .collect();
            let Some((_, first)) = open.first() else { continue };
            if now < again_at {
                self.waiting.push((again_at, runs));
                continue;
            }
            match group::start(self.broker, self.clock, &open, LEAD) {
                Ok(started) => {
                    self.started.insert(first.group.clone(), started);
                    open.iter().for_each(|(agent, job)| self.ledger.running(&job.run, agent));
                }
                Err(error) if error.is_transient() || matches!(error, FleetError::Refused { .. }) => {
                    open.iter().for_each(|(_, job)| self.ledger.note(&job.run, &error.to_string()));
                    self.waiting.push((now + TRY_TO_START_EVERY, runs));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Notes which agents are not there, and which runs they work on, so that a missed run has its reason.
    fn look(&mut self) -> Result<()> {
        let now = self.clock.mono();
        if now < self.look_at {
            return Ok(());
        }
        self.look_at = now + LOOK_EVERY;
        let awaited: Vec<(String, String)> = self
            .current_round()
            .iter()
            .chain(&self.plan.background)
            .filter(|run| self.ledger.row(&run.job.run).is_some_and(|row| !row.state.is_final()))
            .map(|run| (run.agent.clone(), run.job.run.clone()))
            .collect();
        let mut reports: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        for (agent, run) in awaited {
            let at_work = match reports.get(&agent) {
                Some(known) => known,
                None => {
                    let report = match is_there(self.broker, &agent)? {
                        true => self.broker.get(Bucket::Agents, &agent)?.map(|entry| runs_of(&entry.value)),
                        false => None,
                    };
                    reports.entry(agent.clone()).or_insert(report)
                }
            };
            match at_work {
                None => self.ledger.note(&run, &format!("the agent {agent} has not been heard for 30 s")),
                Some(runs) if runs.contains(&run) => self.ledger.running(&run, &agent),
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// The row of a run before it is handed out, by its name.
fn planned(run: &PlannedRun) -> (String, LedgerRow) {
    (run.job.run.clone(), LedgerRow::expected(run, WallTime::default(), WallTime::default()))
}

/// The runs that an agent reports to work on.
fn runs_of(report: &[u8]) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_slice(report).unwrap_or_default();
    report["runs"].as_array().into_iter().flatten().filter_map(|run| Some(run.as_str()?.to_owned())).collect()
}

fn state_of(outcome: &Outcome) -> RunState {
    match &outcome.end {
        End::Done { .. } => RunState::Done,
        End::Void { reason, .. } => RunState::Void { reason: reason.clone() },
        End::Failed { reason } => RunState::Failed { reason: reason.clone() },
    }
}

/// An outcome that another coordinator was given and that is not its own.
fn forwarded(message: Message) -> Option<Delivery> {
    let (agent, token) = message.subject.strip_prefix(FORWARD)?.split_once('.')?;
    Some(Delivery { subject: agent.to_owned(), token: token.to_owned(), data: message.data, attempt: 1 })
}

/// From when all are ready to the common start: the message travels, and connections are opened.
const LEAD: Nanos = Nanos::from_secs(2);
const TRY_TO_START_EVERY: Nanos = Nanos::from_secs(1);
/// How long agents have to confirm that they end their runs.
const STOPS_WITHIN: Nanos = Nanos::from_secs(2);
const STEP_EVERY: Nanos = Nanos::from_millis(250);
const TRY_TO_LEAD_EVERY: Nanos = Nanos::from_secs(2);
const LEADERSHIP: Nanos = Nanos::from_secs(15);
const REDELIVER_AFTER: Nanos = Nanos::from_secs(30);
/// Where coordinators give each other outcomes: `pm.forward.AGENT.` and by what the log knows the message.
const FORWARD: &str = "pm.forward.";
const LOOK_EVERY: Nanos = Nanos::from_secs(10);
