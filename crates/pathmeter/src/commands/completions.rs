//! `pathmeter completions`: a completion script for a shell.

use super::output::deliver;
use crate::exit::Exit;
use cli::completions::script;
use cli::{Common, CompletionsArgs};
use engine::error::Result;

/// Writes the script to standard output, or to the file of `-o`.
pub(crate) fn run(args: &CompletionsArgs, global: &Common) -> Result<Exit> {
    deliver(global, &script(args.shell))
}
