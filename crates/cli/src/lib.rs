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
#[cfg(test)]
mod glossary;
pub mod keys;
pub mod man;
pub mod request;
pub mod written;

pub use arguments::*;

use clap::parser::ValueSource;
use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches};
use config::Config;
use engine::error::{Error, Failure};
use foreign::Refused;
use report::format::{Format, by_name};
use std::ffi::OsString;

/// Reads the command line and adds the configuration. `args`: the program's name and its arguments.
///
/// # Errors
/// Help is requested, the arguments are wrong, or the configuration cannot be read or has values that no option takes.
pub fn read(args: Vec<OsString>) -> Result<(Cli, Config), Unread> {
    let program = shortened(Cli::command().color(colours()), width());
    let program = if args.len() > 1 { program } else { without_command(program, width()) };
    let (mut matches, args) = foreign::understood(&program, args)?;
    let config = Config::from_matches(&matches)?;
    if !config.defaults.is_empty() {
        matches = config.with_defaults(program, &matches)?.try_get_matches_from(args)?;
    }
    let mut cli = Cli::from_arg_matches(&matches)?;
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

/// Colours of help and errors. The library prints control codes on a dumb terminal where `CI` is set.
fn colours() -> ColorChoice {
    match std::env::var_os("TERM") {
        Some(terminal) if terminal == "dumb" => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// The format that the words of a command line request, whether it is understood or not; absent: none, or several.
#[must_use]
pub fn requested_format(args: &[OsString]) -> Option<&'static Format> {
    let texts: Vec<&str> =
        args.iter().filter_map(|arg| arg.to_str()).take_while(|text| *text != "--").collect();
    let names = texts.iter().enumerate().filter_map(|(at, text)| match *text {
        "--json" => Some("json"),
        "--format" => texts.get(at + 1).copied(),
        text => text.strip_prefix("--format="),
    });
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    if let [name] = names.as_slice() { by_name(name) } else { None }
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum Unread {
    /// Help or version is requested, or clap refuses the arguments.
    Clap(clap::Error),
    /// Another error.
    Error(Error),
}

impl From<clap::Error> for Unread {
    fn from(error: clap::Error) -> Unread {
        Unread::Clap(error)
    }
}

impl From<Error> for Unread {
    fn from(error: Error) -> Unread {
        Unread::Error(error)
    }
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Unread {
        Unread::Error(failure.into())
    }
}

/// A foreign word is an error of ours; everything else is clap's.
impl From<Refused> for Unread {
    fn from(refused: Refused) -> Unread {
        match refused {
            Refused::Clap(error) => error.into(),
            Refused::Foreign(failure) => failure.into(),
        }
    }
}
