//! `--daemonize`: in the background, and the words when that fails.

pub(super) use crate::daemon::is_detached;

use super::end::{End, Told};
use std::ffi::OsString;
use std::fmt::Display;

/// Starts the same words in the background. Output goes nowhere, as with sockperf.
pub(super) fn start(words: &[OsString]) -> Told<()> {
    crate::daemon::start("sockperf", words).map_err(told)
}

/// Leaves the terminal: its signals and its end do not come here any more.
pub(super) fn detach() -> Told<()> {
    linux::screen::leave_terminal().map_err(told)
}

fn told(error: impl Display) -> End {
    End::fatal(format!("Daemonize failed: {error}"))
}
