//! A command in a virtual machine of a lab that is up: the process that holds the lab starts it.

use super::{NOT_STARTED, shell_code};
use crate::exit::Exit;
use engine::error::Result;
use lab::error::LabError;
use lab::state::{Directory, HeldLab};
use lab::vm::{Asker, Lost, RemoteCommand};
use lab_run::refusal::failed;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::{ErrorKind, stderr, stdout};
use std::thread;

/// Runs the command and ends as it does.
pub(super) fn run(directory: &Directory, lab: &HeldLab, node: &str, command: &[OsString]) -> Result<Exit> {
    let args = args(node, command)?;
    // Before the command starts, so that none is missed.
    let signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    let command = RemoteCommand::start(directory, lab, node, args).map_err(failed)?;
    let asker = command.asker()?;
    thread::Builder::new().spawn(move || hand_on(signals, asker))?;
    let end = match command.follow(&mut stdout(), &mut stderr()) {
        Ok(end) => end,
        Err(Lost::Lab) => {
            let why = format!("the lab {} has gone, and the command with it", lab.name);
            return super::ended(Some(LOST), &why);
        }
        // The same exit code as for a command in a namespace: SIGPIPE.
        Err(Lost::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(Exit::Dialect(128 + 13));
        }
        Err(Lost::Output(error)) => return Err(error.into()),
    };
    let code = shell_code(end.code, end.signal);
    match end.error {
        None => Ok(Exit::Dialect(code.unwrap_or(u8::MAX))),
        Some(why) => super::ended(code.or(Some(NOT_STARTED)), &format!("node {node}: {why}")),
    }
}

/// The first signal asks the command to end, the next leaves it, which kills it.
fn hand_on(mut signals: Signals, mut asker: Asker) {
    let mut coming = signals.forever();
    if coming.next().is_some() && asker.terminate().is_ok() {
        coming.next();
    }
    // The command may have ended meanwhile.
    let _ = asker.leave();
}

fn args(node: &str, command: &[OsString]) -> Result<Vec<String>> {
    let refused = |cannot: &str| {
        failed(LabError::NotHere { node: node.to_owned(), what: "a virtual machine", cannot: cannot.into() })
    };
    if command.is_empty() {
        return Err(refused("a shell would have neither a terminal nor input in it; name a command"));
    }
    let args: Option<Vec<String>> = command.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    args.ok_or_else(|| refused("a command for it must be UTF-8"))
}

/// 128 and `SIGKILL`, as for a command in a namespace that goes.
const LOST: u8 = 128 + 9;
