//! The command line of `pathmeter latency`.

use super::values::{one_of, size};
use super::{CaptureArgs, CpuList, Dscp, ExplainArgs, HostPort, KeepArgs, OriginArgs, SessionArgs, TosByte};
use clap::Args;
use engine::request::LatencyWait;
use model::latency::{LatencyMode, LatencyProtocol, WaitMode};
use model::units::{Nanos, PacketRate};
use std::path::PathBuf;

/// Measure round trips, idle or under load, and what causes the tail
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter latency far.example                       UDP ping-pong, 5 seconds
  pathmeter latency far.example --tcp -m 350 -t 100s
  pathmeter latency far.example --loaded              idle, then with TCP up, down, in both directions; RPM
  pathmeter latency near.example far.example          two hosts in turn, compared in one table
  pathmeter latency far.example --via eth0 --via vpn=10.8.0.2
  pathmeter latency far.example --label nat-gateway --save paths.ndjson
  pathmeter latency far.example --mode under-load --rate 10k
  pathmeter latency far.example --protocol sockperf --tcp   against `sockperf sr --tcp`
  pathmeter latency far.example --protocol stamp            against a STAMP or TWAMP-Light reflector
  pathmeter latency far.example --protocol twamp            against a router's TWAMP server
  pathmeter latency far.example --protocol iperf2           against `iperf -s`, as its --bounceback
  pathmeter latency far.example --expect 'rtt.p99<=500us'")]
pub struct LatencyArgs {
    /// The far ends, where `pathmeter serve` runs: names or addresses, as `[::1]:5210` with a port
    #[arg(value_name = "HOST[:PORT]", required = true)]
    pub hosts: Vec<HostPort>,
    /// Port of the far ends [default: 5210; 11111 for sockperf, 862 for STAMP and TWAMP, 5001 for iperf2]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// The protocol of the far end: native (`pathmeter serve`), sockperf (`sockperf sr`), stamp (RFC 8762), twamp
    /// (RFC 5357) or iperf2 (`iperf -s`)
    #[arg(long, value_parser = one_of(&LatencyProtocol::WORDS), value_name = "PROTOCOL", default_value = "native", hide_possible_values = true)]
    pub protocol: LatencyProtocol,
    #[command(flatten)]
    pub egress_paths: EgressArgs,
    #[command(flatten)]
    pub test: LatencyTestArgs,
    #[command(flatten)]
    pub explain: ExplainArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub host: LatencyHostArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Which egress paths are measured, and their labels.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Paths")]
pub struct EgressArgs {
    #[command(flatten)]
    pub origin: OriginArgs,
    /// Measure each host from this local address or through this interface; repeatable, the paths take turns
    #[arg(long, value_name = "[LABEL=]ADDR|INTERFACE", conflicts_with_all = ["bind", "device"])]
    pub via: Vec<String>,
}

/// The traffic of the test and its duration.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Test")]
pub struct LatencyTestArgs {
    /// ping-pong: one message at a time; under-load: at a fixed rate, each round trip counted from when its message was
    /// due; throughput: messages in one direction, counted by the receiver; playback: times and sizes from a file
    #[arg(long, value_parser = one_of(&MODES), value_name = "MODE", default_value = "ping-pong", hide_possible_values = true)]
    pub mode: LatencyMode,
    /// Datagrams, which is the default
    #[arg(short, long, conflicts_with = "tcp")]
    pub udp: bool,
    /// A TCP connection
    #[arg(long)]
    pub tcp: bool,
    /// Bytes of one message, 14 and more [default: 64, or 44 for STAMP]
    #[arg(short = 'm', long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u32>,
    /// Duration of the measurement, with --loaded of each phase; 0: until Ctrl-C, at most a day [default: 5s]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, conflicts_with = "count")]
    pub time: Option<Nanos>,
    /// End after so many messages on each path
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Messages per second [default: ping-pong and throughput as fast as possible, under-load 10k, --loaded 100]
    #[arg(long, value_name = "RATE")]
    pub rate: Option<PacketRate>,
    /// Every Nth message asks for a reply (under-load and playback)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub reply_every: u32,
    /// File of a playback: a line for each message, `time in seconds, size in bytes`
    #[arg(long, value_name = "FILE")]
    pub playback: Option<PathBuf>,
    /// Leading time that is not counted [default: until the round trips are steady]
    #[arg(long, value_name = "TIME")]
    pub warm_up: Option<Nanos>,
    /// A message without a reply counts as lost after this [default: four times the longest round trip so far, from 3s to 10s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Nanos>,
    /// Time between reports; 0 for the end only
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, default_value = "1s")]
    pub interval: Nanos,
    /// Write every round trip to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,
    /// File with the key of STAMP's authenticated mode, 16 bytes and more
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

/// Load beside the round trips.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Measure idle, then with TCP streams up, down and both directions; reports bufferbloat and responsiveness (RPM)
    #[arg(long)]
    pub loaded: bool,
    /// TCP streams of the load in each direction, 1 to 128
    #[arg(short = 'P', long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: u32,
    /// TCP congestion control of the load
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Observe a host on the path that runs `pathmeter serve` too: its CPUs, queues and drops beside the load; may be repeated
    #[arg(long, value_name = "HOST[:PORT]", requires = "loaded")]
    pub observe: Vec<HostPort>,
}

/// Resources of this host that the test uses.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "This host")]
pub struct LatencyHostArgs {
    /// Method of waiting for replies: spin has the least error and takes a CPU, block sleeps and adds the wake-up time, hybrid
    /// spins for 50 µs and then sleeps, auto spins when a CPU is idle
    #[arg(long, value_parser = one_of(&WAITS), value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    pub wait: LatencyWait,
    /// CPU of the measuring thread
    #[arg(long, value_name = "CPU")]
    pub affinity: Option<CpuList>,
    /// Let the kernel poll the network card for so long before it sleeps (SO_BUSY_POLL)
    #[arg(long, value_name = "TIME")]
    pub busy_poll: Option<Nanos>,
    /// Mark packets: ef, af41, cs1, … or a number from 0 to 63
    #[arg(long, value_name = "DSCP", conflicts_with = "tos")]
    pub dscp: Option<Dscp>,
    /// Mark packets with this whole byte, 0 to 255 or 0x00 to 0xff (DSCP in its upper six bits)
    #[arg(long, value_name = "BYTE")]
    pub tos: Option<TosByte>,
    /// Hops that messages to a multicast group may go
    #[arg(long, value_name = "HOPS")]
    pub multicast_ttl: Option<u8>,
    /// Do not take the kernel's and the network card's times of packets
    #[arg(long)]
    pub no_wire_times: bool,
}

const MODES: [(&str, LatencyMode, &str); 4] = [
    ("ping-pong", LatencyMode::PingPong, "One message at a time"),
    ("under-load", LatencyMode::UnderLoad, "At a fixed rate"),
    ("throughput", LatencyMode::Throughput, "One way"),
    ("playback", LatencyMode::Playback, "From a file"),
];
const WAITS: [(&str, LatencyWait, &str); 4] = [
    ("auto", LatencyWait::Auto, "Spin when a CPU is idle"),
    ("spin", LatencyWait::As(WaitMode::Spin), "Ask the socket again and again"),
    ("hybrid", LatencyWait::As(WaitMode::Hybrid), "Spin for 50 µs, then sleep"),
    ("block", LatencyWait::As(WaitMode::Block), "Sleep until something comes"),
];
