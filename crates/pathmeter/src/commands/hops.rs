//! `pathmeter hops`: which routers packets cross, and what of loss and delay is the path's.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, HopsArgs};
use engine::error::Result;
use engine::run::Options;

/// Runs the command.
pub(crate) fn run(args: &HopsArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.expect, "hops")?;
    let security = security(&args.identity)?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.dry_run {
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "hops", &args.host.to_string())?;
    let capture = args.capture.options(args.origin.device.as_deref());
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, true, &expected, keep, global)
}
