//! `-D`: the server in the background, and its words when that fails.

pub(super) use crate::daemon::is_detached;

use std::ffi::OsString;
use std::fmt::Display;

/// Starts the server with the same words in the background.
///
/// # Errors
/// A sentence for the user.
pub(super) fn start(args: &[OsString]) -> Result<(), String> {
    crate::daemon::start("iperf3", args).map_err(error_line)
}

/// Leaves the terminal: its signals and its end do not come here any more.
///
/// # Errors
/// A sentence for the user.
pub(super) fn detach() -> Result<(), String> {
    linux::screen::leave_terminal().map_err(error_line)
}

fn error_line(error: impl Display) -> String {
    format!("error - unable to become a daemon: {error}")
}
