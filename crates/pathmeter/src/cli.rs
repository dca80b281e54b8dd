//! What a user types: every sub-command and option, with its help. Meaning is given to it in `request/`.

#[cfg(test)]
mod advised;
mod analyse;
mod capture;
mod config;
mod fitted;
mod frames;
mod hops;
mod import;
#[cfg(feature = "lab")]
mod lab;
mod latency;
mod linerate;
#[cfg(feature = "fleet")]
mod mesh;
mod mtu;
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

pub(crate) use analyse::{AnalyseArgs, GroupBy};
pub(crate) use capture::CaptureArgs;
pub(crate) use config::{ConfigArgs, ConfigCommand};
pub(crate) use engine::host::host_port::HostPort;
pub(crate) use frames::FramesArgs;
pub(crate) use hops::HopsArgs;
pub(crate) use import::{ImportArgs, OutputsArgs};
#[cfg(feature = "lab")]
pub(crate) use lab::{
    LabArgs, LabCheckArgs, LabCommand, LabDownArgs, LabExecArgs, LabListArgs, LabPrepareArgs, LabRunArgs,
    LabShowArgs, LabSweepArgs, LabTest, LabUpArgs,
};
pub(crate) use latency::{LatencyArgs, LatencyWaitArg};
pub(crate) use linerate::LinerateArgs;
#[cfg(feature = "fleet")]
pub(crate) use mesh::{
    AgentArgs, AgentCommand, AgentRunArgs, MeshArgs, MeshCommand, MeshDoctorArgs, MeshInitArgs, MeshRunArgs,
    MeshShowArgs, MeshTestArg, MeshUpArgs, NatsArgs,
};
pub(crate) use model::cpus::CpuList;
pub(crate) use model::marks::{Dscp, TosByte};
pub(crate) use mtu::{MtuArgs, ServiceArgs};
#[cfg(feature = "plan")]
pub(crate) use plan::{PlanArgs, PlanCheckArgs, PlanCommand, PlanFileArgs, PlanRunArgs, PlanShowArgs};
#[cfg(feature = "store")]
pub(crate) use report::ReportArgs;
#[cfg(feature = "device")]
pub(crate) use rfc2544::{Flows, Rfc2544Args, TrafficArgs};
pub(crate) use serve::ServeArgs;
pub(crate) use short::{shortened, width};
pub(crate) use store::{CompareArgs, KeepArgs, StoreArgs};
#[cfg(feature = "store")]
pub(crate) use store::{
    ExportArgs, FilterArgs, ForgetArgs, HistoryArgs, LabelArgs, LevelArgs, ShowArgs, TrendArgs, WatchArgs,
};
pub(crate) use throughput::{TestArgs, ThroughputArgs};
pub(crate) use transfer::{BucketIn, S3Args, TransferArgs};
#[cfg(feature = "web")]
pub(crate) use ui::UiArgs;
pub(crate) use values::{Fingerprint, Pattern};

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
pub(crate) struct Cli {
    /// Options that every sub-command takes.
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The sub-commands, one file each in `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    Lab(LabArgs),
    #[cfg(feature = "plan")]
    Plan(PlanArgs),
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
    Agent(AgentArgs),
    #[cfg(feature = "fleet")]
    Mesh(MeshArgs),
    #[cfg(feature = "lab")]
    Demo(DemoArgs),
    Doctor(DoctorArgs),
    Config(ConfigArgs),
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
    /// It ends with figures that can be drawn.
    pub(crate) fn has_chart(&self) -> bool {
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
            Command::Lab(args) => matches!(args.command, LabCommand::Run(_)),
            #[cfg(feature = "plan")]
            Command::Plan(args) => matches!(args.command, PlanCommand::Run(_)),
            _ => false,
        }
    }
}

/// Options that every sub-command takes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Common {
    #[arg(
        long,
        global = true,
        value_parser = values::format_parser(),
        value_name = "FORMAT",
        default_value = FORMATS[0].name,
        help = values::format_help(),
        hide_possible_values = true
    )]
    pub(crate) format: &'static Format,
    /// Short for --format json
    #[arg(long, global = true, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Write the result to this file and not to standard output
    #[arg(short, long, global = true, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw the result into this file, an .svg or a .png; repeatable
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) chart: Vec<PathBuf>,
    /// Colour the text: by itself only on a terminal and without NO_COLOR
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) color: Colour,
    /// Write rows one after the other while it runs, as without a terminal, and redraw nothing
    #[arg(long, global = true)]
    pub(crate) plain: bool,
    /// The configuration file [default: pathmeter/config.toml in $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, global = true, value_name = "FILE", env = "PATHMETER_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// Show evidence, hosts, distributions and method too; twice (-vv): what was decided, on standard error
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// When text has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal.
    #[default]
    Auto,
    /// Into a pipe too.
    Always,
    /// Not at all.
    Never,
}

impl Common {
    /// The format asked for, by either option.
    pub(crate) fn format(&self) -> &'static Format {
        by_name("json").filter(|_| self.json).unwrap_or(self.format)
    }
}

/// The far end and the way to it.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetArgs {
    /// The far end, where `pathmeter serve` runs: a name or an address, as `[::1]:5210` with a port
    #[arg(value_name = "HOST[:PORT]")]
    pub(crate) host: HostPort,
    /// Port of the far end [default: 5210, or 5201 for iPerf3]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) origin: OriginArgs,
}

/// Where packets leave this host, and how long a connection may take to open.
#[derive(Clone, Debug, Args)]
pub(crate) struct OriginArgs {
    /// Use IPv4 only
    #[arg(short = '4', long)]
    pub(crate) ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub(crate) ipv6: bool,
    /// Local address to send from
    #[arg(long, value_name = "ADDR")]
    pub(crate) bind: Option<IpAddr>,
    /// Network interface to send through
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Longest wait for a connection to open, and for TLS after it
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) connect_timeout: Nanos,
}

/// Options of a session with a server: identity, judgement and rehearsal.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionArgs {
    /// Speed of the link, to compare with [default: what the network interface says]
    #[arg(long, value_name = "RATE")]
    pub(crate) link: Option<BitRate>,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
    /// What must hold, such as 'down.goodput>=9.4Gbit/s'; exit code 1 when it does not. Repeatable
    #[arg(long, value_name = "EXPECTATION")]
    pub(crate) expect: Vec<String>,
    /// Print the plan, with every default filled, and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How a server and this end know each other.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct IdentityArgs {
    /// File with the token that the server asks for
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Encrypt the control connection (TLS 1.3); needs --fingerprint
    #[arg(long)]
    pub(crate) tls: bool,
    /// SHA-256 fingerprint of the server's certificate, as the server prints it; turns --tls on
    #[arg(long, value_name = "HEX")]
    pub(crate) fingerprint: Option<Fingerprint>,
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
pub(crate) struct MeasureArgs {
    /// Shorter tests: about 8 seconds and not 30
    #[arg(long)]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) capture: CaptureArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
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
pub(crate) struct DemoArgs {
    /// Shorter tests
    #[arg(long)]
    pub(crate) quick: bool,
}

/// Show what this host can and cannot do, and how to fix it
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter doctor
  pathmeter doctor --json")]
pub(crate) struct DoctorArgs {}

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
pub(crate) struct Iperf3Args {
    /// Options as iPerf3 takes them
    #[arg(value_name = "IPERF3 OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
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
pub(crate) struct IperfArgs {
    /// Options as iPerf2 takes them
    #[arg(value_name = "IPERF2 OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
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
pub(crate) struct SockperfArgs {
    /// Subcommand and options as sockperf takes them
    #[arg(value_name = "SOCKPERF OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<OsString>,
}

/// Print a completion script for a shell
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter completions bash | sudo tee /etc/bash_completion.d/pathmeter > /dev/null
  pathmeter completions zsh > ~/.zfunc/_pathmeter
  pathmeter completions fish > ~/.config/fish/completions/pathmeter.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// What there was before the run.
#[derive(Clone, Debug, Args)]
pub(crate) struct GuardArgs {
    /// `link NAME MTU`, `route ADDRESS…` or `offload NAME WHICH…`
    #[arg(value_name = "WORD", required = true)]
    pub(crate) words: Vec<String>,
}

/// Write the manual pages
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter man | man -l -                      read the main page
  sudo pathmeter man /usr/local/share/man/man1  write a page for each sub-command")]
pub(crate) struct ManArgs {
    /// Directory for one page a sub-command; without it the main page goes to standard output
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
EXAMPLES
  pathmeter demo                          see it work, on this machine alone
  pathmeter serve                         on the far host
  pathmeter measure far.example           on this host: figures and verdict
  pathmeter throughput far.example --udp --reverse
  pathmeter latency far.example
  pathmeter mtu far.example               which packets cross, by direction
  pathmeter hops far.example              routers on the path, and where loss is
  pathmeter transfer http://far.example:8080/bytes/10MB
  pathmeter frames far.example --link 25G frame sizes against line rate
  pathmeter rfc2544 --lab forward --quick a router: rates without loss, latency, bursts
  pathmeter linerate --link 25G           what a link can carry at all

EXIT CODES
  0 done and every expectation held    1 an expectation broken    2 usage
  3 cannot reach or refused            4 result void: do not trust it
  5 regression against the baseline    70 internal error";
