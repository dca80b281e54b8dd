//! The built program under another name, to be run so or by another user.

use std::path::Path;
use std::process::Command;

/// Makes it by a link, or by cp(1) on another file system: a file that this process had written could be busy when it is run, as a
/// child that another thread of tests has just forked holds its descriptor for a moment.
pub(crate) fn link_program(to: impl AsRef<Path>) {
    let (program, to) = (env!("CARGO_BIN_EXE_pathmeter"), to.as_ref());
    std::fs::remove_file(to).ok();
    if std::fs::hard_link(program, to).is_ok() {
        return;
    }
    let copied = Command::new("cp").arg(program).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "cp to {}", to.display());
}
