//! `pathmeter completions`: a completion script for a shell, made from the command line's own definition.

use super::output::deliver;
use crate::cli::{Cli, Common, CompletionsArgs};
use crate::exit::Exit;
use clap::CommandFactory;
use engine::error::Result;

/// Writes the script to standard output, or to the file of `-o`.
pub(crate) fn run(args: &CompletionsArgs, global: &Common) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pathmeter", &mut script);
    deliver(global, &script)?;
    Ok(Exit::Done)
}
