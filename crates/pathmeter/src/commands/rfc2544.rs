//! `pathmeter rfc2544`: a device between two ports, or in a topology of the lab, benchmarked.

mod outcome;
mod plan;
mod progress;

use super::keep::Keep;
use super::output::{journal_file, style, style_of_errors};
use super::session::{print_plan, security};
use super::set::find;
use crate::exit::Exit;
use crate::signals;
use cli::files;
use cli::request::{self, parse_expectations};
use cli::{Common, Rfc2544Args};
use engine::error::{Failure, Result, fault};
use engine::run::{DevicePlan, Ended, Journal, Options, Plan};
use lab::privilege::{Unprivileged, gain_and_enclose};
use model::dut::{DutReport, compare_devices, compare_with};
use model::history::{Kept, Measured};
use progress::Live;
use report::format::rfc2544 as format;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs the command.
pub(crate) fn run(args: &Rfc2544Args, global: &Common) -> Result<Exit> {
    let expected = parse_expectations(&args.session.expect, EXAMPLE)?;
    let reference = args.against.as_deref().map(|name| reference(name, args)).transpose()?;
    let security = security(&args.session.identity)?;
    let plan = request::plan(args)?;
    let Plan::Device(devices) = &plan else { return Err(fault("the plan is none of devices")) };
    if args.session.dry_run {
        return print_plan(&plan, Some(plan::text(devices, &style(global))), global);
    }
    if !args.lab.is_empty() {
        // Before any thread is started: an ordinary user's process moves into a user namespace here.
        gain_and_enclose().map_err(|refused| Failure::usage(refused.to_string(), Unprivileged::ADVICE))?;
    }
    let ports: Vec<String> = args.ports.iter().map(ToString::to_string).collect();
    let target = [ports.as_slice(), args.lab.as_slice()].concat().join(" ");
    let keep = Keep::open(&args.keep, "rfc2544", &target)?;
    let journal = journal(args, devices, global)?;
    let stop = signals::interrupt()?;
    let options = Options { security, stop: stop.clone(), journal: journal.clone(), ..Options::default() };
    let mut live = Live::new(plan::text(devices, &style_of_errors(global)), global);
    let ended = engine::run::run(&plan, &options, &mut |event| live.event(event));
    drop(live);
    let Ended { document, error } = ended?;
    let Kept::Device(mut report) = document else { return Err(fault("devices made another document")) };
    report.id = keep.id().map(str::to_owned).unwrap_or(report.id);
    report.comparisons = match &reference {
        Some(reference) => compare_with(reference, &report),
        None => compare_devices(&report),
    };
    if reference.is_some() && report.comparisons.is_empty() {
        report.notes.push("The result of --against has none of these devices: nothing is compared.".into());
    }
    let concluded = outcome::conclude(&mut report, &expected, reference.is_some(), global);
    // A result that could not be written is kept all the same.
    let kept = keep.finish(Measured::Device(&report));
    let exit = concluded?;
    if let Some(journal) = journal.filter(|_| error.is_none() && !stop.is_raised()) {
        journal.lock().unwrap_or_else(PoisonError::into_inner).remove()?;
    }
    // The error is printed below the result.
    error.map_or(Ok(()), Err)?;
    kept.map(|()| exit)
}

/// The journal beside the file of `-o`: a new one, or with `--resume` that of the run that was cut off.
fn journal(args: &Rfc2544Args, plan: &DevicePlan, global: &Common) -> Result<Option<Arc<Mutex<Journal>>>> {
    let Some(beside) = journal_file(global, args.resume, "run")? else { return Ok(None) };
    let journal = match args.resume {
        true => plan.resume_journal(&beside)?,
        false => plan.begin_journal(&beside)?,
    };
    if args.resume {
        super::progress::say(&format!("{} orders were carried out before.", journal.known()));
    }
    Ok(Some(Arc::new(Mutex::new(journal))))
}

/// The result to compare with, read before anything is measured.
fn reference(name: &str, args: &Rfc2544Args) -> Result<DutReport> {
    let file = Path::new(name);
    if !file.is_file() {
        let none = || {
            let what = format!("--against {name}: none of these runs is of a device");
            Failure::usage(what, "`pathmeter history --kind rfc2544` lists those that are kept")
        };
        return Ok(find(name, &args.keep.store)?.device()?.ok_or_else(none)?);
    }
    let read = format::read(&files::text(file)?).map_err(|error| {
        let advice = "give the file that `pathmeter rfc2544 --json -o FILE` wrote";
        Failure::usage(format!("--against {name}: {error}"), advice)
    });
    Ok(read?)
}

const EXAMPLE: &str = "--expect '64.throughput>=1Mpps'";
