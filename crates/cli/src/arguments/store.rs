//! The command line of what is kept: which store, and the commands that read it.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Keeping the result of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Keeping")]
pub struct KeepArgs {
    /// Keep the result in the store, where `pathmeter history` finds it; with FILE as a line of JSON in that file, of
    /// latency also compared with those kept there before
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    pub save: Option<Option<PathBuf>>,
    /// Do not store the result, although the configuration has `save = true`
    #[arg(long, conflicts_with = "save")]
    pub no_save: bool,
    /// A word that holds runs together, as in `pathmeter compare before after`; of latency and transfer the name of a path
    /// or URL in tables, too, one for each
    #[arg(long, value_name = "LABEL")]
    pub label: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct StoreArgs {
    /// The store: a file, or a database of a PostgreSQL server, as postgres://USER@HOST/DATABASE [default:
    /// pathmeter/runs.db in $XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "FILE|URL", env = "PATHMETER_STORE", hide_env_values = true, value_hint = ValueHint::FilePath)]
    pub store: Option<String>,
}

#[cfg(feature = "store")]
impl StoreArgs {
    /// The store that was named; an empty name, as an empty variable is, names none.
    pub fn named(&self) -> Option<&str> {
        self.store.as_deref().filter(|named| !named.is_empty())
    }
}

#[cfg(feature = "store")]
/// Which kept runs are meant.
#[derive(Clone, Debug, Default, Args)]
pub struct FilterArgs {
    /// Runs of this command only
    #[arg(long, value_name = "COMMAND")]
    pub kind: Option<String>,
    /// Runs to this host only, as it was written then
    #[arg(long, value_name = "HOST")]
    pub target: Option<String>,
    /// Runs with this label only
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Runs with this verdict only
    #[arg(long, value_name = "WORD", value_parser = ["ok", "degraded", "broken", "problem", "void"])]
    pub verdict: Option<String>,
    /// Runs since then: a date, a time (RFC 3339) or how long ago
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Runs before then only, likewise
    #[arg(long, value_name = "TIME")]
    pub before: Option<String>,
    /// At most so many, the latest
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[cfg(feature = "store")]
/// List the runs that were kept with --save
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter history                                   the latest 20
  pathmeter history --target far.example --since 7d
  pathmeter history --label before --format csv -o before.csv
  pathmeter history --verdict problem --limit 100")]
pub struct HistoryArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
}

#[cfg(feature = "store")]
/// Show a kept run again, in any format
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter show 0199c7d2                             the beginning of its name is enough
  pathmeter show 0199c7d2 --format html -o run.html   one page with everything, to print or send")]
pub struct ShowArgs {
    /// The runs: their names or the beginnings of them, as `pathmeter history` lists them
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[cfg(feature = "store")]
/// Give a kept run a label, or take it away with ''
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter label 0199c7d2 before
  pathmeter label 0199c7d2 ''")]
pub struct LabelArgs {
    /// The run: its name or the beginning of it
    #[arg(value_name = "RUN")]
    pub run: String,
    /// The label
    #[arg(value_name = "LABEL")]
    pub label: String,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[cfg(feature = "store")]
/// Remove runs from the store
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter forget 0199c7d2
  pathmeter forget --older-than 90d")]
pub struct ForgetArgs {
    /// The runs: their names or the beginnings of them
    #[arg(value_name = "RUN", required_unless_present = "older_than")]
    pub runs: Vec<String>,
    /// Every run that began before: a date, a time (RFC 3339) or how long ago
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[cfg(feature = "store")]
/// Write kept runs as lines of JSON, for another store
///
/// `pathmeter import --save` takes them into it.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter export -o runs.ndjson
  pathmeter export --label before | ssh far.example pathmeter import --save - ")]
pub struct ExportArgs {
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Compare two sets of runs: better, worse, the same, or unknown
///
/// When the runs are too few, the output states how many more are needed.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter compare --interleave 'throughput far.example' 'throughput far.example -P 4'
  pathmeter compare before after                        two labels, of runs kept with --save --label
  pathmeter compare monday.ndjson 0199c7d2 --baseline   exit code 5 when a figure is worse
  pathmeter compare target=far.example,since=14d,before=7d target=far.example,since=7d

SETS
  LABEL            every kept run with that label
  RUN              a kept run, by the beginning of its name
  FILE             the outputs in a file that `pathmeter import` reads, of other tools too
  KEY=VALUE,...    kept runs by label, target, kind, verdict, since, before and last (so many)

The sample is the run: 6 runs on each side at least, better in turn (before, after, before, ...), as a
slow drift of the path is taken for a difference otherwise; --interleave runs them so.")]
pub struct CompareArgs {
    /// The runs compared with; with --interleave a command of pathmeter, in quotes
    #[arg(value_name = "BASE")]
    pub base: String,
    /// The runs compared, likewise
    #[arg(value_name = "OTHER")]
    pub other: String,
    /// End with exit code 5 when a figure is surely worse than in BASE
    #[arg(long)]
    pub baseline: bool,
    /// Run both commands in turn, and compare what they measure
    #[arg(long)]
    pub interleave: bool,
    /// Number of runs of each
    #[arg(long, value_name = "N", default_value_t = 10, requires = "interleave", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    #[command(flatten)]
    pub level: LevelArgs,
    /// Sets are the same when their difference surely lies within this, in percent
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = super::values::percent)]
    pub margin: f64,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Show how the figures of a path changed over time
///
/// A change of level is confirmed by the third run.
#[cfg(feature = "store")]
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter trend far.example
  pathmeter trend far.example --since 30d --format html -o trend.html
  pathmeter trend far.example --mark 'new line, 10 Gbit/s'    begin anew from now on
  pathmeter trend far.example --baseline                      exit code 5 when a figure is worse")]
pub struct TrendArgs {
    /// The far end
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Runs of this command only
    #[arg(long, value_name = "COMMAND")]
    pub kind: Option<String>,
    /// Runs with this label only
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Runs since then: a date, a time (RFC 3339) or how long ago
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Note a known change of the path: runs before it are compared with no more
    #[arg(long, value_name = "NOTE")]
    pub mark: Option<String>,
    /// When it was [default: now]
    #[arg(long, value_name = "TIME", requires = "mark")]
    pub at: Option<String>,
    /// End with exit code 5 when a figure is worse than it was, and not back
    #[arg(long)]
    pub baseline: bool,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Which changes of a figure count.
#[derive(Clone, Copy, Debug, Args)]
pub struct LevelArgs {
    /// Differences that the same path shows with itself, in percent: smaller ones are neither better nor worse
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = super::values::percent)]
    pub noise_floor: f64,
    /// Smaller differences are of no interest, in percent
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = super::values::percent)]
    pub least: f64,
}

/// Measure a path at intervals, and report when it gets worse
///
/// Every run is kept.
#[cfg(feature = "store")]
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter watch far.example --every 15m
  pathmeter watch far.example --every 5m --run 'latency -t 5s' --alert 'logger -t pathmeter \"$PATHMETER_TEXT\"'
  pathmeter watch far.example --every 1s --rounds 20 --run 'throughput -t 1s'

A change is reported once, when the third run confirms it, and once when the path is back; so is a far
end that cannot be reached, once a second attempt has failed. A run that is worse than the level is
repeated at once. The command of --alert gets PATHMETER_ALERT (worse, better, recovered, unreachable, reachable), PATHMETER_TARGET,
PATHMETER_FIGURE, PATHMETER_RUN and PATHMETER_TEXT.

EXIT CODES
  0 interrupted, or all rounds done, and the path is well    5 a figure is worse than it was
  3 the far end could not be reached in the last round       2 the command cannot be run")]
pub struct WatchArgs {
    /// The far end
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// The name its runs are kept under.
    #[arg(skip)]
    pub kept: String,
    /// From the begin of one round to that of the next; up to a tenth is added at random, so that many hosts do not
    /// measure at once
    #[arg(long, value_name = "TIME", default_value = "15m")]
    pub every: model::units::Nanos,
    /// Command of pathmeter to run in each round, without its far end
    #[arg(long, value_name = "COMMAND", default_value = "measure --quick")]
    pub run: String,
    /// Stop after so many rounds
    #[arg(long, value_name = "N")]
    pub rounds: Option<u64>,
    #[command(flatten)]
    pub alerts: super::AlertArgs,
    /// A word that holds these runs together, and apart from others
    #[arg(long, value_name = "LABEL", default_value = "")]
    pub label: String,
    #[command(flatten)]
    pub level: LevelArgs,
    #[command(flatten)]
    pub store: StoreArgs,
}
