//! Commands of this program as processes of their own, and what they measured.

use crate::exit::Exit;
use cli::exit::kind;
use engine::error::{Context, Error, Failure, Result};
use model::history::Kept;
#[cfg(feature = "store")]
use model::run::Run;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// A command line as a shell splits it; `pathmeter` itself may stand before it.
///
/// # Errors
/// `Kind::Usage`: it is none of `allowed`.
pub(super) fn argv(text: &str, allowed: &[&str]) -> Result<Vec<String>, Failure> {
    let advice = "write it such as 'throughput far.example -P 4'";
    let mut argv =
        shell_words::split(text).map_err(|error| Failure::usage(format!("`{text}`: {error}"), advice))?;
    if argv.first().is_some_and(|first| first == "pathmeter") {
        argv.remove(0);
    }
    match argv.first().map(String::as_str) {
        Some(first) if allowed.contains(&first) => Ok(argv),
        _ => Err(Failure::usage(
            format!("`{text}` is not one of the commands that can be run so: {}", allowed.join(", ")),
            advice,
        )),
    }
}

/// A command that has ended.
pub(super) struct Ran {
    text: String,
    output: Output,
}

impl Ran {
    /// Runs a command of this program.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn from_args(argv: &[String]) -> Result<Ran> {
        let text = argv.join(" ");
        let this = std::env::current_exe().context("find this program")?;
        let mut command = Command::new(this);
        command.args(argv).args(["--format", "json"]).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("run `{text}`"))?;
        Ok(Ran { text, output })
    }

    /// Returns the measurement of the command, and how it ended.
    ///
    /// # Errors
    /// The command measured nothing; the error has its reason and kind.
    pub(super) fn measured(&self) -> Result<(Kept, Exit)> {
        let code = self.code();
        let exit = if code == 0 { Exit::Done } else { kind(code).into() };
        let value: Option<Value> = serde_json::from_slice(&self.output.stdout).ok();
        let read = value.and_then(|value| {
            let schema = value.get("schema")?.as_str()?.to_owned();
            Kept::read(&schema, value).ok()
        });
        read.map(|kept| (kept, exit)).ok_or_else(|| self.refused())
    }

    /// The same of a command that measures a path.
    ///
    /// # Errors
    /// Those of [`Ran::measured`].
    #[cfg(feature = "store")]
    pub(super) fn run(&self) -> Result<(Run, Exit)> {
        match self.measured()? {
            (Kept::Run(run), exit) => Ok((*run, exit)),
            (Kept::Device(_) | Kept::Lab(_), _) => Err(self.refused()),
        }
    }

    /// How it ended. A signal that asks for the end goes to the whole group, and may reach it before it listens.
    fn code(&self) -> u8 {
        let status = self.output.status;
        match status.signal() {
            Some(SIGINT | SIGTERM | SIGHUP) => Exit::Void.code(),
            Some(_) => Exit::Fault.code(),
            None => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::Fault.code()),
        }
    }

    fn refused(&self) -> Error {
        let code = self.code();
        let text = String::from_utf8_lossy(&self.output.stderr);
        // Its last words: warnings come before.
        let text = text.split("error: ").last().unwrap_or_default().trim();
        let text = match self.output.status.signal() {
            Some(signal) => format!("signal {signal} ended it"),
            None => text.to_owned(),
        };
        Failure { kind: kind(code), message: format!("`{}`: {text}", self.text), advice: None }.into()
    }
}

/// Commands whose result is a run of a path.
pub(super) const PATHS: &[&str] = &["measure", "throughput", "latency", "mtu", "hops", "transfer", "frames"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::ExitStatus;

    #[test]
    fn a_command_that_a_signal_ended_is_no_success() {
        for (wait_status, expected, message) in [
            (2, Exit::Void, "signal 2 ended it"),
            (9, Exit::Fault, "signal 9 ended it"),
            (3 << 8, Exit::Unreachable, "gone"),
        ] {
            let output = Output {
                status: ExitStatus::from_raw(wait_status),
                stdout: Vec::new(),
                stderr: b"error: gone".to_vec(),
            };
            let Err(error) = (Ran { text: "latency far".into(), output }).measured() else {
                panic!("{message}")
            };
            assert_eq!(
                (Exit::from_error(&error), error.to_string()),
                (expected, format!("`latency far`: {message}"))
            );
        }
    }
}
