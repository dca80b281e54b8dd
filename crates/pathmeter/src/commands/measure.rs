//! `pathmeter measure`: the main job. Reach, idle RTT, datagram sizes, TCP and UDP in each direction, reasons, verdict.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{announce_load, conclude_all, print_plan, security};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, MeasureArgs};
use engine::error::Result;
use engine::run::Options;
use std::io::Write;

/// Runs the command.
pub(crate) fn run(args: &MeasureArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.session.expect, "measure")?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    let security = security(&args.session.identity)?;
    if args.session.dry_run {
        let _ = writeln!(
            std::io::stderr(),
            "note: of the UDP tests, length and bitrate are known only then: the largest payload found to cross whole, and \
             the highest rate of some short trials that loses nothing"
        );
        announce_load(&plan);
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "measure", &args.target.host.to_string())?;
    let capture = args.capture.options(args.target.origin.device.as_deref());
    let options = Options { security, stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, false, &expected, keep, global)
}
