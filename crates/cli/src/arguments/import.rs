//! The command line of `pathmeter import`.

#[cfg(feature = "store")]
use super::StoreArgs;
use clap::Args;
use model::units::BitRate;
use std::path::PathBuf;

/// Read results of other tools: iPerf3, iPerf2, SockPerf, ping, …
///
/// Tables, arithmetic and reasons from old results, as if pathmeter had measured them.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter import iperf3.txt                            its figures, findings and verdict
  pathmeter import *.txt --format csv -o all.csv         a folder of results in one table
  iperf3 -c 10.0.0.2 -u -b 0 | pathmeter import -
  pathmeter import iperf.log --link 25G                  how near was that to line rate?
  pathmeter import iperf.log --link 25G --mss 1448       the same of an output that prints no MSS

OUTPUTS THAT ARE READ
  iPerf3      text, JSON and JSON stream of clients, servers and both in one, 3.0 to 3.21
  iPerf2      text and CSV of clients and servers, plain and -e, bounceback, 2.0 to 2.2
  SockPerf    statistics, throughput and full logs, 3.0 to 3.10
  netperf     STREAM, MAERTS, SENDFILE, RR and CRR tests over TCP and UDP; -O, -o and -k
  qperf       tests over TCP and UDP, also with -v
  ping        of iputils, also with -M do, -D, -O and -q, in other languages; of BusyBox, BSD,
              macOS and Windows
  pathmeter   its own JSON and NDJSON

A file can hold many outputs, with shell prompts and anything else between them; it may be packed
(gzip, zip), of UTF-16, inside other JSON, and its lines may have a head (a time, a container's
name, a quotation mark). What a tool counted wrongly is rebuilt from what it counted rightly, what
cannot be is left out, with a note. A result that is void ends with exit code 4.")]
pub struct ImportArgs {
    #[command(flatten)]
    pub outputs: OutputsArgs,
    /// Keep them in the store, too; a run that is there already is not taken twice
    #[cfg(feature = "store")]
    #[arg(long)]
    pub save: bool,
    /// Label of those that are kept
    #[cfg(feature = "store")]
    #[arg(long, value_name = "LABEL", requires = "save")]
    pub label: Option<String>,
    #[cfg(feature = "store")]
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Outputs to read, and what they do not print.
#[derive(Clone, Debug, Args)]
pub struct OutputsArgs {
    /// Files with outputs; - reads standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Speed of the link, to compare with
    #[arg(long, value_name = "RATE", value_parser = super::values::link_speed)]
    pub link: Option<BitRate>,
    /// Payload of TCP segments on the wire, for outputs that do not print it
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub mss: Option<u32>,
}
