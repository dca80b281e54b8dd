//! The commands that measure a path: `measure`, `throughput`, `latency`, `mtu`, `hops`, `transfer` and `frames`.

mod compare;

use super::keep::Keep;
use super::live::carry_out;
use super::session::{announce, conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::Common;
use cli::request::{self, Measures, Shared, answered, expectations};
use engine::error::Result;
use engine::run::{Options, Plan};

/// Runs the command.
pub(crate) fn run(args: &impl Measures, global: &Common) -> Result<Exit> {
    let Shared { command, target, expect, dry_run, identity, keep: kept, capture, device } = args.shared();
    let expected = expectations(expect, command)?;
    let security = identity.map(security).transpose()?.unwrap_or_default();
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if dry_run {
        announce(&plan);
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(kept, command, &target)?;
    let device = match &plan {
        Plan::Latency(work) => work.plan.egress_paths.first().and_then(|egress| egress.device.as_deref()),
        _ => device,
    };
    let capture = capture.map(|capture| capture.options(device)).unwrap_or_default();
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    let is_whole = ended.error.is_none();
    let is_shown = !matches!(plan, Plan::Measure(_) | Plan::Pairs(_) | Plan::Frames(_));
    let exit = conclude_all(ended, is_shown, &expected, keep, global)?;
    if let (Plan::Latency(_), Some(Some(file)), true) = (&plan, &kept.save, is_whole) {
        compare::show(file, global)?;
    }
    Ok(exit)
}
