//! A command of the user's.

use crate::Alert;
use crate::undelivered::Undelivered;
use linux::process::wait_or_kill;
use std::os::unix::process::CommandExt;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

/// A command that a shell runs for each alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(pub String);

impl Command {
    /// Runs it. What somebody else may have named is given by the environment, never as words of the command.
    pub(crate) fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        let mut child = Process::new("sh")
            .args(["-c", &self.0])
            .env("PATHMETER_ALERT", alert.word.name())
            .env("PATHMETER_TARGET", &alert.target)
            .env("PATHMETER_FIGURE", &alert.figure)
            .env("PATHMETER_RUN", &alert.run)
            .env("PATHMETER_TEXT", &alert.text)
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| Undelivered::for_good(error.to_string()))?;
        match wait_or_kill(&mut child, limit) {
            Ok(Some(status)) if status.success() => Ok(()),
            // What it did before it failed must not be done again.
            Ok(Some(status)) => Err(Undelivered::for_good(status.to_string())),
            Ok(None) => Err(Undelivered::for_good(format!("it was ended after {} s", limit.as_secs()))),
            Err(error) => Err(Undelivered::for_good(error.to_string())),
        }
    }
}
