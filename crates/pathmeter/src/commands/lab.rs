//! `pathmeter lab`: topologies on this host, built, measured, compared and taken away.

mod check;
mod down;
mod exec;
mod list;
mod prepare;
mod run;
mod show;
mod sweep;
mod up;

use crate::exit::Exit;
use cli::{Common, LabArgs, LabCommand};
use engine::error::Result;

/// Runs the sub-command asked for.
pub(crate) fn run(args: &LabArgs, global: &Common) -> Result<Exit> {
    match &args.command {
        LabCommand::List(args) => list::run(args, global),
        LabCommand::Show(args) => show::run(args, global),
        LabCommand::Check(args) => check::run(args, global),
        LabCommand::Run(args) => run::run(args, global),
        LabCommand::Up(args) => up::run(args, global),
        LabCommand::Down(args) => down::run(args, global),
        LabCommand::Exec(args) => exec::run(args, global),
        LabCommand::Prepare(args) => prepare::run(args, global),
        LabCommand::Sweep(args) => sweep::run(args, global),
    }
}
