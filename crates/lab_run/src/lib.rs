//! The work of `pathmeter lab run`: builds topologies, starts programs in their nodes (our own like any other), reads their output,
//! and judges and compares it. This crate uses our program only by its command line and its documents.

pub mod catalogue;
mod execute;
mod inside;
mod judge;
mod nodes;
mod notes;
mod observed;
mod outcome;
mod path;
mod plan;
mod progress;
mod real_frames;
pub mod refusal;
mod tap;
mod testbed;
mod tools;

pub use inside::run_in_machine;
pub use plan::{Plan, Request, Test};

use engine::error::Result;
use engine::host;
use engine::host::capture::Capture;
use engine::host::interrupt::Interrupt;
use lab::feature;
use lab::topology::NodePlace;
use linux::clock::wall_now;
use model::event::Event;
use model::lab::{INTERRUPTED, LabReport, SCHEMA, conclude};
use plan::minutes;
use progress::Progress;
use testbed::Testbed;

/// Measures every topology of the plan in turn, with progress to `sink`. The caller needs [`lab::privilege::gain_and_enclose`],
/// before the first thread is started.
///
/// # Errors
/// A capture cannot be started, or the program is not found. A topology that cannot be built is void in the report.
pub fn run(plan: &Plan, stop: &Interrupt, sink: &mut dyn FnMut(&Event)) -> Result<LabReport> {
    // This program, which is started in the nodes.
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let started = wall_now();
    let mut sites = build(plan, &program, sink);
    let mut schedule = plan.schedule();
    schedule.retain(|(_, variant, _)| sites[*variant].lab.is_some());
    let first = schedule.first().map(|(_, _, step)| step.target.ip());
    let capture = match (&plan.tap, first) {
        (Some(tap), Some(peer)) => tap::start(tap, &sites[0], peer)?,
        _ => None,
    };
    let progress = Progress::new(&schedule, plan.time);
    for (number, (round, variant, step)) in schedule.iter().enumerate() {
        if stop.is_raised() {
            break;
        }
        sink(&progress.step(number, &plan.variants[*variant].topology.name, step));
        execute::step(&mut sites[*variant], step, *round, plan, &program, stop);
    }
    sink(&progress.end());
    capture.map(Capture::finish);
    let mut report = report(plan, sites, stop.is_raised());
    report.started = Some(started);
    if stop.is_raised() {
        report.notes.push(INTERRUPTED.into());
    }
    conclude(&mut report, plan.compared);
    Ok(report)
}

/// Builds every topology, so that their tests can take turns.
fn build(plan: &Plan, program: &str, sink: &mut dyn FnMut(&Event)) -> Vec<Testbed> {
    let mut say = |text: String| sink(&Event::progress(text));
    say(format!("about {}", minutes(plan.duration())));
    let mut host = feature::Host::default();
    let mut sites = Vec::new();
    for planned in &plan.variants {
        say(format!("building {}", planned.topology.name));
        for node in &planned.topology.nodes {
            if let NodePlace::External { instructions } = &node.place {
                say(format!("{} is set up by hand:\n{instructions}", node.name));
            }
        }
        sites.push(Testbed::new(planned, &mut host, program));
    }
    sites
}

fn report(plan: &Plan, sites: Vec<Testbed>, is_cut: bool) -> LabReport {
    let host = host::describe(None);
    let judged = plan.variants.iter().zip(sites).map(|(planned, mut testbed)| {
        let complete = planned.is_complete() && !is_cut;
        testbed.variant.expectations = judge::judge(&planned.topology, &testbed, complete);
        if planned.is_sweep() {
            testbed.variant.expectations.retain(|one| one.held.is_some());
        }
        testbed.variant
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
