//! `pathmeter lab exec`: a command in a node of a lab that is up.

mod machine;
mod namespace;

use crate::exit::Exit;
use cli::{Common, LabExecArgs};
use engine::error::Result;
use lab::hold::{find, node};
use lab::state::Directory;
use lab_run::refusal::failed;
use std::io::Write;

/// Runs the command and ends as it does.
pub(crate) fn run(args: &LabExecArgs, _global: &Common) -> Result<Exit> {
    let directory = Directory::open().map_err(failed)?;
    let labs = directory.labs().map_err(failed)?;
    let lab = find(&labs, args.lab.as_deref()).map_err(failed)?;
    let node = node(&lab, &args.node).map_err(failed)?;
    if node.namespace.is_none() {
        return machine::run(&directory, &lab, &node.name, &args.command);
    }
    namespace::run(&lab, node, &args.command)
}

/// An exit code, or the number of a signal added to 128.
fn shell_code(code: Option<i32>, signal: Option<i32>) -> Option<u8> {
    code.or_else(|| Some(128 + signal?)).and_then(|code| u8::try_from(code).ok())
}

/// Prints why the command could not run to its end, and ends as a shell would; `u8::MAX` where that has no number.
fn ended(code: Option<u8>, why: &str) -> Result<Exit> {
    writeln!(std::io::stderr(), "error: {why}")?;
    Ok(Exit::Dialect(code.unwrap_or(u8::MAX)))
}

/// A shell's exit code for a command that does not exist.
const NOT_STARTED: u8 = 127;
