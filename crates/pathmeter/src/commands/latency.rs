//! `pathmeter latency`: round trips, and what causes the tail.

mod compare;

use super::session::{Live, conclude, expectations, print_plan, security};
use crate::cli::{Common, LatencyArgs};
use crate::exit::Exit;
use crate::request;
use crate::signals;
use engine::error::Result;
use engine::run::{Options, Plan};

/// Runs the command.
pub(crate) fn run(args: &LatencyArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session)?;
    let security = security(&args.session)?;
    let plan = request::plan(args)?;
    if args.session.dry_run {
        return print_plan(&plan, global);
    }
    let device = match &plan {
        Plan::Latency(work) => work.plan.ways.first().and_then(|way| way.device.as_deref()),
        _ => None,
    };
    let capture = args.capture.options(device);
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let mut ended = Live::new(global).run(&plan, options)?;
    let exit = conclude(&mut ended.run, true, &expected, global)?;
    if let (Some(file), None) = (&args.ways.save, &ended.error) {
        compare::save_and_show(&ended.run, file, global)?;
    }
    ended.error.map_or(Ok(exit), Err)
}
