//! `--daemonize`: in the background, and the words when that fails.

pub(super) use crate::daemon::is_detached;

use super::end::{End, Stepped};
use std::ffi::OsString;
use std::fmt::Display;

/// Starts the same words in the background. Output goes nowhere, as with sockperf.
pub(super) fn start(args: &[OsString]) -> Stepped<()> {
    crate::daemon::start("sockperf", args).map_err(failed)
}

/// Leaves the terminal: its signals and its end do not come here any more.
pub(super) fn detach() -> Stepped<()> {
    linux::screen::leave_terminal().map_err(failed)
}

fn failed(error: impl Display) -> End {
    End::fatal(format!("Daemonize failed: {error}"))
}
