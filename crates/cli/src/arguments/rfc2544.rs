//! The command line of `pathmeter rfc2544`.

mod values;

pub use values::LossShare;

use super::{CpuList, KeepArgs, SessionArgs};
use clap::{Args, ValueEnum};
use engine::request;
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
        value_enum,
        value_name = "NAME",
        default_value_t,
        hide_possible_values = true,
        help_heading = "Test"
    )]
    pub standard: Standard,
    /// Tests to run: throughput, latency, loss, back-to-back, recovery, reset, mrr, delay-variation, service [default: those of
    /// --standard; throughput, latency, loss and mrr with --quick]
    #[arg(
        long,
        value_enum,
        value_name = "TEST,…",
        value_delimiter = ',',
        hide_possible_values = true,
        help_heading = "Test"
    )]
    pub tests: Vec<DutTest>,
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
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub search: Search,
    /// Rates searched for: throughput (no loss in a full trial), ndr and pdr (no and little loss in half of the trials)
    /// [default: throughput; throughput and pdr with --quick]
    #[arg(long, value_enum, value_name = "GOAL,…", value_delimiter = ',', hide_possible_values = true)]
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

/// Which standard's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Standard {
    /// Routers and switches
    #[default]
    Rfc2544,
    /// The same of IPv6, larger frames too
    Rfc5180,
    /// Switches: in both directions, and what is forwarded of the most load
    Rfc2889,
    /// Tunnels and translators: in both directions, larger frames, delay variation
    Rfc8219,
    /// Activation of a service: give --cir
    Y1564,
}

/// A test, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DutTest {
    /// The highest rate without loss
    Throughput,
    /// Delays at shares of the throughput
    Latency,
    /// Loss at shares of the most load
    #[value(alias = "frame-loss")]
    Loss,
    /// The longest burst without loss
    #[value(alias = "b2b")]
    BackToBack,
    /// Time until all frames are forwarded again after an overload
    Recovery,
    /// Duration of the interruption by a reset
    Reset,
    /// Rate forwarded at the maximum load
    Mrr,
    /// Variation of the delay at the throughput
    DelayVariation,
    /// Whether a service keeps its promises
    Service,
}

/// A rate that is searched for, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GoalName {
    /// RFC 2544 section 26.1
    Throughput,
    /// No drop rate
    Ndr,
    /// Partial drop rate
    Pdr,
}

/// A method of searching for a rate, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// All goals at once, from short trials to long ones
    #[default]
    Mlr,
    /// One goal after the other
    Binary,
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

impl From<DutTest> for Test {
    fn from(test: DutTest) -> Test {
        match test {
            DutTest::Throughput => Test::Throughput,
            DutTest::Latency => Test::Latency,
            DutTest::Loss => Test::FrameLoss,
            DutTest::BackToBack => Test::BackToBack,
            DutTest::Recovery => Test::Recovery,
            DutTest::Reset => Test::Reset,
            DutTest::Mrr => Test::Mrr,
            DutTest::DelayVariation => Test::DelayVariation,
            DutTest::Service => Test::Service,
        }
    }
}

impl From<Search> for SearchMethod {
    fn from(search: Search) -> SearchMethod {
        match search {
            Search::Mlr => SearchMethod::Mlr,
            Search::Binary => SearchMethod::Binary,
        }
    }
}

impl From<Standard> for request::Standard {
    fn from(standard: Standard) -> request::Standard {
        match standard {
            Standard::Rfc2544 => request::Standard::Rfc2544,
            Standard::Rfc5180 => request::Standard::Rfc5180,
            Standard::Rfc2889 => request::Standard::Rfc2889,
            Standard::Rfc8219 => request::Standard::Rfc8219,
            Standard::Y1564 => request::Standard::Y1564,
        }
    }
}

impl From<GoalName> for request::GoalName {
    fn from(goal: GoalName) -> request::GoalName {
        match goal {
            GoalName::Throughput => request::GoalName::Throughput,
            GoalName::Ndr => request::GoalName::Ndr,
            GoalName::Pdr => request::GoalName::Pdr,
        }
    }
}
