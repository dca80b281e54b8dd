//! The command line of `pathmeter report`.

use super::StoreArgs;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Write runs as one page to send or print: charts and findings
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter report 0199c7d2 -o run.html                 a kept run, by the beginning of its name
  pathmeter report before after -o both.html            every run of two labels, side by side first
  pathmeter report result.json -o run.html              the document that --json wrote
  pathmeter report before --png charts.png --markdown ticket.md -o page.html

The page holds all it needs and loads nothing. With --format another format is written in its place.")]
pub struct ReportArgs {
    /// The runs: names or labels in the store, or files that `pathmeter import` reads
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Write every chart into this file, too, one below the other
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Write the same charts as PNG into this file
    #[cfg(feature = "png")]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub png: Option<PathBuf>,
    /// Write the runs as Markdown for a ticket into this file, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub markdown: Option<PathBuf>,
    /// Write what was expected of them as JUnit's XML into this file, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
}
