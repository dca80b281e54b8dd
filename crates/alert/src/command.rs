//! A command of the user.

use crate::Alert;
use crate::undelivered::Undelivered;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

/// A command that a shell runs for each alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(pub String);

impl Command {
    /// Runs the command. Text that another host may have chosen is passed in the environment, never as arguments.
    pub(crate) fn deliver(&self, alert: &Alert, limit: Duration) -> Result<(), Undelivered> {
        let mut child = Process::new("sh")
            .args(["-c", &self.0])
            .env("PATHMETER_ALERT", alert.word.name())
            .env("PATHMETER_TARGET", &alert.target)
            .env("PATHMETER_FIGURE", &alert.figure)
            .env("PATHMETER_RUN", &alert.run)
            .env("PATHMETER_TEXT", &alert.text)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| Undelivered::for_good(error.to_string()))?;
        let begun = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                // A command that failed may have acted already, and must not be repeated.
                Ok(Some(status)) => return Err(Undelivered::for_good(status.to_string())),
                Ok(None) if begun.elapsed() > limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(Undelivered::for_good(format!("it was ended after {} s", limit.as_secs())));
                }
                Ok(None) => std::thread::sleep(STEP),
                Err(error) => return Err(Undelivered::for_good(error.to_string())),
            }
        }
    }
}

const STEP: Duration = Duration::from_millis(20);
