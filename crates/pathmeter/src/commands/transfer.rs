//! `pathmeter transfer`: real files over HTTP, HTTPS and S3, repeated and compared.

mod keys;
mod plan;
mod way;

use super::session::{EXPECT_OF_RUN, Live, conclude_all, parse_expectations, print_plan};
use crate::cli::{Common, TransferArgs};
use crate::exit::Exit;
use crate::signals;
use engine::preflight;
use engine::run::{Options, Plan};
use engine::transfer::mtu;

/// Runs the command.
pub(crate) fn run(args: &TransferArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = parse_expectations(&args.expect, EXPECT_OF_RUN)?;
    let work = plan::plan(args)?;
    let plan = &work.plan;
    if args.dry_run {
        return print_plan(plan, global);
    }
    preflight::transfer(plan)?;
    if let Some(of) = &plan.mtu_of {
        mtu::check(&plan.mtus, of, plan.files.iter().any(|file| file.address.is_ipv6()))?;
    }
    let capture = args.capture.options(args.connection.origin.device.as_deref());
    let options = Options { stop: signals::interrupt()?, capture, ..Options::default() };
    let ended = Live::new(global).run(&Plan::Transfer(Box::new(work)), options)?;
    conclude_all(ended, true, &expected, global)
}
