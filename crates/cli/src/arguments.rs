//! Every sub-command and option, with its help. `request/` gives them their meaning.

#[cfg(feature = "store")]
mod alert;
mod analyse;
mod capture;
mod config;
mod fitted;
mod frames;
mod groups;
mod hops;
mod import;
#[cfg(feature = "lab")]
mod lab;
mod latency;
mod linerate;
#[cfg(feature = "fleet")]
mod mesh;
mod mtu;
mod named;
mod parts;
#[cfg(feature = "plan")]
mod plan;
#[cfg(feature = "store")]
mod report;
#[cfg(feature = "device")]
mod rfc2544;
mod serve;
mod short;
mod store;
mod throughput;
mod transfer;
#[cfg(feature = "web")]
mod ui;
mod values;

#[cfg(feature = "store")]
pub use alert::AlertArgs;
pub use analyse::{AnalyseArgs, GroupBy};
pub use capture::CaptureArgs;
pub use config::ConfigCommand;
pub use engine::host::host_port::HostPort;
pub use frames::FramesArgs;
pub(crate) use groups::without_command;
pub use hops::HopsArgs;
pub use import::{ImportArgs, OutputsArgs};
#[cfg(feature = "lab")]
pub use lab::{
    LabCheckArgs, LabCommand, LabDownArgs, LabExecArgs, LabListArgs, LabPrepareArgs, LabRunArgs, LabShowArgs,
    LabSweepArgs, LabTest, LabUpArgs,
};
pub use latency::LatencyArgs;
pub use linerate::LinerateArgs;
#[cfg(feature = "fleet")]
pub use mesh::{
    AgainArg, AgentCommand, AgentRunArgs, AgentShowArgs, MeshAgentCommand, MeshAgentList, MeshAgentNames,
    MeshCommand, MeshDoctorArgs, MeshForgetArgs, MeshFreeArgs, MeshInitArgs, MeshIpArg, MeshRenewArgs,
    MeshRunArgs, MeshShowArgs, MeshTestArg, MeshUpArgs, NatsArgs,
};
pub use model::cpus::CpuList;
pub use model::marks::{Dscp, TosByte};
pub use mtu::{MtuArgs, ServiceArgs};
pub use named::AgentRules;
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
pub use named::NamedTarget;
#[cfg(feature = "plan")]
pub use plan::{PlanCheckArgs, PlanCommand, PlanFileArgs, PlanKnownArgs, PlanRunArgs, PlanShowArgs};
#[cfg(feature = "store")]
pub use report::ReportArgs;
#[cfg(feature = "device")]
pub use rfc2544::{Flows, LossShare, Rfc2544Args, TrafficArgs};
pub use serve::ServeArgs;
pub use short::{shortened, width};
pub use store::{CompareArgs, KeepArgs, StoreArgs};
#[cfg(feature = "store")]
pub use store::{
    ExportArgs, FilterArgs, ForgetArgs, HistoryArgs, LabelArgs, LevelArgs, ShowArgs, TrendArgs, WatchArgs,
};
pub use throughput::{TestArgs, ThroughputArgs};
pub use transfer::{S3Args, TransferArgs};
#[cfg(feature = "web")]
pub use ui::UiArgs;
pub use values::{Fingerprint, Pattern};

use ::report::format::{FORMATS, Format, by_name};
use clap::{Args, Parser, Subcommand};
use model::units::{BitRate, Nanos};
#[cfg(feature = "dialects")]
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

/// How fast is this path really, where is the limit, and why?
#[derive(Debug, Parser)]
#[command(
    name = "pathmeter",
    version,
    after_help = EXAMPLES
)]
pub struct Cli {
    /// Options that every sub-command takes.
    #[command(flatten)]
    pub common: Common,
    /// The sub-command.
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands, one file each in `commands/`.
#[derive(Debug, Subcommand)]
pub enum Command {
    Measure(MeasureArgs),
    Serve(ServeArgs),
    Throughput(Box<ThroughputArgs>),
    Latency(Box<LatencyArgs>),
    Mtu(Box<MtuArgs>),
    Hops(Box<HopsArgs>),
    Transfer(Box<TransferArgs>),
    Frames(Box<FramesArgs>),
    #[cfg(feature = "device")]
    Rfc2544(Box<Rfc2544Args>),
    Linerate(LinerateArgs),
    #[cfg(feature = "lab")]
    #[command(subcommand)]
    Lab(LabCommand),
    #[cfg(feature = "plan")]
    #[command(subcommand)]
    Plan(PlanCommand),
    Import(ImportArgs),
    Analyse(AnalyseArgs),
    Compare(CompareArgs),
    #[cfg(feature = "store")]
    Trend(TrendArgs),
    #[cfg(feature = "store")]
    Watch(WatchArgs),
    #[cfg(feature = "store")]
    History(HistoryArgs),
    #[cfg(feature = "store")]
    Show(ShowArgs),
    #[cfg(feature = "store")]
    Label(LabelArgs),
    #[cfg(feature = "store")]
    Forget(ForgetArgs),
    #[cfg(feature = "store")]
    Export(ExportArgs),
    #[cfg(feature = "store")]
    Report(ReportArgs),
    #[cfg(feature = "web")]
    Ui(UiArgs),
    #[cfg(feature = "fleet")]
    #[command(subcommand)]
    Agent(AgentCommand),
    #[cfg(feature = "fleet")]
    #[command(subcommand)]
    Mesh(MeshCommand),
    #[cfg(feature = "lab")]
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    #[command(subcommand)]
    Config(ConfigCommand),
    #[cfg(feature = "dialects")]
    Iperf3(Iperf3Args),
    #[cfg(feature = "dialects")]
    Iperf(IperfArgs),
    #[cfg(feature = "dialects")]
    Sockperf(SockperfArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Puts back what a run changed when it ends; started by `transfer --mtu` and `frames --no-offload` themselves
    #[command(hide = true, name = "guard")]
    Guard(GuardArgs),
}

impl Command {
    /// The command's result has figures that can be drawn.
    pub fn has_chart(&self) -> bool {
        match self {
            Command::Measure(_)
            | Command::Throughput(_)
            | Command::Latency(_)
            | Command::Mtu(_)
            | Command::Hops(_)
            | Command::Transfer(_)
            | Command::Frames(_)
            | Command::Analyse(_)
            | Command::Compare(_)
            | Command::Import(_) => true,
            #[cfg(feature = "store")]
            Command::Show(_) | Command::Trend(_) => true,
            #[cfg(feature = "device")]
            Command::Rfc2544(_) => true,
            #[cfg(feature = "lab")]
            Command::Demo(_) => true,
            #[cfg(feature = "lab")]
            Command::Lab(LabCommand::Run(_)) => true,
            #[cfg(feature = "fleet")]
            Command::Mesh(MeshCommand::Run(_) | MeshCommand::Show(_)) => true,
            #[cfg(feature = "plan")]
            Command::Plan(PlanCommand::Run(_)) => true,
            _ => false,
        }
    }
}

/// Options that every sub-command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Common {
    #[arg(
        long,
        global = true,
        value_parser = values::format_parser(),
        value_name = "FORMAT",
        default_value = FORMATS[0].name,
        help = values::format_help(),
        hide_possible_values = true
    )]
    pub format: &'static Format,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub json: bool,
    /// Write the result to this file and not to standard output
    #[arg(short, long, global = true, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw the result into this file, an .svg or a .png; repeatable
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub chart: Vec<PathBuf>,
    /// Colour the text: by itself only on a terminal and without NO_COLOR
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub color: Colour,
    /// Write rows one after the other while it runs, as without a terminal, and redraw nothing
    #[arg(long, global = true)]
    pub plain: bool,
    /// The configuration file [default: pathmeter/config.toml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, global = true, value_name = "FILE", env = "PATHMETER_CONFIG", hide_env = true)]
    pub config: Option<PathBuf>,
    /// Show evidence, hosts, distributions and method too; twice (-vv): what was decided, on standard error
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal.
    #[default]
    Auto,
    /// Into a pipe too.
    Always,
    /// Not at all.
    Never,
}

impl Common {
    /// The output format, given by either option.
    pub fn format(&self) -> &'static Format {
        by_name("json").filter(|_| self.json).unwrap_or(self.format)
    }
}

/// The far end and the path to it.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// The far end, where `pathmeter serve` runs: a name or an address, as `[::1]:5210` with a port
    #[arg(value_name = "HOST[:PORT]")]
    pub host: HostPort,
    /// Port of the far end [default: 5210, or 5201 for iPerf3]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    #[command(flatten)]
    pub origin: OriginArgs,
}

/// Where packets leave this host, and how long a connection may take to open.
#[derive(Clone, Debug, Args)]
pub struct OriginArgs {
    /// Use IPv4 only
    #[arg(short = '4', long)]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// Local address to send from
    #[arg(long, value_name = "ADDR")]
    pub bind: Option<IpAddr>,
    /// Network interface to send through
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Longest wait for a connection to open, and for TLS after it
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub connect_timeout: Nanos,
}

/// Options of a session with a server: identity, judgement and rehearsal.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct SessionArgs {
    /// Speed of the link, to compare with [default: the speed that the network interface reports]
    #[arg(long, value_name = "RATE", value_parser = values::link_speed)]
    pub link: Option<BitRate>,
    #[command(flatten)]
    pub identity: IdentityArgs,
    /// Requirement on the result, such as 'rtt.p99<=500us' or 'down.goodput>=9.4Gbit/s'; exit code 1 when it is not met. Repeatable
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Print the plan, with every default filled, and stop
    #[arg(long)]
    pub dry_run: bool,
}

/// Whether the reasons of an unexpected result are looked for.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Test")]
pub struct ExplainArgs {
    /// Longest time in each direction to find the reason of an unexpected result: packet sizes, hosts, marks
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub explain: Nanos,
    /// Send nothing after the test to find the reason of an unexpected result
    #[arg(long, conflicts_with = "explain")]
    pub no_explain: bool,
}

impl ExplainArgs {
    /// The time allowed; zero: none.
    pub fn budget(&self) -> Nanos {
        if self.no_explain { Nanos::ZERO } else { self.explain }
    }
}

/// How far the limit of the rate is looked for.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Test")]
pub struct LimitArgs {
    /// Look for the place of the limit on every path: beyond private addresses, above 1 Gbit/s, and for up to 10s in each direction.
    /// Routers on the path see up to twice the rate of the limit in packets whose TTL ends there
    #[arg(long, conflicts_with = "no_explain")]
    pub place: bool,
    /// Observe a host on the path that runs `pathmeter serve` too: its CPUs, queues and drops during the test; may be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    pub observe: Vec<HostPort>,
}

/// Options by which a server and this end authenticate each other.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub struct IdentityArgs {
    /// File with the token that the server asks for
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Encrypt the control connection (TLS 1.3); needs --fingerprint
    #[arg(long)]
    pub tls: bool,
    /// SHA-256 fingerprint of the server's certificate, as the server prints it; turns --tls on
    #[arg(long, value_name = "HEX")]
    pub fingerprint: Option<Fingerprint>,
}

/// Measure a path: MTU, RTT, TCP and UDP throughput, and a verdict
///
/// Reach, path MTU and fragments, round trips, TCP and UDP throughput in both directions with round trips under load, and findings that
/// name the reasons.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter measure server.example            about 30 seconds
  pathmeter measure server.example --quick    about 8 seconds
  pathmeter measure 10.0.0.2 --link 25G --expect 'down.goodput>=23Gbit/s'
  pathmeter measure server.example --json -o result.json")]
pub struct MeasureArgs {
    /// Shorter tests: about 8 seconds and not 30
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub explain: ExplainArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

#[cfg(feature = "lab")]
/// See it work on this machine alone: a router that drops fragments
///
/// Two hosts and a router are made on this machine, and the router drops IP fragments.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter demo            needs no other machine, and root only where user namespaces are forbidden
  pathmeter demo --quick    shorter tests")]
pub struct DemoArgs {
    /// Shorter tests
    #[arg(long)]
    pub quick: bool,
}

/// Show what this host can and cannot do, and how to fix it
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter doctor
  pathmeter doctor --json")]
pub struct DoctorArgs {}

#[cfg(feature = "dialects")]
/// Take iPerf3's command line, and print iPerf3's output
#[derive(Clone, Debug, Default, Args)]
#[command(
    disable_help_flag = true,
    override_usage = "pathmeter iperf3 [IPERF3 OPTIONS]",
    after_help = "\
EXAMPLES
  pathmeter iperf3 -s                           serve iPerf3 clients, many at once
  pathmeter iperf3 -c HOST -u -b 0 -l 1472      as typed for iperf3
  pathmeter iperf3 --help                       the options of this dialect
  ln -s $(which pathmeter) ~/bin/iperf3         the same under its own name"
)]
pub struct Iperf3Args {
    /// Options as iPerf3 takes them
    #[arg(value_name = "IPERF3 OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

#[cfg(feature = "dialects")]
/// Take iPerf2's command line, and print iPerf2's output
#[derive(Clone, Debug, Default, Args)]
#[command(
    disable_help_flag = true,
    override_usage = "pathmeter iperf [IPERF2 OPTIONS]",
    after_help = "\
EXAMPLES
  pathmeter iperf -s                            serve iPerf2 clients, many at once
  pathmeter iperf -c HOST -i 10 -P 10 -t 60 -M 1460
  pathmeter iperf --help                        the options of this dialect
  ln -s $(which pathmeter) ~/bin/iperf          the same under its own name"
)]
pub struct IperfArgs {
    /// Options as iPerf2 takes them
    #[arg(value_name = "IPERF2 OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

#[cfg(feature = "dialects")]
/// Take SockPerf's command line, and print SockPerf's output
#[derive(Clone, Debug, Default, Args)]
#[command(
    disable_help_flag = true,
    override_usage = "pathmeter sockperf [SUBCOMMAND] [SOCKPERF OPTIONS]",
    after_help = "\
EXAMPLES
  pathmeter sockperf sr --tcp -i 127.0.0.1 -p 12345
  pathmeter sockperf ping-pong -i 127.0.0.1 --tcp -m 350 -t 5 -p 12345 --full-rtt
  pathmeter sockperf pp --help                  the options of this dialect
  ln -s $(which pathmeter) ~/bin/sockperf       the same under its own name"
)]
pub struct SockperfArgs {
    /// Subcommand and options as sockperf takes them
    #[arg(value_name = "SOCKPERF OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// Print a completion script for a shell
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter completions bash | sudo tee /etc/bash_completion.d/pathmeter > /dev/null
  pathmeter completions zsh | sudo tee /usr/local/share/zsh/site-functions/_pathmeter > /dev/null
  pathmeter completions fish > ~/.config/fish/completions/pathmeter.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// State of the host before the run, which the guard restores.
#[derive(Clone, Debug, Args)]
pub struct GuardArgs {
    /// `link NAME MTU`, `route ADDRESS…` or `offload NAME WHICH…`
    #[arg(value_name = "ARG", required = true)]
    pub args: Vec<String>,
}

/// Write the manual pages
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter man | man -l -                      read the main page
  sudo pathmeter man /usr/local/share/man/man1  write a page for each sub-command")]
pub struct ManArgs {
    /// Directory for one page a sub-command; without it the main page goes to standard output
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
EXAMPLES
  pathmeter demo                           see it work, on this machine alone
  pathmeter serve                          on the far host
  pathmeter measure far.example            on this host: figures and verdict
  pathmeter throughput far.example --udp --reverse
  pathmeter latency far.example
  pathmeter mtu far.example                which packets cross, by direction
  pathmeter hops far.example               routers of the path, where loss is
  pathmeter transfer http://far.example:8080/bytes/10MB
  pathmeter frames far.example --link 25G  frame sizes against line rate
  pathmeter rfc2544 --lab forward --quick  a router: rates without loss, bursts
  pathmeter linerate --link 25G            what a link can carry at all

EXIT CODES
  0 done and every expectation held    1 an expectation broken    2 usage
  3 cannot reach or refused            4 result void: do not trust it
  5 regression against the baseline    70 internal error";
