//! Commands of this program as processes of their own, and what they measured.

use crate::exit::Exit;
use cli::exit::kind;
use engine::error::{Context, Error, Failure, Result};
use model::history::Kept;
#[cfg(feature = "store")]
use model::run::Run;
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// A command line as a shell splits it; `pathmeter` itself may stand before it.
///
/// # Errors
/// `Kind::Usage`: it is none of `allowed`.
pub(super) fn words(text: &str, allowed: &[&str]) -> Result<Vec<String>, Failure> {
    let advice = "write it such as 'throughput far.example -P 4'";
    let mut words =
        shell_words::split(text).map_err(|error| Failure::usage(format!("`{text}`: {error}"), advice))?;
    if words.first().is_some_and(|first| first == "pathmeter") {
        words.remove(0);
    }
    match words.first().map(String::as_str) {
        Some(first) if allowed.contains(&first) => Ok(words),
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
    /// It cannot be started.
    pub(super) fn from_args(words: &[String]) -> Result<Ran> {
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
    /// As [`Ran::measured`].
    #[cfg(feature = "store")]
    pub(super) fn run(&self) -> Result<(Run, Exit)> {
        match self.measured()? {
            (Kept::Run(run), exit) => Ok((*run, exit)),
            (Kept::Device(_) | Kept::Lab(_), _) => Err(self.refused()),
        }
    }

    fn code(&self) -> u8 {
        self.output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_default()
    }

    fn refused(&self) -> Error {
        let code = self.code();
        let said = String::from_utf8_lossy(&self.output.stderr);
        // Its last words: warnings come before.
        let said = said.split("error: ").last().unwrap_or_default().trim();
        Failure { kind: kind(code), message: format!("`{}`: {said}", self.text), advice: None }.into()
    }
}

/// Commands whose result is a run of a path.
pub(super) const PATHS: &[&str] = &["measure", "throughput", "latency", "mtu", "hops", "transfer", "frames"];
