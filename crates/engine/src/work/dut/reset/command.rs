//! The user's command that resets the device: run to its end, but for no longer than its timeout.

use crate::error::{Context, Failure, Kind, Result};
use linux::process::{Process, Signal, signal_group};
use linux::spawn::memory_file;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs it by `sh -c`, without input.
///
/// # Errors
/// `Kind::Void` when it ends with another code than 0, with its last output, or does not end: then it is killed with all it has
/// started.
pub(super) fn run(command: &str, timeout: Duration) -> Result<()> {
    let mut output = memory_file()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    shell.stderr(output.try_clone()?);
    let mut child = shell.spawn().context("start sh for the reset command")?;
    let failed = |message: String| {
        let advice = "try the command by itself: it must reset the device and end with 0";
        Failure { kind: Kind::Void, message, advice: Some(advice.into()) }
    };
    if !Process::of_child(&child)?.wait(timeout) {
        // The command may have ended just now.
        signal_group(child.id(), Signal::Kill).ok();
        child.wait()?;
        let seconds = timeout.as_secs();
        return Err(failed(format!("the reset command did not end within {seconds} s: `{command}`")).into());
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    Err(failed(format!("the reset command failed ({status}): `{command}`: {last}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure_text(command: &str, timeout: Duration) -> String {
        let error = run(command, timeout).expect_err("it fails");
        assert_eq!(error.kind(), Kind::Void);
        error.to_string()
    }

    #[test]
    fn a_command_succeeds_fails_or_is_ended() {
        let timeout = Duration::from_secs(60);
        assert!(run("true", timeout).is_ok());
        let failed = failure_text("echo no such box >&2; exit 3", timeout);
        assert!(failed.contains("exit status: 3") && failed.ends_with("no such box"), "{failed}");
        assert!(failure_text("exit 1", timeout).ends_with("it printed nothing"));
        let endless = failure_text("sleep 1000 & sleep 1000", Duration::from_millis(50));
        assert!(endless.contains("did not end within 0 s"), "{endless}");
    }
}
