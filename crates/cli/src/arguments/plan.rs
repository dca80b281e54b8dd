//! The command line of `pathmeter plan`.

use super::{KeepArgs, NamedTarget};
use clap::{Args, Subcommand, ValueHint};
use model::units::Nanos;
use std::path::PathBuf;

/// Carry out an experiment from a file: paths, tests, repetitions
///
/// Runs are measured in turn, compared and judged.
#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "\
A plan is a TOML file that names paths (from this host, or in a lab), tests, variables and what is
expected. Every run is measured in turn, and the result is a table of all rows, the worst last.
docs/plans.md has every key; examples/plans/ has plans that run on this one machine.

EXAMPLES
  pathmeter plan check mine.toml                faults of a file, with line and column
  pathmeter plan show mine.toml                 what would run, and how long it takes
  pathmeter plan run mine.toml -o result.json --json
  pathmeter plan run mine.toml -o result.json --json --resume")]
pub enum PlanCommand {
    Check(PlanCheckArgs),
    Show(PlanShowArgs),
    Run(Box<PlanRunArgs>),
}

/// Check plan files without measuring; all faults are reported at once, with line and column
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter plan check mine.toml")]
pub struct PlanCheckArgs {
    /// The files
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub known: PlanKnownArgs,
}

/// Show what a plan would do: its paths with their addresses, its runs in their order, time and bytes
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter plan show mine.toml
  pathmeter plan show mine.toml --runs 3 --time 1s
  pathmeter plan show mine.toml --json")]
pub struct PlanShowArgs {
    #[command(flatten)]
    pub plan: PlanFileArgs,
}

/// Carry a plan out: every path with every test, in turn; what fails is a row with its reason
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
With -o FILE every run is written down in FILE.journal as it ends, and a plan that was cut off goes on
from there with --resume. With --save each run is kept in the store, labelled with the plan's labels
and the name of its row. Exit code 1 when an expectation is broken, 3 when a path could not be
measured, 4 when nothing could be.

EXAMPLES
  pathmeter plan run mine.toml
  pathmeter plan run mine.toml -o result.json --json --chart result.svg
  pathmeter plan run mine.toml -o result.json --json --resume
  pathmeter plan run mine.toml --runs 3 --time 1s      shorter than in the file
  pathmeter plan run mine.toml --save --each results   every run for itself, too")]
pub struct PlanRunArgs {
    #[command(flatten)]
    pub plan: PlanFileArgs,
    /// Go on with the plan that was cut off: what FILE.journal has is not measured again
    #[arg(long)]
    pub resume: bool,
    /// Write the result of each run into this directory, a JSON file each
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub each: Option<PathBuf>,
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// A plan, and what the command line changes of it.
#[derive(Clone, Debug, Args)]
pub struct PlanFileArgs {
    /// The plan
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Length of every test that ends by time, in place of the file's
    #[arg(short, long, value_name = "TIME")]
    pub time: Option<Nanos>,
    /// Runs of each row, in place of the file's `repetitions`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    #[command(flatten)]
    pub known: PlanKnownArgs,
}

/// Credentials and hosts that a plan may name and its file does not contain.
#[derive(Clone, Debug, Args)]
pub struct PlanKnownArgs {
    /// The NATS server of the mesh whose agents measure paths of this plan: nats://HOST:4222, or tls://HOST:4222
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "URL", env = "PATHMETER_COORDINATOR", hide_env = true)]
    pub coordinator: Option<String>,
    /// File with the coordinator's key
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "coordinator")]
    pub key: Option<PathBuf>,
    /// Certificate of the authority that signed the server's, PEM
    #[cfg(feature = "fleet")]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "coordinator")]
    pub ca: Option<PathBuf>,
    /// The hosts that have names in the configuration.
    #[arg(skip)]
    pub targets: Vec<NamedTarget>,
}
