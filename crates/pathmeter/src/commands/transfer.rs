//! `pathmeter transfer`: real files over HTTP, HTTPS and S3, repeated and compared.

mod keys;
mod plan;
mod way;

use super::session::{EXPECT_OF_RUN, Live, conclude, parse_expectations, print_plan, too_early};
use crate::cli::{Common, TransferArgs};
use crate::exit::Exit;
use crate::signals;
use engine::preflight;
use engine::transfer::{self, Job, mtu};
use model::event::Event;
use plan::Planned;
use std::io::Write;

/// Runs the command.
pub(crate) fn run(args: &TransferArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = parse_expectations(&args.expect, EXPECT_OF_RUN)?;
    let Planned { plan, sources, family } = plan::plan(args)?;
    if args.dry_run {
        return print_plan(&plan, global);
    }
    preflight::transfer(&plan)?;
    if let Some(of) = &plan.mtu_of {
        mtu::check(&plan.mtus, of, plan.files.iter().any(|file| file.address.is_ipv6()))?;
    }
    let interrupt = signals::interrupt()?;
    let mut live = Live::new(global);
    let capture = args.capture.options(args.connection.origin.device.as_deref());
    let job = Job { plan: &plan, sources: &sources, family, capture, interrupt: &interrupt };
    let outcome = transfer::run(&job, &mut |event| {
        if let Event::Warning(warning) = event {
            // What is changed and who is trusted must be known before it happens. Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "warning: {}", warning.text);
        }
        live.event(event);
    });
    let measured = live.events.iter().any(|event| matches!(event, Event::Transfer(_)));
    match outcome {
        Err(e) if !measured => Err(e),
        // What was measured of a transfer that failed is kept.
        Err(e) => conclude(&live.run("transfer")?, true, &expected, global).and(Err(e)),
        Ok(()) if !measured => Err(too_early().into()),
        Ok(()) => conclude(&live.run("transfer")?, true, &expected, global),
    }
}
