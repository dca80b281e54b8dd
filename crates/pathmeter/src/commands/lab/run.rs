//! `pathmeter lab run`: topologies built, measured, judged and compared.

mod execute;
mod inside;
mod judge;
mod notes;
mod outcome;
mod path;
mod plan;
mod progress;
mod real_frames;
mod site;
mod tap;
mod tools;

use crate::cli::{Common, LabRunArgs};
use crate::commands::chart;
use crate::commands::output::{deliver, write};
use crate::exit::Exit;
use crate::signals;
use engine::capture::Capture;
use engine::error::{Failure, Kind};
use engine::host;
use engine::interrupt::Interrupt;
use lab::feature;
use lab::privilege::{Unprivileged, gain_and_enclose};
use lab::topology::Place;
use linux::clock::wall_now;
use model::lab::{LabReport, SCHEMA, conclude};
use plan::{Plan, minutes};
use progress::Progress;
use report::format::lab as format;
use site::Site;
use tap::Tap;

/// Measures every topology.
pub(crate) fn run(args: &LabRunArgs, global: &Common) -> anyhow::Result<Exit> {
    chart::check(&args.chart)?;
    let plan = Plan::of(args)?;
    let tap = Tap::of(args, &plan)?;
    if args.dry_run {
        deliver(global, plan.text().as_bytes())?;
        return Ok(Exit::Done);
    }
    if args.in_vm {
        return finish(args, global, &inside::measure(args, &plan)?);
    }
    // Before any thread is started: an ordinary user's process moves into a user namespace here.
    gain_and_enclose().map_err(|refused| Failure {
        kind: Kind::Void,
        message: refused.to_string(),
        advice: Some(Unprivileged::ADVICE.into()),
    })?;
    let interrupt = signals::interrupt()?;
    let report = measure(&plan, tap.as_ref(), &interrupt)?;
    let exit = finish(args, global, &report)?;
    // What did not run may hold or not.
    Ok(if interrupt.is_raised() && exit == Exit::Done { Exit::Void } else { exit })
}

fn finish(args: &LabRunArgs, global: &Common, report: &LabReport) -> anyhow::Result<Exit> {
    let drawn = || format::sweeps(report).map_or_else(|| format::chart(report).svg(), |lines| lines.svg());
    write(&[report], global)?;
    chart::write(&args.chart, drawn)?;
    Ok(match (report.is_void(), report.is_broken()) {
        (true, _) => Exit::Void,
        (_, true) => Exit::ExpectationBroken,
        _ => Exit::Done,
    })
}

fn measure(plan: &Plan, tap: Option<&Tap>, interrupt: &Interrupt) -> anyhow::Result<LabReport> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let started = wall_now();
    let mut sites = build(plan, &program);
    let mut schedule = plan.schedule();
    schedule.retain(|(_, variant, _)| sites[*variant].lab.is_some());
    let first = schedule.first().map(|(_, _, step)| step.target.ip());
    let capture = tap.zip(first).map(|(tap, peer)| tap.start(&sites[0], peer)).transpose()?.flatten();
    let progress = Progress::new(&schedule, plan.time);
    for (number, (round, variant, step)) in schedule.iter().enumerate() {
        if interrupt.is_raised() {
            break;
        }
        progress.step(number, &plan.variants[*variant].topology.name, step);
        execute::step(&mut sites[*variant], step, *round, plan, &program, interrupt);
    }
    progress.end();
    capture.map(Capture::finish);
    let mut report = report(plan, sites, interrupt.is_raised());
    report.started = Some(started);
    if interrupt.is_raised() {
        report.notes.push("It was interrupted: some tests are missing.".into());
    }
    conclude(&mut report, plan.compared);
    Ok(report)
}

/// Builds every topology, so that their tests can take turns.
fn build(plan: &Plan, program: &str) -> Vec<Site> {
    progress::say(&format!("about {}", minutes(plan.duration())));
    let mut host = feature::Host::default();
    let mut sites = Vec::new();
    for planned in &plan.variants {
        progress::say(&format!("building {}", planned.topology.name));
        for node in &planned.topology.nodes {
            if let Place::External { instructions } = &node.place {
                progress::say(&format!("{} is set up by hand:\n{instructions}", node.name));
            }
        }
        sites.push(Site::new(planned, &mut host, program));
    }
    sites
}

fn report(plan: &Plan, sites: Vec<Site>, is_cut: bool) -> LabReport {
    let host = host::describe(None);
    let judged = plan.variants.iter().zip(sites).map(|(planned, mut site)| {
        let complete = planned.is_complete() && !is_cut;
        site.variant.expectations = judge::judge(&planned.topology, &site, complete);
        if planned.is_sweep() {
            site.variant.expectations.retain(|one| one.held.is_some());
        }
        site.variant
    });
    LabReport {
        schema: SCHEMA.into(),
        started: None,
        finished: Some(wall_now()),
        repetitions: plan.rounds,
        time: plan.time,
        variants: judged.collect(),
        comparisons: Vec::new(),
        notes: notes::notes(plan, &host),
        host: Some(host),
    }
}
