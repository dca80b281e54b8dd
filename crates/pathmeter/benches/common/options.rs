//! The command line of every benchmark, see [`USAGE`].

use anyhow::{Context, bail};
use std::path::PathBuf;
use std::time::Duration;

/// Options of the command line.
#[derive(Debug)]
pub(crate) struct Options {
    /// Parts of the names of the cases to run; none: all.
    pub(crate) filters: Vec<String>,
    /// Turns of every contender, after one that warms up.
    pub(crate) turns: usize,
    /// How long one run measures.
    pub(crate) time: Duration,
    /// How long to wait for an idle machine and repeat a run that others disturbed.
    pub(crate) timeout: Duration,
    /// Cases and contenders that no goal needs, too.
    pub(crate) all: bool,
    /// Store the turns in `docs/benchmarks/` and make the documents' tables of them.
    pub(crate) store: bool,
    /// Make the tables of what is stored, and measure nothing.
    pub(crate) tables: bool,
    /// Where profiles of one more turn go.
    pub(crate) profile: Option<PathBuf>,
}

impl Options {
    /// Reads the command line; none when cargo tests a benchmark instead of running it.
    pub(crate) fn parse(args: &[String]) -> anyhow::Result<Option<Options>> {
        if !args.iter().any(|arg| arg == "--bench") {
            return Ok(None);
        }
        let mut options = Options {
            filters: Vec::new(),
            turns: 10,
            time: Duration::from_secs(1),
            timeout: Duration::from_secs(3),
            all: false,
            store: false,
            tables: false,
            profile: None,
        };
        let mut args = args.iter().filter(|arg| *arg != "--bench");
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--turns" => options.turns = value()?.parse().context("--turns takes a number")?,
                "--seconds" => options.time = seconds(value()?).context("--seconds takes a number")?,
                "--timeout" => options.timeout = seconds(value()?).context("--timeout takes seconds")?,
                "--all" => options.all = true,
                "--store" => options.store = true,
                "--tables" => options.tables = true,
                "--profile" => options.profile = Some(value()?.into()),
                other if other.starts_with('-') => bail!("{other}: no such option\n{USAGE}"),
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(Some(options))
    }

    /// Is a case of this name to be run?
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// The command line, as it is stored with its results.
    pub(crate) fn command(&self, bench: &str) -> String {
        let mut text = format!("cargo bench --bench {bench} -- --store");
        for (given, option) in
            [(self.all, " --all".into()), (self.turns != 10, format!(" --turns {}", self.turns))]
        {
            text += if given { &option } else { "" };
        }
        if self.time != Duration::from_secs(1) {
            text += &format!(" --seconds {}", self.time.as_secs_f64());
        }
        self.filters.iter().for_each(|filter| text += &format!(" {filter}"));
        text
    }
}

/// The same in whole seconds, for tools that know no others.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}

fn seconds(text: &str) -> anyhow::Result<Duration> {
    Ok(Duration::try_from_secs_f64(text.parse()?)?)
}

const USAGE: &str = "\
cargo bench --bench peers|latency|mtu|generator -- [FILTER…] [OPTION…]
  FILTER           part of the name of a case; several: any of them
  --turns N        turns of every contender, after one that warms up (10)
  --seconds N      how long a run measures (1)
  --timeout N     seconds for waiting and repeating a run that others disturbed (3)
  --all            cases and contenders beyond those that the goals need
  --store          store the turns in docs/benchmarks/, and make the documents' tables of what is stored
  --tables         only make the tables
  --profile DIR    one more turn of each contender, not stored, with a profile of all CPUs (perf) in DIR";
