//! Runs of a plan that agents carry out.

use crate::job::PlanJob;
use engine::host::interrupt::Interrupt;
use engine::request::Request;
use experiment::{Agents, Carried, Cell, Lease, Place};
use fleet::broker::Broker;
use fleet::clock::Clock;
use fleet::coordinator::{Coordinator, Sink};
use fleet::job::{AgentJob, End, Outcome, run_name};
use fleet::lease::{Class, Resource};
use fleet::mesh::{MeshPlan, PlannedRun};
use fleet::results::InMemory;
use insight::finding::capital;
use model::finding::Status;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;

/// A coordinator that hands one run after the other to its agent.
pub struct Errands<'a> {
    coordinator: Coordinator<'a>,
    results: InMemory,
    /// Names this plan's run and nothing else ever.
    name: String,
    /// Length of tests that end by time, in place of the plan's.
    time: Option<Nanos>,
    count: u64,
}

impl<'a> Errands<'a> {
    /// One with this name, which nothing else ever had. `sink` is `results`, which is one with all its clones.
    ///
    /// # Errors
    /// The broker cannot be reached, or does not permit it to this key.
    pub fn new(
        name: String,
        broker: &'a dyn Broker,
        clock: &'a dyn Clock,
        (sink, results): (&'a mut dyn Sink, InMemory),
        time: Option<Nanos>,
    ) -> fleet::Result<Errands<'a>> {
        let plan = MeshPlan { grace: GRACE, ..MeshPlan::default() };
        let coordinator = Coordinator::new(name.clone(), broker, clock, plan, sink)?;
        Ok(Errands { coordinator, results, name, time, count: 0 })
    }

    /// Gives the work to another coordinator.
    ///
    /// # Errors
    /// The broker is out of reach; the lease lapses by itself then.
    pub fn resign(self) -> fleet::Result<()> {
        self.coordinator.resign()
    }

    fn planned(&mut self, cell: &Cell<'_>) -> Result<PlannedRun, String> {
        let Place::Agent { from, to, .. } = &cell.path.place else {
            return Err("the path begins at no agent".to_owned());
        };
        self.count += 1;
        let far = match to {
            Some(agent) => format!("nic.{agent}"),
            None => format!("far.{}", as_name(&cell.path.to.host)),
        };
        let body = PlanJob { plan: cell.as_plan(), time: self.time, to_agent: to.is_some() };
        let job = AgentJob {
            run: run_name(&["plan", &self.name, &self.count.to_string()]),
            title: cell.name(),
            class: class(&cell.request()),
            resources: vec![Resource::sole(format!("nic.{from}")), Resource::sole(far)],
            group: String::new(),
            span: cell.time().unwrap_or(UNKNOWN_TIME),
            deadline: WallTime(0),
            body: serde_json::to_string(&body).map_err(|error| error.to_string())?,
        };
        Ok(PlannedRun { agent: from.clone(), job })
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
        let run = planned.job.run.clone();
        self.coordinator.go_on_with(vec![planned]);
        let mut reported = None;
        loop {
            let due = self.coordinator.step().map_err(|error| error.to_string())?;
            if let Some(outcome) = self.results.outcome(&run) {
                return carried(outcome);
            }
            let row = self.coordinator.ledger().row(&run);
            if let Some(row) = row.filter(|row| row.state.is_final()) {
                return Err(format!("missed: {}", row.state.reason().unwrap_or("nothing came of it")));
            }
            if stop.is_raised() {
                return Err("it was stopped".to_owned());
            }
            let waiting = match self.coordinator.failure() {
                Some(failure) => Some(failure.to_owned()),
                None if !self.coordinator.is_leading() => Some("another coordinator is at work".to_owned()),
                None => None,
            };
            if waiting != reported {
                waiting.iter().for_each(|why| note(format!("waiting: {why}")));
                reported = waiting;
            }
            self.coordinator.rest(due).map_err(|error| error.to_string())?;
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
    let run: Result<Run, _> = serde_json::from_str(&body);
    let mut run =
        run.map_err(|error| format!("the result of {} is not of this version: {error}", outcome.agent))?;
    if let Some(reason) = void {
        run.verdict.status = Status::Void;
        run.verdict.text = format!("{}: it may not have been alone on the path.", capital(&reason));
    }
    let lease = Lease { agent: outcome.agent, token: outcome.token };
    Ok(Carried { run: Box::new(run), lease })
}

/// How a run gets on with others on the same resources.
fn class(request: &Request) -> Class {
    match request {
        Request::Latency(asked) if asked.load.is_none() => Class::Normal,
        Request::Path(_) | Request::Hops(_) => Class::Background,
        _ => Class::Exclusive,
    }
}

/// A host as a word of a resource's name.
fn as_name(host: &str) -> String {
    host.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// How much longer than planned a run may take: an agent that was killed gets it again once its lease has lapsed.
const GRACE: Nanos = Nanos::from_secs(60);
/// What a run that ends by amount is given.
const UNKNOWN_TIME: Nanos = Nanos::from_secs(600);
