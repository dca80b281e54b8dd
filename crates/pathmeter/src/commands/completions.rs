//! `pathmeter completions`: a completion script for a shell, made from the command line's own definition.

use crate::cli::{Cli, Common, CompletionsArgs};
use crate::exit::Exit;
use anyhow::Context;
use clap::CommandFactory;
use std::io::Write;

/// Writes the script to standard output, or to the file of `-o`.
pub(crate) fn run(args: &CompletionsArgs, global: &Common) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pathmeter", &mut script);
    match &global.output {
        Some(path) => std::fs::write(path, script).with_context(|| format!("write {}", path.display()))?,
        None => std::io::stdout().write_all(&script).context("write standard output")?,
    }
    Ok(Exit::Done)
}
