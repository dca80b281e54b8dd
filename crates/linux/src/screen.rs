//! The terminal behind standard output.

use crate::error::check;

/// Columns of the terminal that standard output is; `None` when it is not one.
#[must_use]
pub fn columns() -> Option<u16> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel writes one `winsize`, which is ours.
    check(unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) }).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
