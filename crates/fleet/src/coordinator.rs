//! The coordinator's loop: it hands out rounds, takes outcomes, and lets no run vanish in silence.
//!
//! The coordinator keeps no state that it cannot find again: the runs to make follow from the plan, the ended ones from the
//! sink, and a lease decides which of several coordinators is at work. So one that is killed is simply started anew.

mod attempts;
mod forgery;
mod hand_out;
mod leading;
mod outcomes;

pub use attempts::Again;
pub use forgery::{Check, Forgery};

use crate::agent::{Command, SINK, StoppedRun};
use crate::broker::{Broker, Consumer, Mailbox};
use crate::clock::Clock;
use crate::error::{FleetError, Result};
use crate::group::Started;
use crate::job::Outcome;
use crate::lease::Resource;
use crate::ledger::{Ledger, LedgerRow, Stored, StoredEnd};
use crate::mesh::{MeshPlan, PlannedRun};
use crate::name::run_name;
use attempts::Wanted;
use forgery::Forgeries;
use hand_out::Grant;
use leading::{Leadership, Standby};
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use outcomes::FORWARD;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where outcomes stay. A stored outcome is never removed, and storing the same run again changes nothing.
pub trait Sink {
    /// The latest attempt at a run that ended, as far as it is stored.
    fn stored(&self, run: &str) -> Option<Stored>;

    /// How many attempts at a run are known to have been made, also those of which nothing came.
    fn attempts(&self, run: &str) -> u32 {
        let missed = self.awaited(run).map_or(0, |row| row.number.max(1));
        self.stored(run).map_or(0, |stored| stored.number).max(missed)
    }

    /// Whether it has the result of a run, or why the path could not be measured.
    fn has(&self, run: &str) -> bool {
        self.stored(run).is_some_and(|stored| stored.end != StoredEnd::Unmeasured)
    }

    /// Stores an outcome; when this returns, it is safe.
    ///
    /// # Errors
    /// Why not; it is tried again.
    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String>;

    /// The row of a run whose outcome it awaits beside those of the plan at work. Other outcomes are left for the coordinator
    /// whose run it is.
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
#[must_use]
pub struct Coordinator<'a> {
    name: String,
    broker: &'a dyn Broker,
    clock: &'a dyn Clock,
    plan: MeshPlan,
    sink: &'a mut dyn Sink,
    ledger: Ledger,
    /// Rounds that were handed out.
    handed_out: usize,
    /// The grants of its agents for runs that have not ended.
    grants: Vec<Grant>,
    leadership: Leadership,
    /// The resources that it holds while it is at work.
    claims: Vec<Resource>,
    /// Resources as people know them.
    labels: BTreeMap<String, String>,
    /// Runs that were handed out before it lost its leadership.
    unsure: BTreeMap<String, LedgerRow>,
    /// The server failed for longer than the mesh takes.
    has_given_up: bool,
    /// The coordinator was stopped while the server did not answer.
    is_out_of_reach: bool,
    /// Nothing is handed out before: runs under leases that the server lost may go on until then.
    quiet_until: MonoTime,
    again: Again,
    /// The attempt at each run of the plan that is to be made.
    wanted: HashMap<String, Wanted>,
    questions: Box<dyn Mailbox>,
    outcomes: Option<Box<dyn Consumer>>,
    /// Outcomes that another coordinator was given.
    forwarded: Box<dyn Mailbox>,
    /// Each run of the plan, with its agent.
    planned: HashMap<String, LedgerRow>,
    check: Check,
    forgeries: Forgeries,
    /// Attempts whose outcomes were refused.
    refused: BTreeSet<String>,
    /// Groups that are to start, and when that is tried again.
    waiting: Vec<(MonoTime, Vec<PlannedRun>)>,
    started: BTreeMap<String, Started>,
    look_at: MonoTime,
    /// When keys of dead holders are removed next.
    sweep_at: MonoTime,
    failure: Option<String>,
}

/// The resource of a coordinator that works on the mesh of this name.
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
        let wanted = wanted(sink, plan.all(), Again::default());
        let mut claims = plan.turns();
        claims.push(identity(&plan.name));
        Ok(Coordinator {
            planned,
            check,
            forgeries: Forgeries::default(),
            refused: BTreeSet::new(),
            claims,
            labels: BTreeMap::new(),
            unsure: BTreeMap::new(),
            has_given_up: false,
            is_out_of_reach: false,
            quiet_until: MonoTime::ZERO,
            again: Again::default(),
            wanted,
            name: name.into(),
            broker,
            clock,
            plan,
            sink,
            ledger: Ledger::default(),
            handed_out: 0,
            grants: Vec::new(),
            leadership: Leadership::Standby(Standby::default()),
            questions: broker.subscribe(SINK)?,
            outcomes: None,
            forwarded: broker.subscribe(&format!("{FORWARD}>"))?,
            waiting: Vec::new(),
            started: BTreeMap::new(),
            look_at: MonoTime::ZERO,
            sweep_at: MonoTime::ZERO,
            failure: None,
        })
    }

    /// Adds the turns of runs that its plan does not have yet ([`Coordinator::go_on_with`]) ([`MeshPlan::turns`]).
    pub fn with_turns(mut self, turns: Vec<Resource>) -> Coordinator<'a> {
        self.claims.extend(turns);
        self
    }

    /// The coordinator measures these again beside what was missed, each by one more attempt.
    pub fn measuring_again(mut self, again: Again) -> Coordinator<'a> {
        self.again = again;
        self.wanted = wanted(self.sink, self.plan.all(), again);
        self
    }

    /// Names that people know resources by: `eth0 of ams`.
    pub fn with_labels(mut self, labels: BTreeMap<String, String>) -> Coordinator<'a> {
        self.labels = labels;
        self
    }

    /// Does what is due, and returns when something will be next.
    ///
    /// # Errors
    /// An error that a second attempt cannot fix: the broker does not permit an operation.
    pub fn step(&mut self) -> Result<MonoTime> {
        self.failure = None;
        match self.advance() {
            Ok(()) => {}
            Err(error) if error.may_pass() => {
                self.failure = Some(error.brief());
                self.recover(&error)?;
            }
            Err(error) => return Err(error),
        }
        self.wait_in_vain()?;
        Ok(self.clock.mono() + STEP_EVERY)
    }

    /// Waits for an outcome, at most until `due`.
    ///
    /// # Errors
    /// Those of [`Coordinator::step`].
    pub fn rest(&mut self, due: MonoTime) -> Result<()> {
        let wait = due - self.clock.mono();
        let waited = match self.leadership {
            Leadership::Standby(_) => self.questions.next(wait).map(|_| ()),
            Leadership::Leading(..) => self.take_outcomes(wait),
        };
        match waited {
            Err(error) if error.may_pass() => self.recover(&error),
            outcome => outcome,
        }
    }

    /// The state of every run so far.
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
        self.wanted.extend(wanted(self.sink, round.iter(), self.again));
        self.plan.rounds.push(round);
    }

    /// The outcomes that were refused as forged since the last call, some of each agent.
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
        let is_handed_out = self.handed_out >= self.plan.rounds.len()
            && self.plan.background.iter().all(|run| self.ledger.row(&run.job.run).is_some());
        self.has_given_up || is_handed_out && self.ledger.is_complete()
    }

    /// Why the last step could not do all of it; it is tried again.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
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
                Err(error) if error.may_pass() => {
                    (unreached, self.is_out_of_reach) = (true, true);
                }
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
                None if self.is_answered(&name) => continue,
                Some(_) if unreached => &out_of_reach,
                None if self.unsure.contains_key(&name) => &out_of_reach,
                Some(_) => why,
                None => "stopped before it began",
            };
            let (row, reason) = (self.expected(&run, self.clock.wall()), reason.to_owned());
            self.miss(&name, row, &reason)?;
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
            // No answer, or not in time: no second attempt would change it.
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
            // Out of reach, each of its calls would wait for an answer, one after the other.
            Leadership::Leading(lease, _) if !self.is_out_of_reach => match lease.release(self.broker) {
                Err(error) if !error.may_pass() => Err(error),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<()> {
        if !self.lead()? {
            return Ok(());
        }
        self.has_given_up = false;
        self.answer()?;
        self.take_outcomes(Nanos::ZERO)?;
        self.sweep()?;
        if self.clock.mono() < self.quiet_until {
            return Ok(());
        }
        self.hand_out()?;
        self.settle_grants()?;
        self.start_groups()?;
        self.look()
    }

    /// The attempt at a run that is to be made.
    fn wanted(&self, run: &str) -> Wanted {
        self.wanted.get(run).copied().unwrap_or_else(|| Wanted::new(self.sink, run, self.again))
    }

    /// Whether the sink has what is wanted of a run.
    fn is_answered(&self, run: &str) -> bool {
        self.sink.stored(run).is_some_and(|stored| self.wanted(run).is_answered_by(stored))
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
}

/// The attempts at these runs that are to be made, by what the sink has now.
fn wanted<'r>(
    sink: &dyn Sink,
    runs: impl Iterator<Item = &'r PlannedRun>,
    again: Again,
) -> HashMap<String, Wanted> {
    runs.map(|run| (run.job.run.clone(), Wanted::new(sink, &run.job.run, again))).collect()
}

/// The row of a run before it is handed out, by its name.
fn planned(run: &PlannedRun) -> (String, LedgerRow) {
    (run.job.run.clone(), LedgerRow::expected(run, WallTime::default(), WallTime::default()))
}

/// How long agents have to confirm that they end their runs.
const STOPS_WITHIN: Nanos = Nanos::from_secs(2);
const STEP_EVERY: Nanos = Nanos::from_millis(250);
