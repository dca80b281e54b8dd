//! `--daemonize`: in the background, away from the terminal. A process with threads cannot fork safely, so the program
//! starts itself once more and ends.

use super::end::{End, Told};
use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Is this the process in the background?
pub(super) fn is_detached() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts the same words in the background. Output goes nowhere, as with sockperf.
pub(super) fn start(words: &[OsString]) -> Told<()> {
    let told = |error: std::io::Error| End::fatal(format!("Daemonize failed: {error}"));
    let program = std::env::current_exe().map_err(told)?;
    let mut command = Command::new(program);
    command.arg("sockperf").args(words).env(MARK, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(told)?;
    Ok(())
}

/// Leaves the terminal: its signals and its end do not come here any more.
pub(super) fn detach() -> Told<()> {
    linux::screen::leave_terminal().map_err(|error| End::fatal(format!("Daemonize failed: {error}")))
}

/// Set in the environment of the process in the background.
const MARK: &str = "PATHMETER_SOCKPERF_DAEMON";
