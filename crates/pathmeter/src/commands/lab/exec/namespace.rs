//! A command in a namespace of a lab that is up: this process enters it.

use super::{NOT_STARTED, ended, shell_code};
use crate::exit::Exit;
use engine::error::Result;
use lab::error::LabError;
use lab::hold::command;
use lab::state::{HeldLab, HeldNode};
use lab_run::refusal::failed;
use linux::process::{Process, Signal};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// Runs the command, or a shell, and ends as it does.
pub(super) fn run(lab: &HeldLab, node: &HeldNode, argv: &[OsString]) -> Result<Exit> {
    let (program, rest) = match argv.split_first() {
        Some((program, rest)) => (program.clone(), rest),
        None => (std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()), &[][..]),
    };
    // Before the command starts, so that its end is not missed.
    let mut signals = Signals::new([SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT])?;
    let child = command(lab, node, &program).map_err(failed)?.args(rest).spawn();
    let mut child = match child {
        Ok(child) => child,
        // Nothing starts in a PID namespace whose first process has ended (pid_namespaces(7)).
        Err(error) if error.kind() == ErrorKind::OutOfMemory => {
            return Err(failed(LabError::NotUp(format!("no lab is up: {} has just ended", lab.name))));
        }
        Err(error) => {
            let why = format!("start {} in {}: {error}", program.display(), node.name);
            return ended(Some(NOT_STARTED), &why);
        }
    };
    let status = wait(&mut child, &mut signals)?;
    let code = shell_code(status.code(), status.signal());
    if status.signal().is_some() && !lab.is_up() {
        return ended(code, &format!("the lab {} has gone, and the command with it", lab.name));
    }
    Ok(Exit::Dialect(code.unwrap_or(u8::MAX)))
}

/// Waits for the command, and hands on what asks this process to end. A signal of the terminal goes to both.
fn wait(child: &mut Child, signals: &mut Signals) -> Result<ExitStatus> {
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
