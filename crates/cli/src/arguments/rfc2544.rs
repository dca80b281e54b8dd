//! The command line of `pathmeter rfc2544`.

mod values;

pub use values::LossShare;

use super::values::one_of;
use super::{CpuList, KeepArgs, SessionArgs};
use clap::{Args, ValueEnum};
use engine::request::{GoalName, Standard};
use engine::work::dut::spec::PortSpec;
use model::dut::{SearchMethod, Test};
use model::framing::Encaps;
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use std::net::{IpAddr, Ipv6Addr};

/// Benchmark a device between two ports, as RFC 2544 asks
///
/// Throughput, latency, loss and bursts at each frame size.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A PORT is an interface of this host (eth1), of a named namespace (lab-a/eth0), or of another host
(eth1@far.example), where `pathmeter serve --frames-port eth1` runs. It needs root, and the whole
link: RFC 6815 forbids such tests in networks that carry anything else. How long it takes is printed
before the first frame; Ctrl-C ends it with what was measured. See docs/rfc2544.md.

EXAMPLES
  pathmeter rfc2544 --lab forward --quick          a router made on this machine: a look
  pathmeter rfc2544 eth1 eth2 --link 10G           a device between two interfaces: hours
  pathmeter rfc2544 eth1 eth2 --link 10G --dry-run  what would be done, and how long it takes
  pathmeter rfc2544 lab-a/eth0 lab-b/eth0 --tests throughput,latency --frame 64,1518
  pathmeter rfc2544 eth1 eth1@far.example --goals ndr,pdr
  pathmeter rfc2544 --lab direct,bridge,forward --tests throughput,mrr --quick --chart dut.svg
  pathmeter rfc2544 --lab forward --quick --json -o before.json
  pathmeter rfc2544 eth1 eth2 --link 10G --json -o night.json --resume    after a power cut
  pathmeter rfc2544 --lab forward --quick --against before.json --expect '64.throughput>=500kpps'
  pathmeter rfc2544 eth1 eth2 --standard y1564 --cir 200M --eir 50M --max-delay 5ms")]
pub struct Rfc2544Args {
    /// The two ports around the device
    #[arg(value_name = "PORT", num_args = 0..=2, conflicts_with = "lab")]
    pub ports: Vec<PortSpec>,
    /// Topologies in place of ports, by name or file: each is built, tested from end to end, and taken away
    #[arg(long, value_name = "NAME|FILE,…", value_delimiter = ',')]
    pub lab: Vec<String>,
    /// Tests, frames, directions and IP version of rfc2544, rfc5180 (IPv6), rfc2889 (switches), rfc8219 (tunnels), or y1564
    /// (a service, with --cir)
    #[arg(
        long,
        value_parser = one_of(&STANDARDS),
        value_name = "NAME",
        default_value = "rfc2544",
        hide_possible_values = true,
        help_heading = "Test"
    )]
    pub standard: Standard,
    /// Tests to run: throughput, latency, loss, back-to-back, recovery, reset, mrr, delay-variation, service [default: those of
    /// --standard; throughput, latency, loss and mrr with --quick]
    #[arg(
        long,
        value_parser = one_of(&TESTS),
        value_name = "TEST,…",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Test"
    )]
    pub tests: Vec<Test>,
    /// A quick check, not a measurement: trials of half a second, three frame sizes
    #[arg(long, help_heading = "Test")]
    pub quick: bool,
    #[command(flatten)]
    pub traffic: TrafficArgs,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub profile: ProfileArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Go on with a run of the same command line that was cut off: what it measured is in the journal beside -o FILE
    #[arg(long, help_heading = "Output")]
    pub resume: bool,
    /// Compare with an earlier result: a file written by --json, or the latest kept run of this name or label
    #[arg(long, value_name = "FILE|RUN", help_heading = "Output")]
    pub against: Option<String>,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// The traffic of the tests.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Traffic")]
pub struct TrafficArgs {
    /// Frame sizes with their FCS [default: as --standard has them, 64 to 1518; 64,512,1518 with --quick]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',')]
    pub frame: Vec<Bytes>,
    /// A mix of sizes: simple (7:4:1), or a genome of RFC 6985 such as 7(a)4(d)g; alone, or beside --frame
    #[arg(long, value_name = "MIX")]
    pub imix: Option<String>,
    /// IPv4, the default; with -6 both, one after the other
    #[arg(short = '4', long)]
    pub ipv4: bool,
    /// IPv6
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// From the second port to the first
    #[arg(short = 'R', long, conflicts_with = "both")]
    pub reverse: bool,
    /// Both directions at once, at the same rate each
    #[arg(long, alias = "bidir")]
    pub both: bool,
    /// One flow, or UDP ports that change with each frame (RFC 4814)
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    pub flows: Flows,
    /// Number of a VLAN, whose tag the frames carry
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Headers around the frames on the device's narrowest link, for line rate, as `pathmeter linerate` takes them
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    pub encap: Encaps,
}

/// The search for rates.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArgs {
    /// MLRsearch (RFC 9971), all goals at once, or by halves
    #[arg(long, value_parser = one_of(&SEARCHES), value_name = "HOW", default_value = "mlr")]
    pub search: SearchMethod,
    /// Rates searched for: throughput (no loss in a full trial), ndr and pdr (no and little loss in half of the trials)
    /// [default: throughput; throughput and pdr with --quick]
    #[arg(long, value_parser = one_of(&GOALS), value_name = "GOAL,…", value_delimiter = ',', hide_possible_values = true)]
    pub goals: Vec<GoalName>,
    /// Loss that passes for pdr
    #[arg(long, value_name = "SHARE", default_value = "0.5%")]
    pub loss_ratio: LossShare,
    /// The least load, frames per second in each direction, such as 10kpps
    #[arg(long, value_name = "RATE")]
    pub min_rate: Option<PacketRate>,
    /// The most load [default: line rate, or what the generator reaches]
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<PacketRate>,
    /// A trial that decides [default: 60s, of ndr and pdr 1s; 500ms with --quick]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true)]
    pub time: Option<Nanos>,
    /// Repeat each search, for its spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
}

/// The service's committed rates and limits (ITU-T Y.1564).
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Service (--tests service)")]
pub struct ProfileArgs {
    /// Committed information rate: frames without their gaps
    #[arg(long, value_name = "RATE")]
    pub cir: Option<BitRate>,
    /// Excess information rate, without promise
    #[arg(long, value_name = "RATE", requires = "cir", default_value = "0", hide_default_value = true)]
    pub eir: BitRate,
    /// Loss that is allowed
    #[arg(long, value_name = "SHARE", requires = "cir", default_value = "0")]
    pub max_loss: LossShare,
    /// Delay that is allowed
    #[arg(long, value_name = "TIME", requires = "cir", default_value = "100ms")]
    pub max_delay: Nanos,
    /// Variation of the delay that is allowed
    #[arg(long, value_name = "TIME", requires = "cir", default_value = "20ms")]
    pub max_variation: Nanos,
    /// The long test at the committed rate; 0 for none [default: 15m, none with --quick]
    #[arg(long, value_name = "TIME", requires = "cir")]
    pub service_time: Option<Nanos>,
}

/// The device, and how it is reached.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct DeviceArgs {
    /// Test addresses of the first and the second port, of either IP version [default: those of the interfaces]
    #[arg(long, value_name = "ADDR,ADDR", value_delimiter = ',')]
    pub address: Vec<IpAddr>,
    /// The device's addresses at the first and the second port, where it routes [default: as the routes of the ports say]
    #[arg(long, value_name = "ADDR,ADDR", value_delimiter = ',')]
    pub gateway: Vec<IpAddr>,
    /// The device is one end of a tunnel of IPv4 in IPv6 (ipip6, DS-Lite), and the second port speaks for the other: that
    /// end's address, and the device's
    #[arg(long, value_name = "LOCAL,REMOTE", value_delimiter = ',')]
    pub tunnel: Vec<Ipv6Addr>,
    /// Command that resets the device, for --tests reset
    #[arg(long, value_name = "COMMAND")]
    pub reset_command: Option<String>,
    /// CPUs of the generators, one for each port or one for both, such as 0,2 [default: chosen]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// CPU of the device, where it is a lab's [default: chosen, if one is left]
    #[arg(long, value_name = "CPU", requires = "lab")]
    pub device_cpu: Option<u32>,
    /// Send through interfaces that carry the default route or other traffic too: at your own risk (RFC 6815)
    #[arg(long)]
    pub allow_live_network: bool,
}

/// Which UDP ports frames have, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Flows {
    /// Others with each frame
    #[default]
    Random,
    /// Always the same
    One,
}

const STANDARDS: [(&str, Standard, &str); 5] = [
    ("rfc2544", Standard::Rfc2544, "Routers and switches"),
    ("rfc5180", Standard::Rfc5180, "The same of IPv6, larger frames too"),
    ("rfc2889", Standard::Rfc2889, "Switches: in both directions, and what is forwarded of the most load"),
    (
        "rfc8219",
        Standard::Rfc8219,
        "Tunnels and translators: in both directions, larger frames, delay variation",
    ),
    ("y1564", Standard::Y1564, "Activation of a service: give --cir"),
];
const TESTS: [(&str, Test, &str); 11] = [
    ("throughput", Test::Throughput, "The highest rate without loss"),
    ("latency", Test::Latency, "Delays at shares of the throughput"),
    ("loss", Test::FrameLoss, "Loss at shares of the most load"),
    ("frame-loss", Test::FrameLoss, ""),
    ("back-to-back", Test::BackToBack, "The longest burst without loss"),
    ("b2b", Test::BackToBack, ""),
    ("recovery", Test::Recovery, "Time until all frames are forwarded again after an overload"),
    ("reset", Test::Reset, "Duration of the interruption by a reset"),
    ("mrr", Test::Mrr, "Rate forwarded at the maximum load"),
    ("delay-variation", Test::DelayVariation, "Variation of the delay at the throughput"),
    ("service", Test::Service, "Whether a service keeps its promises"),
];
const GOALS: [(&str, GoalName, &str); 3] = [
    ("throughput", GoalName::Throughput, "RFC 2544 section 26.1"),
    ("ndr", GoalName::Ndr, "No drop rate"),
    ("pdr", GoalName::Pdr, "Partial drop rate"),
];
const SEARCHES: [(&str, SearchMethod, &str); 2] = [
    ("mlr", SearchMethod::Mlr, "All goals at once, from short trials to long ones"),
    ("binary", SearchMethod::Binary, "One goal after the other"),
];
