//! `pathmeter mesh run`: every pair of the agents that are there, in rounds, or some at the same time.

use super::{connect, failed, matrix};
use crate::commands::output::{deliver, write};
use crate::commands::progress::say;
use crate::commands::steps::about;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, MeshRunArgs, MeshTestArg};
use engine::error::{Failure, Result};
use engine::host::interrupt::Interrupt;
use engine::run::run_id;
use fleet::broker::Broker;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::Coordinator;
use fleet::mesh::MeshPlan;
use fleet::results::{InMemory, ResultFile, Results};
use fleet::setup::COORDINATOR;
use mesh_run::{Link, MeshRequest, MeshTest, PlanError, Planned, Reports, Uplink, agents, chosen};
use model::finding::Status;
use report::format::RunDocument;

pub(super) fn run(args: &MeshRunArgs, global: &Common) -> Result<Exit> {
    let asked = asked(args)?;
    let nats = connect(&args.nats, COORDINATOR)?;
    nats.make_streams(args.replicas).map_err(failed)?;
    let reports = chosen(agents(&nats).map_err(failed)?, &names(args, &asked)).map_err(refused)?;
    let name = match args.together {
        true => run_id()?,
        false => args.name.clone().unwrap_or_else(|| args.results.display().to_string()),
    };
    let Planned { plan, unreachable } = mesh_run::plan(&name, &reports, &asked).map_err(refused)?;
    let estimate = estimate(&plan, &reports, &unreachable);
    if args.dry_run {
        deliver(global, estimate.as_bytes())?;
        return Ok(Exit::Done);
    }
    say(estimate.trim_end());
    let interrupt = signals::interrupt()?;
    if args.together {
        return together(&nats, plan, &interrupt, global);
    }
    let mut file = ResultFile::open(&args.results).map_err(failed)?;
    let mut coordinator = Coordinator::new(id(), &nats, &SystemClock, plan, &mut file).map_err(failed)?;
    work(&mut coordinator, &interrupt)?;
    coordinator.resign().map_err(failed)?;
    matrix::print(&Results::read(&args.results).map_err(failed)?, global)
}

/// The pairs of one group, as one run. Nothing of it is kept beside the document.
fn together(nats: &dyn Broker, plan: MeshPlan, interrupt: &Interrupt, global: &Common) -> Result<Exit> {
    let group = plan.rounds.concat();
    let results = InMemory::default();
    let mut sink = results.clone();
    let mut coordinator = Coordinator::new(id(), nats, &SystemClock, plan, &mut sink).map_err(failed)?;
    work(&mut coordinator, interrupt)?;
    let started = group.first().and_then(|run| coordinator.started(&run.job.group)).cloned();
    coordinator.resign().map_err(failed)?;
    let run = mesh_run::document(&group, started.as_ref(), &results.all())?;
    write(&[&RunDocument::of(&run)], global)?;
    Ok(if run.verdict.status == Status::Void { Exit::Void } else { Exit::Done })
}

/// Has the coordinator work until all runs have ended, or until it is stopped.
fn work(coordinator: &mut Coordinator, interrupt: &Interrupt) -> Result<()> {
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
    format!("coordinator-{}", std::process::id())
}

fn asked(args: &MeshRunArgs) -> Result<MeshRequest, Failure> {
    let test = match args.test {
        MeshTestArg::Throughput => MeshTest::Throughput,
        MeshTestArg::Latency => MeshTest::Latency,
        MeshTestArg::Mtu => MeshTest::Mtu,
    };
    if args.together && test != MeshTest::Throughput {
        return Err(Failure::usage("--together is of throughput", "leave --test out"));
    }
    Ok(MeshRequest {
        test,
        time: args.time,
        pairs: read("--pair", &args.pair, mesh_run::pair_of)?,
        is_together: args.together,
        links: read("--link", &args.link, |text| text.parse::<Link>())?,
        uplinks: read("--uplink", &args.uplink, |text| text.parse::<Uplink>())?,
    })
}

/// The values of an option that can be given several times.
fn read<T>(
    option: &str,
    texts: &[String],
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let one = |text: &String| {
        read(text).map_err(|why| Failure::usage(format!("{option} {text}: {why}"), "see `pathmeter mesh run --help`"))
    };
    texts.iter().map(one).collect()
}

/// The agents that take part; none: all.
fn names(args: &MeshRunArgs, asked: &MeshRequest) -> Vec<String> {
    let mut names = args.agent.clone();
    names.extend(asked.pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()]));
    names
}

fn refused(error: PlanError) -> Failure {
    Failure::usage(error.to_string(), "`pathmeter mesh show` lists the agents; `pathmeter agent run` starts one")
}

fn estimate(plan: &MeshPlan, reports: &Reports, unreachable: &[String]) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}, {} in {}: about {}\n",
        counted(reports.len(), "agent"),
        counted(plan.runs(), "run"),
        counted(plan.rounds.iter().filter(|round| !round.is_empty()).count(), "round"),
        about(plan.duration()),
    );
    for pair in unreachable {
        text += &format!("not measured: {pair}, as neither listens (start one without --no-listen)\n");
    }
    text
}
