//! `pathmeter mesh run`: every pair of the agents that are there, in rounds.

use super::{agents, connect, failed, print};
use crate::commands::output::deliver;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, MeshRunArgs, MeshTestArg};
use engine::error::{Failure, Result};
use engine::host::interrupt::Interrupt;
use fleet::broker::nats::Nats;
use fleet::clock::{Clock, SystemClock};
use fleet::coordinator::{Coordinator, Sink};
use fleet::lease::Class;
use fleet::mesh::{MeshPlan, RunRequest, Site};
use fleet::results::{ResultFile, Results};
use fleet::setup::COORDINATOR;
use mesh::job::{MeshJob, MeshTest};
use mesh::matrix::{report_of_results, results_of_runs, runs_of_plan};
use model::mesh::MeshReport;
use model::units::Nanos;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// The agents, with what they report of themselves.
type Reports = BTreeMap<String, Value>;

pub(super) fn run(args: &MeshRunArgs, global: &Common) -> Result<Exit> {
    let nats = connect(&args.nats, COORDINATOR)?;
    nats.make_streams(1).map_err(failed)?;
    let reports: Reports = chosen(agents(&nats)?.into_iter().collect(), &args.agent)?;
    let name = args.name.clone().unwrap_or_else(|| args.results.display().to_string());
    let (plan, unreachable) = plan(&name, &reports, args);
    let estimate = estimate(&plan, &reports, &unreachable);
    if args.dry_run {
        deliver(global, estimate.as_bytes())?;
        return Ok(Exit::Done);
    }
    let _ = std::io::stderr().write_all(estimate.as_bytes());
    let interrupt = signals::interrupt()?;
    let file = ResultFile::open(&args.results).map_err(failed)?;
    #[cfg(feature = "store")]
    let mut sink = super::kept::sink(args, file)?;
    #[cfg(not(feature = "store"))]
    let mut sink: Box<dyn Sink> = Box::new(file);
    #[cfg(feature = "store")]
    let alerts = super::kept::Alerts::of(args)?;
    let mut runs = HashSet::new();
    let mut carry_out = |plan: MeshPlan| {
        runs.extend(runs_of_plan(&plan));
        carry_out(&nats, plan, &mut *sink, &interrupt)
    };
    carry_out(plan.clone())?;
    #[cfg(feature = "store")]
    if let Some(alerts) = &alerts {
        alerts.again(&plan, &mut carry_out)?;
    }
    let results = results_of_runs(Results::read(&args.results).map_err(failed)?, &runs);
    let report =
        report_of_results(&name, &results, unreachable.iter().map(|pair| neither_listens(pair)).collect());
    #[cfg(feature = "store")]
    if let Some(alerts) = alerts {
        alerts.tell(&report, &results)?;
    }
    print(&MeshReport { label: label(args), ..report }, global)
}

/// Has every run of a plan carried out, until all have ended or it is interrupted.
fn carry_out(nats: &Nats, plan: MeshPlan, sink: &mut dyn Sink, interrupt: &Interrupt) -> Result<()> {
    let id = format!("coordinator-{}-{}", std::process::id(), SystemClock.wall().0);
    let mut coordinator = Coordinator::new(id, nats, &SystemClock, plan, sink).map_err(failed)?;
    let mut told = None;
    while !coordinator.is_complete() && !interrupt.is_raised() {
        let due = coordinator.step().map_err(failed)?;
        tell(&coordinator, &mut told);
        coordinator.rest(due).map_err(failed)?;
    }
    coordinator.resign().map_err(failed)
}

/// The label of its runs in a store; empty: they are in none.
fn label(args: &MeshRunArgs) -> String {
    #[cfg(feature = "store")]
    if args.save {
        return args.label.clone();
    }
    String::new()
}

fn neither_listens(pair: &str) -> String {
    format!("not measured: {pair}, as neither listens (start one without --no-listen)")
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
        let _ = writeln!(std::io::stderr(), "{} {state}", SystemClock.wall());
        *told = Some(state);
    }
}

fn chosen(mut reports: Reports, names: &[String]) -> Result<Reports> {
    if let Some(missing) = names.iter().find(|name| !reports.contains_key(*name)) {
        let there: Vec<&str> = reports.keys().map(String::as_str).collect();
        let what = format!("no agent is called {missing}; there are: {}", there.join(", "));
        return Err(Failure::usage(what, "start it on its host: pathmeter agent run").into());
    }
    reports.retain(|name, _| names.is_empty() || names.contains(name));
    if reports.len() < 2 {
        let what = format!("a mesh needs two agents, and {} is there", reports.len());
        return Err(Failure::usage(what, "start them on their hosts: pathmeter agent run").into());
    }
    Ok(reports)
}

/// The plan, and the pairs that cannot be measured as neither end listens.
fn plan(name: &str, reports: &Reports, args: &MeshRunArgs) -> (MeshPlan, Vec<String>) {
    let sites: Vec<Site> = reports.keys().map(Site::sole).collect();
    let listens = |site: &Site| reports[&site.agent]["listens"].as_bool() == Some(true);
    let mut unreachable = Vec::new();
    for (index, a) in sites.iter().enumerate() {
        let deaf = sites[index + 1..].iter().filter(|b| !listens(a) && !listens(b));
        unreachable.extend(deaf.map(|b| format!("{} and {}", a.agent, b.agent)));
    }
    let plan = MeshPlan::new(name, &sites, None, &[], |a, b| {
        let (opener, listener) = match (listens(a), listens(b)) {
            (_, true) => (a, b),
            (true, false) => (b, a),
            (false, false) => return Vec::new(),
        };
        requests(opener, listener, &reports[&listener.agent], args)
    });
    (plan, unreachable)
}

/// The runs of a pair: all are carried out by the end that opens the connections.
fn requests(opener: &Site, listener: &Site, report: &Value, args: &MeshRunArgs) -> Vec<RunRequest> {
    let (test, class, ways): (_, _, &[bool]) = match args.test {
        MeshTestArg::Throughput => (MeshTest::Throughput, Class::Exclusive, &[false, true]),
        MeshTestArg::Latency => (MeshTest::Latency, Class::Normal, &[false]),
        MeshTestArg::Mtu => (MeshTest::Mtu, Class::Background, &[false]),
    };
    let each = |reverse: &bool| {
        let (from, to) = if *reverse { (listener, opener) } else { (opener, listener) };
        let job = MeshJob {
            from: from.agent.clone(),
            to: to.agent.clone(),
            test,
            host: report["address"].as_str().unwrap_or_default().to_owned(),
            port: report["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(5210),
            reverse: *reverse,
            time: args.time,
        };
        RunRequest {
            agent: opener.agent.clone(),
            title: job.title(),
            part: format!("{}-{test:?}", if *reverse { "down" } else { "up" }),
            class,
            span: args.time.saturating_add(AROUND),
            body: serde_json::to_string(&job).unwrap_or_default(),
        }
    };
    ways.iter().map(each).collect()
}

fn estimate(plan: &MeshPlan, reports: &Reports, unreachable: &[String]) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "{}, {} in {}: about {} s\n",
        counted(reports.len(), "agent"),
        counted(plan.runs(), "run"),
        counted(plan.rounds.iter().filter(|round| !round.is_empty()).count(), "round"),
        plan.duration().0 / 1_000_000_000,
    );
    for pair in unreachable {
        text += &format!("{}\n", neither_listens(pair));
    }
    text
}

/// What connecting and the exchange of results take beside a test.
const AROUND: Nanos = Nanos::from_secs(2);
