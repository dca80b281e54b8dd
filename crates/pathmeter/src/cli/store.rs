//! The command line of what is kept: which store, and the commands that read it.

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Keeping the result of a run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Keeping")]
pub(crate) struct KeepArgs {
    /// Keep the result in the store, where `pathmeter history` finds it; with FILE as a line of JSON in that file, of
    /// latency also compared with those kept there before
    #[arg(long, value_name = "FILE", num_args = 0..=1, value_hint = ValueHint::FilePath)]
    pub(crate) save: Option<Option<PathBuf>>,
    /// A word that holds runs together, as in `pathmeter compare before after`; of latency and transfer the name of a way
    /// or URL in tables, too, one for each
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct StoreArgs {
    /// The store [default: pathmeter/runs.db in $XDG_DATA_HOME or ~/.local/share]
    #[arg(
        long,
        value_name = "FILE",
        env = "PATHMETER_STORE",
        hide_env_values = true,
        value_hint = ValueHint::FilePath,
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub(crate) store: Option<PathBuf>,
}

impl StoreArgs {
    /// The store that was named; an empty name, as an empty variable is, names none.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        self.store.clone().filter(|file| !file.as_os_str().is_empty())
    }
}

/// Which kept runs are meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Runs of this command only
    #[arg(long, value_name = "COMMAND")]
    pub(crate) kind: Option<String>,
    /// Runs to this host only, as it was written then
    #[arg(long, value_name = "HOST")]
    pub(crate) target: Option<String>,
    /// Runs with this label only
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Option<String>,
    /// Runs with this verdict only
    #[arg(long, value_name = "WORD", value_parser = ["ok", "degraded", "problem", "void"])]
    pub(crate) verdict: Option<String>,
    /// Runs since then: a date, a time (RFC 3339) or how long ago
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// At most so many, the latest
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// List the runs that were kept with --save
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter history                                   the latest 20
  pathmeter history --target far.example --since 7d
  pathmeter history --label before --format csv -o before.csv
  pathmeter history --verdict problem --limit 100")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Show a kept run again, in any format
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter show 0199c7d2                             the beginning of its name is enough
  pathmeter show 0199c7d2 --format html -o run.html   one page with everything, to print or send")]
pub(crate) struct ShowArgs {
    /// The runs: their names or the beginnings of them, as `pathmeter history` lists them
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Give a kept run a label, or take it away with ''
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter label 0199c7d2 before
  pathmeter label 0199c7d2 ''")]
pub(crate) struct LabelArgs {
    /// The run: its name or the beginning of it
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The label
    #[arg(value_name = "LABEL")]
    pub(crate) label: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Take runs out of the store
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter forget 0199c7d2
  pathmeter forget --older-than 90d")]
pub(crate) struct ForgetArgs {
    /// The runs: their names or the beginnings of them
    #[arg(value_name = "RUN", required_unless_present = "older_than")]
    pub(crate) runs: Vec<String>,
    /// Every run that began before: a date, a time (RFC 3339) or how long ago
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Write kept runs as lines of JSON, which `pathmeter import --save` takes into another store
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter export -o runs.ndjson
  pathmeter export --label before | ssh far.example pathmeter import --save - ")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// Compare two sets of runs: better, worse, the same, or how many more runs it takes to tell
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter throughput far.example --save --label before    some times, change something, then
  pathmeter throughput far.example --save --label after     as many times again
  pathmeter compare before after
  pathmeter compare monday.ndjson 0199c7d2 --baseline       exit code 5 when a figure is worse

The sample is the run: 6 runs on each side at least, better in turn (before, after, before, …), as a
slow drift of the path is taken for a difference otherwise.")]
pub(crate) struct CompareArgs {
    /// The runs compared with: a label, a run's name, or a file of outputs that `pathmeter import` reads
    #[arg(value_name = "BASE")]
    pub(crate) base: String,
    /// The runs compared, likewise
    #[arg(value_name = "OTHER")]
    pub(crate) other: String,
    /// End with exit code 5 when a figure is surely worse than in BASE
    #[arg(long)]
    pub(crate) baseline: bool,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
