//! The terminal behind standard output: its width, and leaving it.

use crate::error::{Named, Result};
use rustix::process::setsid;
use rustix::termios::tcgetwinsize;
use std::io::{stderr, stdout};
use std::os::fd::AsFd;

/// Columns of the terminal that standard output is; `None` when it is not one.
#[must_use]
pub fn columns() -> Option<u16> {
    size_of(&stdout()).map(|(_, columns)| columns)
}

/// Rows and columns of the terminal that standard error is; `None` when it is not one.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    size_of(&stderr())
}

fn size_of(terminal: &impl AsFd) -> Option<(u16, u16)> {
    let size = tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Makes this process the leader of a session without a terminal (setsid(2)).
///
/// # Errors
/// `EPERM` when it leads a process group already: a process just started by another does not.
pub fn leave_terminal() -> Result<()> {
    setsid().named("leave the terminal of", || "this process".into()).map(drop)
}
