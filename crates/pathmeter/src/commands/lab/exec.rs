//! `pathmeter lab exec`: a command in a node of a lab that is up.

mod machine;
mod namespace;

use super::failure::failed;
use crate::cli::{Common, LabExecArgs};
use crate::exit::Exit;
use lab::hold::{find, node};
use lab::state::Directory;

/// Runs the command and ends as it does.
pub(crate) fn run(args: &LabExecArgs, _global: &Common) -> anyhow::Result<Exit> {
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
fn as_a_shell_tells(code: Option<i32>, signal: Option<i32>) -> Option<u8> {
    code.or_else(|| Some(128 + signal?)).and_then(|code| u8::try_from(code).ok())
}

/// What a shell says of a command that is not there.
const NOT_STARTED: u8 = 127;
