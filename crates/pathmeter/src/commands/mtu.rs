//! `pathmeter mtu`: which packets a path carries, in both directions, and what to set.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, MtuArgs};
use engine::error::Result;
use engine::run::Options;

/// Runs the command.
pub(crate) fn run(args: &MtuArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session.expect, "mtu")?;
    let security = security(&args.session.identity)?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.session.dry_run {
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "mtu", &args.target.host.to_string())?;
    let capture = args.capture.options(args.target.origin.device.as_deref());
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, true, &expected, keep, global)
}
