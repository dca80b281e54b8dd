//! The command line of `pathmeter lab`.

use super::KeepArgs;
use clap::{Args, Subcommand, ValueEnum};
use model::units::Nanos;
use std::ffi::OsString;
use std::path::PathBuf;

/// Build networks on this machine from files; measure and judge them
#[derive(Clone, Debug, Subcommand)]
#[command(after_help = "\
A topology is a file that names hosts, routers, bridges, tunnels and virtual machines, the links
between them, and what a measurement in it must find. Many come with pathmeter; docs/lab.md shows
how to write one. Nothing outside the lab is touched, and root is not needed where user namespaces
are allowed.

EXAMPLES
  pathmeter lab list                            the topologies, and what this kernel lacks for which
  pathmeter lab show ipip6                      what it is, drawn
  pathmeter lab run forward                     build it, measure it, judge it, take it away
  pathmeter lab run --compare direct,bridge,forward,ipip6 --chart lab.svg
  pathmeter lab up forward                      keep it, to look around in
  pathmeter lab exec client -- ping -c 3 198.51.100.2
  pathmeter lab down forward")]
pub enum LabCommand {
    List(LabListArgs),
    Show(LabShowArgs),
    Check(LabCheckArgs),
    Run(Box<LabRunArgs>),
    Up(LabUpArgs),
    Down(LabDownArgs),
    Exec(LabExecArgs),
    Sweep(LabSweepArgs),
    Prepare(LabPrepareArgs),
}

/// List the topologies that come with pathmeter, what this kernel lacks for them, and the labs that are up
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab list
  pathmeter lab list --json")]
pub struct LabListArgs {}

/// Show a topology: a drawing, its addresses, and what a measurement must find in it
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab show forward
  pathmeter lab show forward --file > mine.toml      a file to begin with")]
pub struct LabShowArgs {
    /// Topologies that come with pathmeter, or files
    #[arg(value_name = "NAME|FILE", required = true)]
    pub topologies: Vec<String>,
    /// Print the file itself
    #[arg(long)]
    pub file: bool,
}

/// Check topology files without building them; faults are reported with line and column
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab check mine.toml")]
pub struct LabCheckArgs {
    /// Topologies that come with pathmeter, or files
    #[arg(value_name = "NAME|FILE", required = true)]
    pub topologies: Vec<String>,
}

/// Build topologies, measure in each, judge the figures by what the topology expects, and take them away
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Every measurement is a process in the topology: `pathmeter serve` in the node that answers,
`pathmeter throughput`, `latency` and `mtu` in the node that measures, and the tools that the file
names. Repetitions are interleaved: every test of every topology once, then all again. Exit code 1
when an expectation is broken, 4 when no topology could be built here.

EXAMPLES
  pathmeter lab run forward
  pathmeter lab run mine.toml black-hole --quick
  pathmeter lab run forward --tests tcp,udp -6 --runs 5 -t 10s
  pathmeter lab run --compare direct,bridge,forward --frames -4 -t 500ms --chart frames.svg
  pathmeter lab run bufferbloat --capture r1:far --pcap queue.pcapng
  pathmeter lab run --compare direct,bridge,forward,ipip6,vm,vm-forward --chart lab.svg
  pathmeter lab run --compare direct,forward --format markdown -o report.md
  pathmeter lab run --compare direct,vm --dry-run      the plan, and how long it takes")]
pub struct LabRunArgs {
    /// Topologies that come with pathmeter, or files
    #[arg(value_name = "NAME|FILE", required_unless_present = "compare")]
    pub topologies: Vec<String>,
    /// Compare these with the first of them: a table, a chart, and what is more than chance
    #[arg(long, value_name = "NAME|FILE,…", value_delimiter = ',', conflicts_with = "topologies")]
    pub compare: Vec<String>,
    /// Tests to run: tcp, udp, latency, mtu, measure for its findings, tools for those that the topology names [default: all;
    /// measure only where findings are expected and nothing is compared]
    #[arg(long, value_enum, value_name = "TEST,…", value_delimiter = ',', hide_possible_values = true)]
    pub tests: Vec<LabTest>,
    /// Sweep over Ethernet frame sizes in each topology, TCP and UDP: this alone, or beside --tests; the chart shows it
    #[arg(long)]
    pub frames: bool,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Duration of each test of throughput and latency [default: 3s, or 1s with --quick]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true)]
    pub time: Option<Nanos>,
    /// Repetitions of every test [default: 1, or 5 with --compare]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// Shorter tests, and with --compare 3 repetitions
    #[arg(long)]
    pub quick: bool,
    /// Record what crosses this interface of the topology while it is measured
    #[arg(long, value_name = "NODE:DEVICE", requires = "pcap")]
    pub capture: Option<String>,
    /// Write what --capture records to this file, as pcapng
    #[arg(long, value_name = "FILE", requires = "capture")]
    pub pcap: Option<PathBuf>,
    /// Run the whole of each topology inside a virtual machine, whose kernel has every feature
    #[arg(long)]
    pub in_vm: bool,
    /// Print what would be done and how long it takes, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// A kind of measurement in a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LabTest {
    /// TCP throughput: up, down, and both at once
    Tcp,
    /// UDP throughput: up, down, and both at once
    Udp,
    /// Round trips of an idle path
    Latency,
    /// Path MTU and fragments, in both directions
    Mtu,
    /// All that `pathmeter measure` does, for its findings
    Measure,
    /// The tools that the topology names
    Tools,
}

/// Build a topology and keep it, until `lab down`
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab up forward
  pathmeter lab up mine.toml --name second
  pathmeter lab exec client -- ping -c 3 198.51.100.2")]
pub struct LabUpArgs {
    /// A topology that comes with pathmeter, or a file
    #[arg(value_name = "NAME|FILE")]
    pub topology: String,
    /// Name of this lab [default: the topology's name]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Take away a lab that `lab up` built, and all that runs in it
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab down forward
  pathmeter lab down --all")]
pub struct LabDownArgs {
    /// The labs' names
    #[arg(value_name = "NAME", required_unless_present = "all")]
    pub names: Vec<String>,
    /// Every lab that is up
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
}

/// Run a command in a node of a lab that is up; its exit code is ours
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab exec client -- ping -c 3 198.51.100.2
  pathmeter lab exec router -- ip -s link
  pathmeter lab exec --lab second client             a shell")]
pub struct LabExecArgs {
    /// The lab, where more than one is up
    #[arg(long, value_name = "NAME")]
    pub lab: Option<String>,
    /// The node
    #[arg(value_name = "NODE")]
    pub node: String,
    /// The command and its options [default: a shell]
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Take away what labs left behind that were killed
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter lab sweep --dry-run
  pathmeter lab sweep")]
pub struct LabSweepArgs {
    /// Say what would be taken away, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Fetch a kernel for virtual machines: a package of the distribution's, unpacked into a cache and not installed
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Topologies with virtual machines and `lab run --in-vm` need qemu and a kernel with modules. Where
the host's own kernel will do, nothing is fetched. Works on Debian and Ubuntu; root is not needed.

EXAMPLES
  pathmeter lab prepare")]
pub struct LabPrepareArgs {
    /// Fetch one even where there is one, such as a newer one
    #[arg(long)]
    pub again: bool,
}
