//! The command line of `pathmeter analyse`.

use super::{OutputsArgs, StoreArgs};
use clap::{Args, ValueEnum};

/// Put old results side by side: line rate, fairness, reasons
///
/// Arithmetic on the wire, fairness of streams, and what follows from them.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter analyse iperf.txt --link 25G --mss 1448      how near is that to line rate?
  pathmeter analyse sockperf-*.txt                       five paths to a server, side by side
  pathmeter analyse a.txt b.txt --together --link 100G   two pairs that ran at once, summed
  pathmeter analyse mtu*-?.txt --by file                 mtu1280-1, -2, … against mtu1430-1, -2, …
  pathmeter analyse runs/*.json --format markdown -o report.md
  pathmeter analyse before after                         kept runs, by label or name

Reads what `pathmeter import` reads, our own JSON too, and kept runs as `compare` names them where
no file is called so. The first run, and with --by the first
group, is what the others are compared with.")]
pub struct AnalyseArgs {
    #[command(flatten)]
    pub outputs: OutputsArgs,
    /// The runs ran at once: sum what they carried while all of them ran
    #[arg(long)]
    pub together: bool,
    /// Compare groups of runs: by file, whose names differ in the number at their end alone
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub by: Option<GroupBy>,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Property that the runs of one group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupBy {
    /// The name of their file, without the number at its end
    File,
}
