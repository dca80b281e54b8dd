//! `pathmeter hops`: which routers packets cross, and what of loss and delay is the path's.

use super::session::{EXPECT_OF_RUN, Live, conclude_all, parse_expectations, print_plan};
use crate::cli::{Common, HopsArgs};
use crate::exit::Exit;
use crate::request;
use crate::signals;
use engine::run::Options;

/// Runs the command.
pub(crate) fn run(args: &HopsArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = parse_expectations(&args.expect, EXPECT_OF_RUN)?;
    let plan = request::plan(args)?;
    if args.dry_run {
        return print_plan(&plan, global);
    }
    let capture = args.capture.options(args.origin.device.as_deref());
    let options = Options { stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = Live::new(global).run(&plan, options)?;
    conclude_all(ended, true, &expected, global)
}
