//! `-D`: the server in the background, away from the terminal.
//!
//! A process with threads cannot fork safely, so the program starts itself once more and ends.

use std::ffi::OsString;
use std::process::{Command, Stdio};

/// Is this the process in the background?
pub(super) fn is_detached() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts the server with the same words in the background.
///
/// # Errors
/// A sentence for the user.
pub(super) fn start(words: &[OsString]) -> Result<(), String> {
    let told = |error: std::io::Error| format!("error - unable to become a daemon: {error}");
    let program = std::env::current_exe().map_err(told)?;
    Command::new(program)
        .arg("iperf3")
        .args(words)
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(told)?;
    Ok(())
}

/// Leaves the terminal: its signals and its end do not come here any more.
///
/// # Errors
/// A sentence for the user.
pub(super) fn detach() -> Result<(), String> {
    linux::screen::leave_terminal().map_err(|error| format!("error - unable to become a daemon: {error}"))
}

/// Set in the environment of the process in the background.
const MARK: &str = "PATHMETER_IPERF3_DAEMON";
