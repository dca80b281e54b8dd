//! `pathmeter lab run`: topologies built, measured, judged and compared.

use crate::commands::keep::Keep;
use crate::commands::output::write;
use crate::commands::progress::say;
use crate::commands::session::print_plan;
use crate::commands::steps::Steps;
use crate::exit::Exit;
use crate::signals;
use cli::{Common, LabRunArgs, LabTest};
use engine::error::{Failure, Kind, Result};
use lab::privilege::{Unprivileged, gain_and_enclose};
use lab_run::{Plan, Request, Test, run_in_machine};
use model::event::{Event, Progress};
use model::history::Measured;
use model::lab::LabReport;

/// Measures every topology.
pub(crate) fn run(args: &LabRunArgs, global: &Common) -> Result<Exit> {
    let plan = Plan::from_request(&request(args))?;
    if args.dry_run {
        return print_plan(&plan.value(), Some(plan.text()), global);
    }
    if args.in_vm {
        let keep = keep(args)?;
        let mut steps = Steps::new(global);
        let report = run_in_machine(&plan, &mut |event| show(&mut steps, event))?;
        drop(steps);
        return finish(global, &report, keep);
    }
    // Before any thread is started: an ordinary user's process moves into a user namespace here.
    gain_and_enclose().map_err(|refused| Failure {
        kind: Kind::Void,
        message: refused.to_string(),
        advice: Some(Unprivileged::ADVICE.into()),
    })?;
    let keep = keep(args)?;
    let interrupt = signals::interrupt()?;
    let mut steps = Steps::new(global);
    let report = lab_run::run(&plan, &interrupt, &mut |event| show(&mut steps, event))?;
    drop(steps);
    let exit = finish(global, &report, keep)?;
    // An expectation on a step that did not run may hold or not.
    Ok(if interrupt.is_raised() && exit == Exit::Done { Exit::Void } else { exit })
}

fn request(args: &LabRunArgs) -> Request {
    Request {
        topologies: args.topologies.clone(),
        compare: args.compare.clone(),
        tests: args.tests.iter().copied().map(test).collect(),
        frames: args.frames,
        ipv4: args.ipv4,
        ipv6: args.ipv6,
        time: args.time,
        rounds: args.runs,
        quick: args.quick,
        capture: args.capture.clone().zip(args.pcap.clone()),
    }
}

fn test(named: LabTest) -> Test {
    match named {
        LabTest::Tcp => Test::Tcp,
        LabTest::Udp => Test::Udp,
        LabTest::Latency => Test::Latency,
        LabTest::Mtu => Test::Mtu,
        LabTest::Measure => Test::Measure,
        LabTest::Tools => Test::Tools,
    }
}

fn keep(args: &LabRunArgs) -> Result<Keep> {
    let names = [args.topologies.as_slice(), args.compare.as_slice()].concat();
    Keep::open(&args.keep, "lab", &names.join(" "))
}

fn finish(global: &Common, report: &LabReport, keep: Keep) -> Result<Exit> {
    let written = write(&[report], global);
    // A result that could not be written is kept all the same.
    let kept = keep.finish(Measured::Lab(report));
    written.and(kept)?;
    for variant in &report.variants {
        if let Some(why) = &variant.unavailable {
            say(&format!("error: {}: {}", variant.name, why.trim_end_matches('.')));
        }
    }
    Ok(match (report.is_void(), report.is_broken()) {
        (true, _) => Exit::Void,
        (_, true) => Exit::ExpectationBroken,
        _ => Exit::Done,
    })
}

/// Shows the progress. Where every step is a line of its own, the time left is not repeated.
fn show(steps: &mut Steps, event: &Event) {
    let Event::Progress(Progress { part, doing }) = event else { return };
    let Some([step, all]) = part else { return steps.note(doing) };
    let left = steps.left(*step, *all).filter(|_| steps.is_live());
    steps.begin(format!("{step:>4}/{all}  {doing}"), left.as_deref());
}
