//! `pathmeter mesh run`: every pair of the agents that are there, in rounds, again and again, or some at the same time.

mod asked;

use super::{connect, failed, print, streams};
use crate::commands::output::deliver;
use crate::commands::progress::say;
use crate::commands::session::conclude;
use crate::commands::steps::about;
use crate::exit::Exit;
use crate::signals;
use asked::{Expected, asked, broken, names, refused};
use cli::{Common, MeshRunArgs};
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use engine::run::run_id;
use fleet::broker::Broker;
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::{Coordinator, Sink};
use fleet::mesh::MeshPlan;
use fleet::results::{InMemory, ResultFile, Results};
use fleet::setup::COORDINATOR;
use mesh::inventory::agents;
use mesh::matrix::{report_of_results, results_of_runs, runs_of_plan};
use mesh::rounds::{MeshRequest, Planned, Reports, chosen, plan};
use mesh::timetable::{Occasion, Series, Timetable};
use model::mesh::MeshReport;
use model::time::WallTime;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

pub(super) fn run(args: &MeshRunArgs, global: &Common) -> Result<Exit> {
    let (asked, expected) = asked(args)?;
    let name = match args.together {
        true => run_id()?,
        false => args.name.clone().unwrap_or_else(|| args.results.display().to_string()),
    };
    let timetable = timetable(args, &name)?;
    let nats = connect(&args.nats, COORDINATOR)?;
    streams(&nats, args.replicas).map_err(failed)?;
    let reports = chosen(agents(&nats).map_err(failed)?, &names(args, &asked)).map_err(refused)?;
    let planned = plan(&name, &reports, &asked).map_err(refused)?;
    let estimate = estimate(&planned, &reports, timetable.as_ref());
    if args.dry_run {
        deliver(global, estimate.as_bytes())?;
        return Ok(Exit::Done);
    }
    say(estimate.trim_end());
    let interrupt = signals::interrupt()?;
    if args.together {
        return together(&nats, planned.plan, &interrupt, &expected, global);
    }
    let last = Results::read(&args.results).ok().and_then(|results| results.begun.last().copied());
    let file = ResultFile::open(&args.results).map_err(failed)?;
    #[cfg(feature = "store")]
    let mut sink = super::kept::sink(args, file)?;
    #[cfg(not(feature = "store"))]
    let mut sink: Box<dyn Sink> = Box::new(file);
    let mut measured = Measured::new(args, &nats, &interrupt)?;
    let results = match &timetable {
        None => {
            measured.measure(planned.plan, &mut *sink)?;
            results_of_runs(Results::read(&args.results).map_err(failed)?, &measured.runs)
        }
        Some(timetable) => {
            series(&mut measured, &asked, timetable, (&mut *sink, last))?;
            Results::read(&args.results).map_err(failed)?
        }
    };
    measured.finish();
    let report = report_of_results(
        &name,
        &results,
        planned.unreachable.iter().map(|pair| neither_listens(pair)).collect(),
    );
    let exit = print(&MeshReport { label: label(args), ..report }, global)?;
    let broken = broken(&results, &expected);
    broken.iter().for_each(|line| say(line));
    Ok(if exit == Exit::Done && !broken.is_empty() { Exit::ExpectationBroken } else { exit })
}

/// The mesh at every time of its schedule, until it is stopped.
fn series(
    measured: &mut Measured<'_>,
    asked: &MeshRequest,
    timetable: &Timetable,
    (sink, last): (&mut dyn Sink, Option<WallTime>),
) -> Result<()> {
    let Measured { args, nats, interrupt, .. } = *measured;
    let mut expected: BTreeSet<String> = names(args, asked).into_iter().collect();
    let is_open = expected.is_empty();
    let mut series = Series {
        timetable,
        clock: &SystemClock,
        wait: &mut |due| {
            let left = Duration::from_nanos((due - SystemClock.wall()).0);
            std::thread::sleep(left.min(Duration::from_millis(100)));
            !interrupt.is_raised()
        },
        plan: &mut |name| {
            let mut reports = agents(nats).map_err(failed)?;
            if is_open {
                expected.extend(reports.keys().cloned());
            }
            reports.retain(|agent, _| expected.contains(agent));
            Ok(occasion(name, &reports, &expected, asked))
        },
        measure: &mut |plan, sink| measured.measure(plan, sink),
    };
    series.run(sink, last)
}

/// The runs of one time: those of agents that were there before and are not now are missing.
fn occasion(
    name: &str,
    reports: &Reports,
    expected: &BTreeSet<String>,
    asked: &MeshRequest,
) -> std::result::Result<Occasion, String> {
    let absent: BTreeSet<String> =
        expected.iter().filter(|agent| !reports.contains_key(*agent)).cloned().collect();
    if reports.len() < 2 {
        let gone = absent.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(format!("not two agents are there; not heard of for 30 s: {gone}"));
    }
    let (asked, missing) = asked.without(&absent, expected);
    let planned = plan(name, reports, &asked).map_err(|error| error.to_string())?;
    let why = |title: String| {
        let gone = absent.iter().find(|agent| title.split(' ').any(|word| word == agent.as_str()));
        let why = format!("the agent {} has not been heard for 30 s", gone.map_or("?", String::as_str));
        (title, why)
    };
    let deaf = planned.unreachable.iter().map(|pair| (pair.clone(), neither_listens(pair)));
    Ok(Occasion { plan: planned.plan, missing: missing.into_iter().map(why).chain(deaf).collect() })
}

fn timetable(args: &MeshRunArgs, name: &str) -> Result<Option<Timetable>> {
    let parse = |text: &String| Timetable::parse(text, args.zone.as_deref(), name, args.splay);
    args.schedule.as_ref().map(parse).transpose().map_err(failed)
}

/// The pairs of one group, as one run. Nothing of it is kept beside the document.
fn together(
    nats: &dyn Broker,
    plan: MeshPlan,
    interrupt: &Interrupt,
    expected: &[Expected],
    global: &Common,
) -> Result<Exit> {
    let group = plan.rounds.concat();
    let results = InMemory::default();
    let mut sink = results.clone();
    let mut coordinator = Coordinator::new(id(), nats, &SystemClock, plan, &mut sink).map_err(failed)?;
    coordinate(&mut coordinator, interrupt)?;
    let started = group.first().and_then(|run| coordinator.started(&run.job.group)).cloned();
    coordinator.resign().map_err(failed)?;
    let mut run = mesh::together::document(&group, started.as_ref(), &results.all())?;
    let expected: Vec<_> = expected.iter().map(|one| one.written.clone()).collect();
    conclude(&mut run, false, &expected, global)
}

/// Meshes that are measured, and what is told of them.
struct Measured<'a> {
    args: &'a MeshRunArgs,
    nats: &'a Nats,
    interrupt: &'a Interrupt,
    /// The runs that were planned.
    runs: HashSet<String>,
    #[cfg(feature = "store")]
    alerts: Option<super::kept::Alerts<'a>>,
}

impl<'a> Measured<'a> {
    fn new(args: &'a MeshRunArgs, nats: &'a Nats, interrupt: &'a Interrupt) -> Result<Measured<'a>> {
        #[cfg(feature = "store")]
        let alerts = super::kept::Alerts::of(args)?;
        Ok(Measured {
            args,
            nats,
            interrupt,
            runs: HashSet::new(),
            #[cfg(feature = "store")]
            alerts,
        })
    }

    /// Has a mesh measured, and what changed told; false: it was stopped.
    fn measure(&mut self, plan: MeshPlan, sink: &mut dyn Sink) -> Result<bool> {
        let Measured { nats, interrupt, runs, .. } = self;
        runs.extend(runs_of_plan(&plan));
        let goes_on = work(*nats, plan.clone(), sink, interrupt)?;
        #[cfg(feature = "store")]
        if let Some(alerts) = self.alerts.as_mut().filter(|_| goes_on) {
            let again = alerts.again(&plan, &mut |plan| {
                runs.extend(runs_of_plan(&plan));
                work(*nats, plan, sink, interrupt).map(drop)
            });
            again.and_then(|()| alerts.tell(&plan))?;
        }
        Ok(goes_on)
    }

    /// Waits for those who are told.
    fn finish(self) {
        #[cfg(feature = "store")]
        if let Some(alerts) = self.alerts {
            alerts.finish();
        }
    }
}

/// Has a mesh measured; false: it was stopped.
fn work(nats: &dyn Broker, plan: MeshPlan, sink: &mut dyn Sink, interrupt: &Interrupt) -> Result<bool> {
    let mut coordinator = Coordinator::new(id(), nats, &SystemClock, plan, sink).map_err(failed)?;
    coordinate(&mut coordinator, interrupt)?;
    coordinator.resign().map_err(failed)?;
    Ok(!interrupt.is_raised())
}

/// Has the coordinator work until all runs have ended, or until it is stopped.
fn coordinate(coordinator: &mut Coordinator, interrupt: &Interrupt) -> Result<()> {
    let mut told = None;
    while !coordinator.is_complete() && !interrupt.is_raised() {
        let due = coordinator.step().map_err(failed)?;
        tell(coordinator, &mut told);
        coordinator.rest(due).map_err(failed)?;
    }
    Ok(())
}

/// One line on standard error for each change.
fn tell(coordinator: &Coordinator, told: &mut Option<String>) {
    let rows = coordinator.ledger().rows();
    let (all, ended) =
        rows.fold((0, 0), |(all, ended), (_, row)| (all + 1, ended + usize::from(row.state.is_final())));
    let state = match coordinator.failure() {
        Some(failure) => format!("waiting: {failure}"),
        None if !coordinator.is_leading() => "waiting: another coordinator is at work".to_owned(),
        None => format!("{ended} of {all} runs that were handed out have ended"),
    };
    if told.as_ref() != Some(&state) {
        say(&format!("{} {state}", SystemClock.wall()));
        *told = Some(state);
    }
}

fn id() -> String {
    format!("coordinator-{}-{}", std::process::id(), SystemClock.wall().0)
}

/// The label of its runs in a store; empty: they are in none.
fn label(args: &MeshRunArgs) -> String {
    #[cfg(feature = "store")]
    if args.save {
        return args.label.clone();
    }
    #[cfg(not(feature = "store"))]
    let _ = args;
    String::new()
}

fn neither_listens(pair: &str) -> String {
    format!("not measured: {pair}, as neither listens (start one without --no-listen)")
}

fn estimate(planned: &Planned, reports: &Reports, timetable: Option<&Timetable>) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let plan = &planned.plan;
    let mut text = format!(
        "{}, {} in {}: about {}\n",
        counted(reports.len(), "agent"),
        counted(plan.runs(), "run"),
        counted(plan.rounds.iter().filter(|round| !round.is_empty()).count(), "round"),
        about(plan.duration()),
    );
    for pair in &planned.unreachable {
        text += &format!("{}\n", neither_listens(pair));
    }
    if let Some(timetable) = timetable {
        let next = timetable.upcoming(SystemClock.wall(), 3);
        let next: Vec<String> = next.iter().map(ToString::to_string).collect();
        text += &format!("next at {}\n", next.join(", "));
    }
    text
}
