//! `pathmeter frames`: what the path carries in Ethernet frames of each size, against line rate.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, FramesArgs};
use engine::error::Result;
use engine::run::Options;

/// Runs the command.
pub(crate) fn run(args: &FramesArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session.expect, "frames")?;
    let security = security(&args.session.identity)?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.session.dry_run {
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "frames", &args.target.host.to_string())?;
    let options = Options { security, stop: signals::interrupt()?, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, false, &expected, keep, global)
}
