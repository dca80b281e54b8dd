//! `pathmeter lab exec`: a command in a node of a lab that is up.

use super::failure::failed;
use crate::cli::{Common, LabExecArgs};
use crate::exit::{Exit, Failure};
use lab::hold::{command, find};
use lab::state::Directory;
use linux::process::{Process, Signal};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// Runs the command and ends as it does.
pub(crate) fn run(args: &LabExecArgs, _global: &Common) -> anyhow::Result<Exit> {
    let labs = Directory::open().and_then(|directory| directory.labs()).map_err(failed)?;
    let lab = find(&labs, args.lab.as_deref()).map_err(failed)?;
    let (program, rest) = match args.command.split_first() {
        Some((program, rest)) => (program.clone(), rest),
        None => (std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()), &[][..]),
    };
    // Before the command starts, so that its end is not missed.
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    let child = command(&lab, &args.node, &program).map_err(failed)?.args(rest).spawn();
    let mut child = child.map_err(|error| {
        let message = format!("start {} in {}: {error}", program.display(), args.node);
        Failure { exit: Exit::Dialect(NOT_STARTED), message, advice: None }
    })?;
    let status = wait(&mut child, &mut signals)?;
    // As a shell tells it: a signal's number is added to 128.
    let code =
        status.code().or_else(|| Some(128 + status.signal()?)).and_then(|code| u8::try_from(code).ok());
    if status.signal().is_some() && !lab.is_up() {
        let message = format!("the lab {} has gone, and the command with it", lab.name);
        return Err(Failure { exit: Exit::Dialect(code.unwrap_or(u8::MAX)), message, advice: None }.into());
    }
    Ok(Exit::Dialect(code.unwrap_or(u8::MAX)))
}

/// Waits for the command, and hands on what asks this process to end. What the terminal sends it sends to both.
fn wait(child: &mut Child, signals: &mut Signals) -> anyhow::Result<ExitStatus> {
    let process = Process::of_child(child)?;
    if let Some(status) = child.try_wait()? {
        return Ok(status);
    }
    for signal in signals.forever() {
        if matches!(signal, SIGTERM | SIGHUP) {
            process.signal(Signal::Terminate)?;
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
    }
    Ok(child.wait()?)
}

/// What a shell says of a command that is not there.
const NOT_STARTED: u8 = 127;
