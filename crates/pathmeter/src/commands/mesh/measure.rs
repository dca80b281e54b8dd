//! `pathmeter mesh run`: every pair of agents, in rounds, again and again, or some at the same time.

mod asked;
mod name;
mod series;
mod together;

use super::{connect, failed, print, streams};
use crate::commands::exporter::{Exporter, Shown};
use crate::commands::output::deliver;
use crate::commands::progress::{about, say};
use crate::exit::Exit;
use crate::signals;
use asked::{names, refused, request_of};
use cli::{Common, MeshRunArgs};
use engine::error::{Failure, Result};
use engine::host::interrupt::Interrupt;
use engine::run::run_id;
use engine::server::Confined;
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::{Coordinator, Forgery, Sink};
use fleet::ledger::LedgerRow;
use fleet::mesh::{MeshPlan, PlannedRun};
use fleet::results::{ResultFile, Results};
use fleet::setup::COORDINATOR;
use mesh::expected::broken;
use mesh::interfaces;
use mesh::inventory::{everyone, wrong_clocks};
use mesh::job::check;
use mesh::matrix::{report_of_results, results_of_runs, runs_of_plan};
use mesh::metrics::of_coordinator;
use mesh::roll::{self, Earlier, Roll};
use mesh::rounds::{MeshRequest, PlanError, Planned, Reports, plan};
use mesh::timetable::Timetable;
use model::mesh::MeshReport;
use std::collections::BTreeMap;
use together::Pairs;

pub(super) fn run(args: &MeshRunArgs, global: &Common) -> Result<Exit> {
    let (asked, expected) = request_of(args)?;
    let metrics = metrics(args)?;
    let known = if args.together { Results::default() } else { name::known(args)? };
    let nats = connect(&args.nats, COORDINATOR)?;
    streams(&nats, args.replicas).map_err(failed)?;
    let (name, file) = named(args, &nats, &known)?;
    let timetable = series::timetable(args, &name)?;
    let last = known.begun.last().copied();
    let earlier = if args.together { Earlier::new() } else { earlier(args, &known)? };
    let roll = call(&nats, (args, &asked), &earlier)?.map_err(refused)?;
    let Planned { mut plan, unreachable } = plan(&name, &roll.reports, &asked).map_err(refused)?;
    name.clone_into(&mut plan.name);
    let deaf = unreachable.iter().map(|pair| neither_listens(pair));
    let wrong = wrong_clocks(&roll.there(), SystemClock.wall());
    let notes: Vec<String> = deaf.chain(wrong).chain(roll.absent.values().map(|why| sentence(why))).collect();
    let estimate = estimate(&plan, &notes, &roll.reports, timetable.as_ref());
    if args.dry_run {
        return deliver(global, estimate.as_bytes());
    }
    say(estimate.trim_end());
    let interrupt = signals::interrupt()?;
    if args.together {
        let pairs = Pairs {
            #[cfg(feature = "store")]
            args,
            nats: &nats,
            roll: &roll,
            #[cfg(feature = "store")]
            asked: &asked,
            interrupt: &interrupt,
        };
        return pairs.run(plan, &expected, global);
    }
    let Some(mut file) = file else { return Ok(Exit::Done) };
    file.begin_mesh(&name).map_err(|why| unwritten(&why))?;
    #[cfg(feature = "store")]
    let mut sink = super::kept::sink(args, file)?;
    #[cfg(not(feature = "store"))]
    let mut sink: Box<dyn Sink> = Box::new(file);
    let shown = metrics.map(|(exporter, rights)| exporter.serve(rights, &interrupt, say)).transpose()?;
    let at = Coordinated { args, nats: &nats, interrupt: &interrupt, shown: shown.as_ref() };
    let (report, results) = match &timetable {
        None => measured(&at, (plan, &roll), notes, &mut *sink)?,
        Some(timetable) => {
            let mesh = series::Mesh { at: &at, asked: &asked, earlier: &earlier, name: &name };
            series::run(&mesh, timetable, (&mut *sink, last))?;
            let results = Results::read(&args.results).map_err(failed)?;
            (report_of_results(&name, &results, notes), results)
        }
    };
    let exit = print(&MeshReport { label: label(args), ..report }, global)?;
    let broken = broken(&results, &expected);
    broken.iter().for_each(|line| say(line));
    Ok(if exit == Exit::Done && !broken.is_empty() { Exit::ExpectationBroken } else { exit })
}

/// The name of the mesh and the file of its results, of which there is none for pairs together and for a dry run. The file has its
/// id, and no other program has the file, before its name is claimed.
fn named(args: &MeshRunArgs, nats: &Nats, known: &Results) -> Result<(String, Option<ResultFile>)> {
    if args.together {
        return Ok((run_id()?, None));
    }
    if args.dry_run {
        return Ok((name::unique(args, &known.id), None));
    }
    let file = ResultFile::open(&args.results).map_err(failed)?;
    let name = name::claim(args, nats, &file)?;
    file.damage().iter().for_each(|damage| say(&format!("{damage}: such runs are measured again")));
    Ok((name, Some(file)))
}

/// Settings that all meshes of a command share.
struct Coordinated<'a> {
    args: &'a MeshRunArgs,
    nats: &'a Nats,
    interrupt: &'a Interrupt,
    /// Where Prometheus reads how it stands.
    shown: Option<&'a Shown>,
}

/// The page of metrics, before any thread is started. This process keeps its user and no capability then.
fn metrics(args: &MeshRunArgs) -> Result<Option<(Exporter, Confined)>> {
    let Some(address) = args.metrics else { return Ok(None) };
    let exporter = Exporter::bind(address)?;
    let confined = Confined::enter(None, &[]);
    let advice = "leave --metrics out, or start it as another user";
    Ok(Some((exporter, confined.map_err(|error| Failure::usage(error.to_string(), advice))?)))
}

/// The agents that take part now: those that are named, or all that the server knows or that measured `earlier`.
fn call(
    nats: &Nats,
    (args, asked): (&MeshRunArgs, &MeshRequest),
    earlier: &Earlier,
) -> Result<std::result::Result<Roll, PlanError>> {
    let everyone = everyone(nats).map_err(failed)?;
    let mut roll = match Roll::call(&everyone, &names(args, asked), earlier) {
        Ok(roll) => roll,
        Err(error) => return Ok(Err(error)),
    };
    let mut there = roll.there();
    interfaces::ask(nats, &SystemClock, &mut there, &[]).map_err(failed)?;
    roll.reports.extend(there);
    Ok(Ok(roll))
}

/// The agents that measured before, by the results and the kept runs.
fn earlier(args: &MeshRunArgs, known: &Results) -> Result<Earlier> {
    let now = SystemClock.wall();
    let earlier = roll::earlier(known, now);
    #[cfg(not(feature = "store"))]
    let _ = args;
    #[cfg(feature = "store")]
    let earlier = roll::latest(earlier, super::kept::earlier(args, now)?);
    Ok(earlier)
}

/// Measures a mesh and returns its results; alerts on changes are sent. A run that cannot be made, as an agent is not there, is
/// missed.
fn measured(
    at: &Coordinated<'_>,
    (plan, roll): (MeshPlan, &Roll),
    notes: Vec<String>,
    sink: &mut dyn Sink,
) -> Result<(MeshReport, Results)> {
    let args = at.args;
    #[cfg(feature = "store")]
    let alerts = super::kept::Alerts::from_args(args)?;
    let mut runs = runs_of_plan(&plan);
    let (there, gone) = plan.clone().part(|run| roll.why_not(run).is_some());
    for run in &gone {
        if !sink.has(&run.job.run) {
            miss(sink, run, roll.why_not(run).unwrap_or_default())?;
        }
    }
    let mut forgeries = Vec::new();
    let labels = interfaces::labels(&roll.reports);
    let mut carry_out = |plan: MeshPlan| -> Result<()> {
        runs.extend(runs_of_plan(&plan));
        forgeries.extend(carry_out(at, plan, sink, labels.clone())?);
        Ok(())
    };
    carry_out(there)?;
    #[cfg(feature = "store")]
    if let Some(alerts) = alerts.filter(|_| !at.interrupt.is_raised()) {
        alerts.again(&plan, &mut carry_out)?;
        alerts.notify(&plan, &forgeries)?;
    }
    // The file may have runs of other meshes, too.
    let results = results_of_runs(Results::read(&args.results).map_err(failed)?, &runs);
    let report = report_of_results(&name::shown(args), &results, notes);
    Ok((report, results))
}

fn miss(sink: &mut dyn Sink, run: &PlannedRun, why: &str) -> Result<()> {
    // No attempt is made: what was missed stays so, and what ended before is now missed.
    let missed = sink.awaited(&run.job.run).map_or(0, |row| row.number.max(1));
    let number = missed.max(sink.stored(&run.job.run).map_or(1, |stored| stored.number + 1));
    let row = LedgerRow { number, ..LedgerRow::missed(run, SystemClock.wall(), why) };
    Ok(sink.missed(&run.job.run, &row).map_err(|why| unwritten(&why))?)
}

/// Has every run of a plan carried out, until all have ended or it is interrupted. Returns the outcomes that were refused as
/// forged.
fn carry_out(
    at: &Coordinated<'_>,
    plan: MeshPlan,
    sink: &mut dyn Sink,
    labels: BTreeMap<String, String>,
) -> Result<Vec<Forgery>> {
    if plan.runs() == 0 {
        return Ok(Vec::new());
    }
    let coordinator = Coordinator::new(id(), at.nats, &SystemClock, plan, (sink, check)).map_err(failed)?;
    let mut coordinator = coordinator.with_labels(labels).measuring_again(name::again(at.args));
    let forgeries = coordinate(&mut coordinator, at.interrupt, &mut |coordinator| {
        if let Some(shown) = at.shown {
            shown.set(of_coordinator(&name::shown(at.args), coordinator, SystemClock.wall()));
        }
    })?;
    coordinator.resign().map_err(failed)?;
    Ok(forgeries)
}

/// Has the coordinator work until all runs have ended, or until it is interrupted.
fn coordinate(
    coordinator: &mut Coordinator,
    interrupt: &Interrupt,
    each: &mut dyn FnMut(&Coordinator),
) -> Result<Vec<Forgery>> {
    let (mut reported, mut forgeries) = (None, Vec::new());
    while !coordinator.is_complete() && !interrupt.is_raised() {
        let due = coordinator.step().map_err(failed)?;
        forgeries.extend(refused_now(coordinator));
        notify(coordinator, &mut reported);
        each(coordinator);
        coordinator.rest(due).map_err(failed)?;
    }
    if interrupt.is_raised() && !coordinator.is_complete() {
        coordinator.stop("it was stopped").map_err(failed)?;
        notify(coordinator, &mut reported);
    }
    forgeries.extend(refused_now(coordinator));
    Ok(forgeries)
}

/// A line on standard error for each outcome that was refused as forged.
fn refused_now(coordinator: &mut Coordinator) -> Vec<Forgery> {
    let forgeries = coordinator.take_forgeries();
    forgeries.iter().for_each(|forgery| say(&format!("{} FORGED: {}", SystemClock.wall(), forgery.text())));
    forgeries
}

/// One line on standard error for each change.
fn notify(coordinator: &Coordinator, reported: &mut Option<String>) {
    let rows = coordinator.ledger().rows();
    let (all, ended) =
        rows.fold((0, 0), |(all, ended), (_, row)| (all + 1, ended + usize::from(row.state.is_final())));
    let state = match coordinator.waits_for() {
        Some(why) => format!("waiting: {why}"),
        None => format!("{ended} of {all} runs that were handed out have ended"),
    };
    if reported.as_ref() != Some(&state) {
        say(&format!("{} {state}", SystemClock.wall()));
        *reported = Some(state);
    }
}

fn unwritten(why: &str) -> Failure {
    Failure::usage(format!("write the results: {why}"), "name a folder that this user may write")
}

fn id() -> String {
    format!("coordinator-{}-{}", std::process::id(), SystemClock.wall().0)
}

/// The label of its runs in a store; empty: they are in none.
#[cfg(feature = "store")]
fn label(args: &MeshRunArgs) -> String {
    if args.save { args.label.clone() } else { String::new() }
}

#[cfg(not(feature = "store"))]
fn label(_: &MeshRunArgs) -> String {
    String::new()
}

/// With a large letter and a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", insight::finding::capital(text))
}

fn neither_listens(pair: &str) -> String {
    if pair.contains(" by IPv") {
        return format!(
            "not measured: {pair}, as neither has an address of it that others reach (--address)"
        );
    }
    format!("not measured: {pair}, as neither listens (start one without --no-listen)")
}

fn estimate(plan: &MeshPlan, notes: &[String], reports: &Reports, timetable: Option<&Timetable>) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}, {} in {}: about {}\n",
        counted(reports.len(), "agent"),
        counted(plan.runs(), "run"),
        counted(plan.rounds.iter().filter(|round| !round.is_empty()).count(), "round"),
        about(plan.duration()),
    );
    text.extend(notes.iter().map(|note| format!("{note}\n")));
    if let Some(timetable) = timetable {
        let next = timetable.upcoming(SystemClock.wall(), 3);
        let next: Vec<String> = next.iter().map(ToString::to_string).collect();
        text += &format!("next at {}\n", next.join(", "));
    }
    text
}
