//! The command line of a benchmark: `[FILTER] [--runs N] [--seconds N] [--patience SECONDS] [--json FILE]`.

use anyhow::{Context, bail};
use std::path::PathBuf;
use std::time::Duration;

/// What was asked on the command line.
pub(crate) struct Options {
    /// Part of the names of the cases to run.
    pub(crate) filter: String,
    /// Turns of every contender.
    pub(crate) runs: usize,
    /// How long one run measures.
    pub(crate) time: Duration,
    /// How long to wait for an idle machine and repeat a run that others disturbed.
    pub(crate) patience: Duration,
    /// Where everything is written for other programs.
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Reads the command line; what it does not say stays as it is in `self`.
    pub(crate) fn parse(mut self, args: &[String]) -> anyhow::Result<Options> {
        let mut args = args.iter().filter(|a| *a != "--bench");
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--runs" => self.runs = value()?.parse().context("--runs takes a number")?,
                "--seconds" => self.time = seconds(value()?).context("--seconds takes a number")?,
                "--patience" => {
                    self.patience = seconds(value()?).context("--patience takes a number of seconds")?;
                }
                "--json" => self.json = Some(value()?.into()),
                other if other.starts_with('-') => {
                    bail!("{other}: no such option; see main.rs of the benchmark")
                }
                filter => self.filter = filter.to_owned(),
            }
        }
        Ok(self)
    }
}

/// The same in whole seconds, for tools that know no others.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}

fn seconds(text: &str) -> anyhow::Result<Duration> {
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}
