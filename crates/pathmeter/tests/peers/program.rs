//! A copy of the built program, to be run under another name or by another user.

use std::path::Path;
use std::process::Command;

/// Copies it by cp(1): a file that this process had written could be busy when it is run, as a child that another thread of
/// tests has just forked holds its descriptor for a moment.
pub(crate) fn copy_program(to: impl AsRef<Path>) {
    let to = to.as_ref();
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_pathmeter")).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp to {}", to.display());
}
