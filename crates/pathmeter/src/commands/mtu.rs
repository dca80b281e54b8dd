//! `pathmeter mtu`: which packets a path carries, both ways, and what to set.

use super::session::{Live, conclude, expectations, print_plan, security, too_early};
use crate::cli::{Common, MtuArgs};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use engine::error::{Failure, Kind};
use engine::path::{self, Job};
use engine::{capture, preflight, reach};
use model::event::Event;
use model::reach::Reach;
use std::io::{IsTerminal, Write};
use wire::ProtocolError;

/// Runs the command.
pub(crate) fn run(args: &MtuArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let security = security(&args.session)?;
    let plan = planner::mtu(args)?;
    if args.session.dry_run {
        return print_plan(&plan, global);
    }
    preflight::way(&plan.target, &plan.local)?;
    let interrupt = signals::interrupt()?;
    let job = Job { plan: &plan, security: &security, interrupt: &interrupt };
    let mut live = Live::new(global);
    let terminal = std::io::stderr().is_terminal();
    let mut progress = |line: &str| {
        // Progress is a courtesy: a closed standard error stops nothing.
        if terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K{line} …");
        }
    };
    let options = args.capture.options(args.target.origin.device.as_deref());
    let watch = reach::watch(plan.target.address.ip());
    let capture = capture::start(&options, plan.target.address.ip())?;
    let outcome = path::run(&job, &mut progress, &mut |event| live.event(event));
    if terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    if let Some(seen) = watch.and_then(|watch| watch.finish(Reach::default())) {
        live.event(&seen);
    }
    if let Some(capture) = capture {
        live.event(&capture.finish());
    }
    let found = live.events.iter().any(|event| matches!(event, Event::Path(_)));
    match outcome {
        Err(_) if !found && interrupt.is_raised() => return Err(too_early().into()),
        Err(e) if !found => return Err(blame(e)),
        _ => {}
    }
    let exit = conclude(&live.run("mtu")?, true, &expected, global)?;
    outcome.map(|()| exit)
}

fn blame(error: anyhow::Error) -> anyhow::Error {
    let advice = match error.downcast_ref::<ProtocolError>() {
        Some(ProtocolError::Flows(_)) => "ask the host itself: --protocol icmp, udp or tcp",
        Some(ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_)) => {
            "check that `pathmeter serve` listens there, or ask the host itself: --protocol icmp, udp or tcp"
        }
        _ => return error,
    };
    let failure =
        Failure { kind: Kind::of(&error), message: "probe session".into(), advice: Some(advice.into()) };
    error.context(failure)
}
