//! `pathmeter throughput`: how much a path carries, and what limits it.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{announce_load, conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, ThroughputArgs};
use engine::error::Result;
use engine::run::{Options, Plan};

/// Runs the command.
pub(crate) fn run(args: &ThroughputArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session.expect, "throughput")?;
    let security = security(&args.session.identity)?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.session.dry_run {
        announce_load(&plan);
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "throughput", &args.target.host.to_string())?;
    let capture = args.capture.options(args.target.origin.device.as_deref());
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let is_shown = !matches!(plan, Plan::Pairs(_));
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, is_shown, &expected, keep, global)
}
