//! Commands of this program as processes of their own, and what they measured.

use crate::exit::{Exit, kind};
use engine::error::{Context, Error, Failure, Result};
use model::run::Run;
use std::process::{Command, Output, Stdio};

/// A command line as a shell splits it; `pathmeter` itself may stand before it.
///
/// # Errors
/// `Kind::Usage`: it is none that measures a path.
pub(super) fn words(text: &str) -> Result<Vec<String>, Failure> {
    let advice = "write it such as 'throughput far.example -P 4'";
    let mut words =
        shell_words::split(text).map_err(|error| Failure::usage(format!("`{text}`: {error}"), advice))?;
    if words.first().is_some_and(|first| first == "pathmeter") {
        words.remove(0);
    }
    match words.first().map(String::as_str) {
        Some(first) if MEASURES.contains(&first) => Ok(words),
        _ => Err(Failure::usage(
            format!("`{text}` is not a command that measures a path: {}", MEASURES.join(", ")),
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
    /// It cannot be started.
    pub(super) fn of(words: &[String]) -> Result<Ran> {
        let text = words.join(" ");
        let this = std::env::current_exe().context("find this program")?;
        let mut command = Command::new(this);
        command.args(words).args(["--format", "json"]).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("run `{text}`"))?;
        Ok(Ran { text, output })
    }

    /// What it measured, and how it ended.
    ///
    /// # Errors
    /// It measured nothing: why, and of the same kind as there.
    pub(super) fn measured(&self) -> Result<(Run, Exit)> {
        let code = self.output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_default();
        let exit = if code == 0 { Exit::Done } else { kind(code).into() };
        match serde_json::from_slice::<Run>(&self.output.stdout) {
            Ok(run) => Ok((run, exit)),
            Err(_) => Err(self.refused(code)),
        }
    }

    fn refused(&self, code: u8) -> Error {
        let said = String::from_utf8_lossy(&self.output.stderr);
        // Its last words: warnings come before.
        let said = said.split("error: ").last().unwrap_or_default().trim();
        Failure { kind: kind(code), message: format!("`{}`: {said}", self.text), advice: None }.into()
    }
}

/// Commands whose result is a run.
const MEASURES: [&str; 7] = ["measure", "throughput", "latency", "mtu", "hops", "transfer", "frames"];
