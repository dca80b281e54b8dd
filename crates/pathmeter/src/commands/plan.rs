//! `pathmeter plan`: files of paths, tests and repetitions, checked, shown and carried out.

mod known;
mod live;

use super::file_kind::is_no_topology;
use super::output::{deliver, journal_file, write};
use super::progress::{about, say};
use super::targets::named;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, PlanCheckArgs, PlanCommand, PlanRunArgs, PlanShowArgs};
use engine::error::{Failure, Kind, Result, sentence};
use experiment::{Head, Journal, Options, Plan, outline};
use lab::privilege::{Unprivileged, gain_and_enclose};
use linux::privilege::{Capabilities, Capability};
use live::Live;
use model::experiment::Experiment;

/// Runs the requested sub-command.
pub(crate) fn run(command: &PlanCommand, global: &Common) -> Result<Exit> {
    match command {
        PlanCommand::Check(args) => check(args, global),
        PlanCommand::Show(args) => show(args, global),
        PlanCommand::Run(args) => carry_out(args, global),
    }
}

/// Reads each file. Every one is reported before the bad ones end the program.
fn check(args: &PlanCheckArgs, global: &Common) -> Result<Exit> {
    let (mut text, mut faults) = (String::new(), Vec::new());
    args.files.iter().try_for_each(|file| is_no_topology(file))?;
    let known = named(&args.known.targets)?;
    for file in &args.files {
        match known::read(file, &args.known, &known) {
            Ok(plan) => text.push_str(&format!(
                "{}: {}: {} rows, {} runs\n",
                file.display(),
                plan.title,
                plan.cells().len(),
                plan.steps().len()
            )),
            Err(error) if error.kind() == Kind::Usage => faults.push(sentence(&error)),
            Err(error) => return Err(error),
        }
    }
    deliver(global, text.as_bytes())?;
    if faults.is_empty() { Ok(Exit::Done) } else { Err(known::faulty(faults.join("\n")).into()) }
}

fn show(args: &PlanShowArgs, global: &Common) -> Result<Exit> {
    let plan = known::plan(&args.plan)?;
    write(&[&outline(&plan)], &Common { chart: Vec::new(), ..global.clone() })
}

fn carry_out(args: &PlanRunArgs, global: &Common) -> Result<Exit> {
    let plan = known::plan(&args.plan)?;
    let file = &args.plan.file;
    // Before any thread is started: an ordinary user's process moves into a user namespace here.
    if plan.has_labs() {
        may_have_both(&plan)?;
        gain_and_enclose().map_err(|refused| Failure::usage(refused.to_string(), Unprivileged::ADVICE))?;
    }
    let journal = journal(args, &plan, global)?;
    say(&amount(&plan));
    let mut options = Options { stop: signals::interrupt()?, journal };
    let mut live = Live::new(args, &plan, global)?;
    let ended = known::run(&plan, &args.plan, &mut options, &mut |moment| live.show(moment));
    let unwritten = live.finish();
    let report = ended?;
    write(&[&report], global)?;
    let is_over = !options.stop.is_raised() && unwritten.is_none();
    if let Some(journal) = options.journal.filter(|_| is_over) {
        journal.remove()?;
    }
    for row in report.rows.iter().filter(|row| row.is_empty()) {
        let why = row.reason.as_deref().unwrap_or("it was stopped");
        say(&format!("error: {}: {}: {}", file.display(), row.name(), why.trim_end_matches('.')));
    }
    unwritten.map_or(Ok(exit(&report)), Err)
}

/// How much it will be, before it begins.
fn amount(plan: &Plan) -> String {
    let outline = outline(plan);
    let more = if outline.is_time_known { "" } else { ", and as long as those need that end by amount" };
    format!("{}: {} runs, about {}{more}", plan.title, outline.runs, about(outline.time))
}

/// A far end that does not answer is reported before expectations on it.
fn exit(report: &Experiment) -> Exit {
    match () {
        () if report.failed().next().is_some() => Exit::Unreachable,
        () if report.is_void() => Exit::Void,
        () if report.is_broken() => Exit::ExpectationBroken,
        () => Exit::Done,
    }
}

/// The network in which an ordinary user's labs are built has no route to the far ends of this host.
fn may_have_both(plan: &Plan) -> Result<()> {
    let rights = Capabilities::of_this_thread()?;
    let is_root = rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin);
    if is_root || !plan.is_of_here() {
        return Ok(());
    }
    let what = "paths of this host and paths in labs in one plan take root: without it labs lie in a network of \
                their own, from which this host's paths cannot be reached";
    let advice = "run it with sudo, or make two plans of it";
    Err(Failure::usage(what, advice).into())
}

/// The journal beside the file of `-o`: a new one, or with `--resume` that of the plan that was cut off.
fn journal(args: &PlanRunArgs, plan: &Plan, global: &Common) -> Result<Option<Journal>> {
    let Some(beside) = journal_file(global, args.resume, "plan")? else { return Ok(None) };
    if !args.resume {
        return Head::begin(&beside, plan, args.plan.time).map(Some);
    }
    let journal = Head::resume(&beside, plan, args.plan.time)?;
    say(&format!("{} runs were carried out before.", journal.known()));
    Ok(Some(journal))
}
