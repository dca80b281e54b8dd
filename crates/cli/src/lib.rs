//! The command line of pathmeter: its arguments ([`Cli`]), the additions of the configuration file ([`config`]), the resulting
//! requests to the engine ([`request`]), and the exit codes. Manual pages and completions are generated from it. This crate
//! measures and prints nothing.

#[cfg(test)]
mod advised;
#[expect(
    missing_docs,
    reason = "a comment here is help that users read; groups of options are described by their types"
)]
pub mod arguments;
pub mod completions;
pub mod config;
pub mod exit;
pub mod files;
mod foreign;
pub mod man;
pub mod request;
pub mod written;

pub use arguments::*;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use config::Config;
use engine::error::{Context, Result};
use foreign::Refused;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};

/// Reads the command line and adds the configuration. `args`: the program's name and its arguments. For a request of help and for
/// wrong arguments (exit code 2) the process ends here, as with clap.
///
/// # Errors
/// The configuration cannot be read, or has values that no option takes; or the help cannot be written.
pub fn read(args: Vec<OsString>) -> Result<(Cli, Config)> {
    let program = shortened(Cli::command(), width());
    let program = if args.len() > 1 { program } else { without_command(program, width()) };
    let (mut matches, args) = foreign::understood(&program, args).or_else(refused)?;
    let config = Config::from_matches(&matches)?;
    if !config.defaults.is_empty() {
        matches = config.with_defaults(program, &matches)?.try_get_matches_from(args).or_else(end)?;
    }
    let mut cli = Cli::from_arg_matches(&matches).or_else(end)?;
    // A store in the environment is only for runs that are to be stored; one on the command line requests that this run is.
    let is_named = |matches: &ArgMatches| {
        matches.try_contains_id("store").is_ok()
            && matches.value_source("store") == Some(ValueSource::CommandLine)
    };
    let names_store = matches.subcommand().is_some_and(|(_, matches)| is_named(matches));
    if let Some(keep) = cli.keep_mut().filter(|keep| names_store && !keep.no_save) {
        keep.save.get_or_insert(None);
    }
    config.settle(&mut cli)?;
    foreign::check_hosts(&mut cli)?;
    foreign::check_output(&cli)?;
    Ok((cli, config))
}

/// A foreign word is an error of ours; everything else is clap's.
fn refused<T>(refused: Refused) -> Result<T> {
    match refused {
        Refused::Clap(error) => end(error),
        Refused::Foreign(failure) => Err(failure.into()),
    }
}

/// Ends the process with what clap has to say: help and version on standard output, all else on standard error.
fn end<T>(error: clap::Error) -> Result<T> {
    match error.print().and_then(|()| std::io::stdout().flush()) {
        Err(failed) if !error.use_stderr() && failed.kind() != ErrorKind::BrokenPipe => {
            Err(failed).context("write standard output")
        }
        _ => std::process::exit(error.exit_code()),
    }
}
