//! `pathmeter transfer`: real files over HTTP, HTTPS and S3, repeated and compared.

use super::keep::Keep;
use super::live::carry_out;
use super::session::{conclude_all, print_plan};
use crate::exit::Exit;
use crate::signals;
use cli::request::{self, answered, expectations};
use cli::{Common, TransferArgs};
use engine::error::Result;
use engine::run::Options;

/// Runs the command.
pub(crate) fn run(args: &TransferArgs, global: &Common) -> Result<Exit> {
    let expected = expectations(&args.expect, "transfer")?;
    let plan = request::plan(args)?;
    answered(&expected, &plan)?;
    if args.dry_run {
        return print_plan(&plan, None, global);
    }
    let mut keep = Keep::open(&args.keep, "transfer", &args.urls.join(" "))?;
    let capture = args.capture.options(args.connection.origin.device.as_deref());
    let options = Options { stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = carry_out(&plan, options, &mut keep, global)?;
    conclude_all(ended, true, &expected, keep, global)
}
