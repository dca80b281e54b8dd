//! A dialect's server in the background, away from the terminal. A process with threads cannot fork safely, so the
//! program starts itself once more and ends.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

/// Is this the process in the background?
pub(crate) fn is_detached() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Starts the server of this tool with the same words in the background. Its output goes nowhere.
pub(crate) fn start(tool: &str, argv: &[OsString]) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(tool).args(argv).env(MARK, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Set in the environment of the process in the background.
const MARK: &str = "PATHMETER_DAEMON";
