//! The terminal behind standard output: its width, and leaving it.

use crate::error::{Named, Result, check};

/// Columns of the terminal that standard output is; `None` when it is not one.
#[must_use]
pub fn columns() -> Option<u16> {
    size_of(libc::STDOUT_FILENO).map(|(_, columns)| columns)
}

/// Rows and columns of the terminal that standard error is; `None` when it is not one.
#[must_use]
pub fn size() -> Option<(u16, u16)> {
    size_of(libc::STDERR_FILENO)
}

fn size_of(descriptor: libc::c_int) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel writes one `winsize`, which is ours.
    check(unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) }).ok()?;
    (size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Makes this process the leader of a session without a terminal (setsid(2)).
///
/// # Errors
/// `EPERM` when it leads a process group already: a process just started by another does not.
pub fn leave_terminal() -> Result<()> {
    // SAFETY: takes nothing and touches no memory of ours.
    check(unsafe { libc::setsid() }).named("leave the terminal of", || "this process".into()).map(drop)
}
