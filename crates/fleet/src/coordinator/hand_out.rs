//! Handing runs out: rounds, what runs beside them, and groups that start together.

use super::Coordinator;
use crate::agent::{Command, is_there};
use crate::broker::{Bucket, Log};
use crate::error::{FleetError, Result};
use crate::group;
use crate::job::{AgentJob, attempt_id};
use crate::lease::{Granted, grant, remove_dead, take_back};
use crate::ledger::{LedgerRow, RunState};
use crate::mesh::{BESIDE, PlannedRun, span_of};
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

impl Coordinator<'_> {
    /// Hands each round out once the one before has ended, and beside them the background runs.
    pub(super) fn hand_out(&mut self) -> Result<()> {
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
            *at_work.entry(&run.agent).or_default() += usize::from(self.ledger.is_open(&run.job.run));
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
        let runs = self.granted(runs)?;
        let mut groups: BTreeMap<&str, Vec<PlannedRun>> = BTreeMap::new();
        for run in &runs {
            self.hand_out_run(run, within)?;
            if !run.job.group.is_empty() {
                groups.entry(&run.job.group).or_default().push(run.clone());
            }
        }
        self.waiting.extend(groups.into_values().map(|runs| (MonoTime::ZERO, runs)));
        self.wake(runs.iter().map(|run| &run.agent).collect())
    }

    /// Grants the leases of these runs, but for those that are answered already, to their agents.
    fn granted(&mut self, runs: &[PlannedRun]) -> Result<Vec<PlannedRun>> {
        let open: Vec<&PlannedRun> = runs.iter().filter(|run| !self.is_answered(&run.job.run)).collect();
        if open.is_empty() {
            return Ok(runs.to_vec());
        }
        let granted: Vec<Granted> = open.iter().map(|run| granted(run)).collect();
        let (name, revision) = grant(self.broker, &granted)?;
        let names = open.iter().map(|run| run.job.run.clone()).collect();
        self.grants.push(Grant { name: name.clone(), revision, runs: names });
        let with = |run: &PlannedRun| {
            let job = AgentJob { grant: name.clone(), ..run.job.clone() };
            PlannedRun { job, ..run.clone() }
        };
        Ok(runs.iter().map(with).collect())
    }

    /// Takes grants back of which every run has ended.
    pub(super) fn settle_grants(&mut self) -> Result<()> {
        let all = std::mem::take(&mut self.grants);
        let is_over = |grant: &Grant| grant.runs.iter().all(|run| self.is_answered(run));
        let (over, open): (Vec<Grant>, Vec<Grant>) = all.into_iter().partition(is_over);
        self.grants = open;
        over.iter().try_for_each(|grant| take_back(self.broker, &grant.name, grant.revision))
    }

    /// Has agents look for jobs, and offer what lies with them.
    pub(super) fn wake(&self, agents: BTreeSet<&String>) -> Result<()> {
        let look = serde_json::to_vec(&Command::Look).unwrap_or_default();
        agents.into_iter().try_for_each(|agent| self.broker.publish(&format!("pm.cmd.{agent}"), &look))
    }

    /// The row of a run whose wanted attempt is handed out now.
    pub(super) fn expected(&self, run: &PlannedRun, now: WallTime) -> LedgerRow {
        LedgerRow { number: self.wanted(&run.job.run).number, ..LedgerRow::expected(run, now, now) }
    }

    fn hand_out_run(&mut self, run: &PlannedRun, within: Nanos) -> Result<()> {
        let now = self.clock.wall();
        let name = &run.job.run;
        let row = LedgerRow { deadline: now + within, ..self.expected(run, now) };
        self.ledger.expect(name, row);
        if let Some(stored) =
            self.sink.stored(name).filter(|stored| self.wanted(name).is_answered_by(*stored))
        {
            self.ledger.end(name, RunState::of_end(stored.end, "as the results have it"));
            return Ok(());
        }
        if !run.job.group.is_empty() {
            return Ok(());
        }
        let job = self.job(run, (now, within));
        let text = serde_json::to_vec(&job).unwrap_or_default();
        // After a restart it may be there already: an attempt is one message.
        self.broker.append(Log::Jobs, &run.agent, &attempt_id(name, job.number), &text).map(|_| ())
    }

    /// The attempt at a run that is wanted, to be begun early enough to end within this time.
    fn job(&self, run: &PlannedRun, (now, within): (WallTime, Nanos)) -> AgentJob {
        let wanted = self.wanted(&run.job.run);
        AgentJob {
            deadline: now + within.saturating_sub(run.job.span),
            handed_out: now,
            number: wanted.number,
            since: wanted.since,
            ..run.job.clone()
        }
    }

    /// Starts groups whose agents are ready. A group in which one is not is tried again, until its runs are missed.
    pub(super) fn start_groups(&mut self) -> Result<()> {
        let now = self.clock.mono();
        for (again_at, runs) in std::mem::take(&mut self.waiting) {
            let job = |run: &PlannedRun| {
                let job = self.job(run, (WallTime(0), Nanos::ZERO));
                (run.agent.clone(), AgentJob { deadline: run.job.deadline, ..job })
            };
            let open = runs.iter().filter(|run| self.ledger.is_open(&run.job.run));
            let open: Vec<(String, AgentJob)> = open.map(job).collect();
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
    pub(super) fn look(&mut self) -> Result<()> {
        let now = self.clock.mono();
        if now < self.look_at {
            return Ok(());
        }
        self.look_at = now + LOOK_EVERY;
        if now >= self.sweep_at {
            self.sweep_at = now + SWEEP_EVERY;
            // Keys of the dead cost each claim further queries, and nothing else: a server that ended uncleanly brings them
            // back.
            let _ = remove_dead(self.broker);
        }
        let awaited: Vec<(String, String)> = self
            .current_round()
            .iter()
            .chain(&self.plan.background)
            .filter(|run| self.ledger.is_open(&run.job.run))
            .map(|run| (run.agent.clone(), run.job.run.clone()))
            .collect();
        let mut reports: BTreeMap<String, Option<AtWork>> = BTreeMap::new();
        for (agent, run) in awaited {
            if !reports.contains_key(&agent) {
                let is_there = is_there(self.broker, &agent)?;
                let report = if is_there { self.broker.get(Bucket::Agents, &agent)? } else { None };
                reports.insert(
                    agent.clone(),
                    report.map(|entry| serde_json::from_slice(&entry.value).unwrap_or_default()),
                );
            }
            match &reports[&agent] {
                None => self.ledger.note(&run, &format!("the agent {agent} has not been heard for 30 s")),
                Some(AtWork { runs, .. }) if runs.contains(&run) => self.ledger.running(&run, &agent),
                Some(AtWork { failure: Some(why), .. }) => {
                    self.ledger.note(&run, &format!("the agent {agent}: {why}"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// A grant for runs that were handed out together.
pub(super) struct Grant {
    name: String,
    revision: u64,
    runs: Vec<String>,
}

fn granted(run: &PlannedRun) -> Granted {
    Granted {
        agent: run.agent.clone(),
        run: run.job.run.clone(),
        class: run.job.class,
        group: run.job.group.clone(),
        resources: run.job.resources.clone(),
    }
}

/// An agent's report of the work that it has.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AtWork {
    runs: Vec<String>,
    /// Why it cannot do all of it.
    failure: Option<String>,
}

/// From when all are ready to the common start: the message travels, and connections are opened.
const LEAD: Nanos = Nanos::from_secs(2);
const TRY_TO_START_EVERY: Nanos = Nanos::from_secs(1);
const LOOK_EVERY: Nanos = Nanos::from_secs(10);
const SWEEP_EVERY: Nanos = Nanos::from_secs(30);
