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

use super::file_kind::is_no_plan;
use crate::exit::Exit;
use cli::{Common, LabCommand};
use engine::error::Result;

/// Runs the requested sub-command.
pub(crate) fn run(command: &LabCommand, global: &Common) -> Result<Exit> {
    topologies(command).into_iter().try_for_each(is_no_plan)?;
    match command {
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

/// The topologies that are read.
fn topologies(command: &LabCommand) -> Vec<&str> {
    let all = match command {
        LabCommand::Show(args) => args.topologies.iter().collect::<Vec<&String>>(),
        LabCommand::Check(args) => args.topologies.iter().collect(),
        LabCommand::Run(args) => args.topologies.iter().chain(&args.compare).collect(),
        LabCommand::Up(args) => vec![&args.topology],
        _ => Vec::new(),
    };
    all.into_iter().map(String::as_str).collect()
}
