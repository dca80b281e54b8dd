//! `pathmeter latency`: round trips, and what causes the tail.

mod compare;

use super::keep::Keep;
use super::live::carry_out;
use super::session::{conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, LatencyArgs};
use engine::error::Result;
use engine::run::{Options, Plan};

/// Runs the command.
pub(crate) fn run(args: &LatencyArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session.expect, "latency")?;
    let security = security(&args.session.identity)?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.session.dry_run {
        return print_plan(&plan, None, global);
    }
    let hosts: Vec<String> = args.hosts.iter().map(ToString::to_string).collect();
    let mut keep = Keep::open(&args.keep, "latency", &hosts.join(" "))?;
    let device = match &plan {
        Plan::Latency(work) => work.plan.egress_paths.first().and_then(|egress| egress.device.as_deref()),
        _ => None,
    };
    let capture = args.capture.options(device);
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    let whole = ended.error.is_none();
    let exit = conclude_all(ended, true, &expected, keep, global)?;
    if let (Some(Some(file)), true) = (&args.keep.save, whole) {
        compare::show(file, global)?;
    }
    Ok(exit)
}
