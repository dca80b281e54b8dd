//! Runs of a plan that agents carry out.

use crate::interfaces::{self, as_word};
use crate::inventory::agents;
use crate::job::{PlanJob, check, lapse, read_run};
use crate::rounds::{Reports, class};
use crate::together::document;
use engine::host::interrupt::Interrupt;
use experiment::{Agents, Carried, Cell, Lease, Path, PathPlace, Plan};
use fleet::broker::Broker;
use fleet::clock::Clock;
use fleet::coordinator::{Coordinator, Sink};
use fleet::job::{AgentJob, End, Outcome};
use fleet::lease::{Class, Resource};
use fleet::mesh::{MeshPlan, PlannedRun, turn};
use fleet::name::run_name;
use fleet::results::InMemory;
use model::units::Nanos;

/// A coordinator that hands one run after the other to its agent.
pub struct Errands<'a> {
    coordinator: Coordinator<'a>,
    results: InMemory,
    /// Names this plan's run and nothing else ever.
    name: String,
    /// Length of tests that end by time, in place of the plan's.
    time: Option<Nanos>,
    /// The agents that are there.
    reports: Reports,
    count: u64,
}

impl<'a> Errands<'a> {
    /// One of a plan, with a name which nothing else ever had. `sink` is `results`, which is one with all its clones. `time`: the
    /// length of tests that end by time, in place of the plan's.
    ///
    /// # Errors
    /// The broker cannot be reached, or does not permit it to this key.
    pub fn new(
        name: String,
        broker: &'a dyn Broker,
        clock: &'a dyn Clock,
        (sink, results): (&'a mut dyn Sink, InMemory),
        (plan, time): (&Plan, Option<Nanos>),
    ) -> fleet::Result<Errands<'a>> {
        let mut reports = agents(broker)?;
        let cells = plan.cells();
        let hosts: Vec<String> = cells.iter().flat_map(paths).map(|path| path.to.host.clone()).collect();
        interfaces::ask(broker, clock, &mut reports, &hosts)?;
        let exclusive = cells.iter().filter(|cell| class(&cell.request()) == Class::Exclusive);
        let needed = exclusive.flat_map(paths).flat_map(|path| resources(&reports, path));
        let turns = needed.map(|resource| turn(&resource)).collect();
        let runs = MeshPlan { name: name.clone(), grace: GRACE, ..MeshPlan::default() };
        let coordinator =
            Coordinator::new(name.clone(), broker, clock, runs, (sink, check))?.with_turns(turns);
        Ok(Errands { coordinator, results, name, time, reports, count: 0 })
    }

    /// Gives the work to another coordinator.
    ///
    /// # Errors
    /// The broker is out of reach; the lease lapses by itself then.
    pub fn resign(self) -> fleet::Result<()> {
        self.coordinator.resign()
    }

    /// The runs of a cell: one, or those of paths on which it starts at the same time.
    fn planned(&mut self, cell: &Cell<'_>) -> Result<Vec<PlannedRun>, String> {
        let PathPlace::Together(paths) = &cell.path.place else {
            return Ok(vec![self.planned_run(cell, "")?]);
        };
        let group = run_name(&["plan", &self.name, &self.count.to_string(), "together"]);
        paths.iter().map(|path| self.planned_run(&Cell { path, ..*cell }, &group)).collect()
    }

    fn planned_run(&mut self, cell: &Cell<'_>, group: &str) -> Result<PlannedRun, String> {
        let PathPlace::Agent { from, to, .. } = &cell.path.place else {
            return Err("the path begins at no agent".to_owned());
        };
        if let Some(why) = self.reports.get(from).and_then(|report| report.why_outdated(from)) {
            return Err(why);
        }
        self.count += 1;
        let end = || to.clone().unwrap_or_else(|| cell.path.to.to_string());
        let body = PlanJob {
            plan: cell.as_plan(),
            time: self.time,
            to_agent: to.is_some(),
            target: cell.path.named.as_ref().map(|named| named.host.clone()),
            end: (!group.is_empty()).then(end),
        };
        let job = AgentJob {
            run: run_name(&["plan", &self.name, &self.count.to_string()]),
            title: cell.name(),
            class: class(&cell.request()),
            resources: resources(&self.reports, cell.path),
            group: group.to_owned(),
            span: cell.time().unwrap_or(UNKNOWN_TIME),
            number: 1,
            since: 1,
            body: serde_json::to_string(&body).map_err(|error| error.to_string())?,
            ..AgentJob::default()
        };
        Ok(PlannedRun { agent: from.clone(), job })
    }

    /// Waits until each of the runs has ended, or is missed.
    fn wait(
        &mut self,
        runs: &[PlannedRun],
        stop: &Interrupt,
        note: &mut dyn FnMut(String),
    ) -> Result<(), String> {
        let mut reported = None;
        loop {
            let due = self.coordinator.step().map_err(|error| error.to_string())?;
            self.coordinator.take_forgeries().iter().for_each(|forgery| note(forgery.text()));
            let has_ended = |run: &PlannedRun| {
                let row = self.coordinator.ledger().row(&run.job.run);
                self.results.outcome(&run.job.run).is_some() || row.is_some_and(|row| row.state.is_final())
            };
            if runs.iter().all(has_ended) {
                return Ok(());
            }
            if stop.is_raised() {
                self.coordinator.stop(STOPPED).map_err(|error| error.to_string())?;
                return Err(STOPPED.to_owned());
            }
            let waiting = self.coordinator.waits_for();
            if waiting != reported {
                waiting.iter().for_each(|why| note(format!("waiting: {why}")));
                reported = waiting;
            }
            self.coordinator.rest(due).map_err(|error| error.to_string())?;
        }
    }

    /// The runs of a group as one, with their sum.
    fn sum(&self, runs: &[PlannedRun]) -> Result<Carried, String> {
        let results = self.results.all();
        let started = runs.first().and_then(|run| self.coordinator.started(&run.job.group));
        let run = document(runs, started, &results).map_err(|error| error.to_string())?;
        let tokens = runs.iter().filter_map(|run| Some(results.outcomes.get(&run.job.run)?.token));
        let agents: Vec<&str> = runs.iter().map(|run| run.agent.as_str()).collect();
        let lease = Lease { agent: agents.join(" + "), token: tokens.max().unwrap_or_default() };
        Ok(Carried { run: Box::new(run), lease })
    }
}

impl Agents for Errands<'_> {
    fn carry_out(
        &mut self,
        cell: &Cell<'_>,
        stop: &Interrupt,
        note: &mut dyn FnMut(String),
    ) -> Result<Carried, String> {
        let planned = self.planned(cell)?;
        self.coordinator.go_on_with(planned.clone());
        self.wait(&planned, stop, note)?;
        match planned.as_slice() {
            [one] => match self.results.outcome(&one.job.run) {
                Some(outcome) => carried(outcome),
                None => {
                    let row = self.coordinator.ledger().row(&one.job.run);
                    let reason = row.and_then(|row| row.state.reason());
                    Err(format!("missed: {}", reason.unwrap_or("nothing came of it")))
                }
            },
            runs => self.sum(runs),
        }
    }
}

fn carried(outcome: Outcome) -> Result<Carried, String> {
    let (body, void) = match outcome.end {
        End::Done { body } => (body, None),
        End::Void { reason, body } if body.is_empty() => return Err(format!("void: {reason}")),
        End::Void { reason, body } => (body, Some(reason)),
        End::Failed { reason } => return Err(reason),
    };
    let mut run = read_run(&body, &outcome.agent)?;
    void.iter().for_each(|reason| lapse(&mut run, reason));
    let lease = Lease { agent: outcome.agent, token: outcome.token };
    Ok(Carried { run: Box::new(run), lease })
}

/// The paths of a cell: one, or those on which it starts at the same time.
fn paths<'c>(cell: &'c Cell<'_>) -> &'c [Path] {
    match &cell.path.place {
        PathPlace::Together(paths) => paths,
        _ => std::slice::from_ref(cell.path),
    }
}

/// Returns the resources of an agent's path: its interface, and that of the other agent, or the host at which it ends.
fn resources(reports: &Reports, path: &Path) -> Vec<Resource> {
    let PathPlace::Agent { from, to, .. } = &path.place else { return Vec::new() };
    let host = &path.to.host;
    let own = reports.get(from).cloned().unwrap_or_default().nic_toward(from, host);
    let far = match to {
        Some(agent) => reports.get(agent).cloned().unwrap_or_default().nic_at(agent, host),
        None => Resource::sole(format!("far.{}", as_word(host))),
    };
    vec![own, far]
}

const STOPPED: &str = "it was stopped";
/// How much longer than planned a run may take: an agent that was killed gets it again once its lease has lapsed.
const GRACE: Nanos = Nanos::from_secs(60);
/// Time allowed for a run that ends by amount.
const UNKNOWN_TIME: Nanos = Nanos::from_secs(600);
