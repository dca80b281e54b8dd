//! The command line of `pathmeter throughput`.

use super::values::{one_of, size};
use super::{
    CaptureArgs, CpuList, Dscp, ExplainArgs, HostPort, KeepArgs, LimitArgs, SessionArgs, TargetArgs, TosByte,
};
use clap::Args;
use engine::run::PairCount;
use model::plan::{ProtocolName, Wait};
use model::units::{BitRate, Bytes, Nanos};

/// Measure how much data a path carries, over TCP or UDP
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter throughput far.example                    TCP to the far end, 10 seconds
  pathmeter throughput far.example --reverse -P 8     TCP from it, 8 streams
  pathmeter throughput far.example --bidir            both directions at once
  pathmeter throughput far.example --udp              UDP, as fast as it goes
  pathmeter throughput far.example --udp -b 1G -l 1472
  pathmeter throughput far.example -u -b 5M -t 0      until Ctrl-C, with `serve --max-time 24h`
  pathmeter throughput far.example -n 100M --pcap wire.pcapng --pcap-split
  pathmeter throughput far.example --pairs 4          4 sessions at once, and their sum
  pathmeter throughput far.example --protocol iperf3  against `iperf3 -s`")]
pub struct ThroughputArgs {
    /// The protocol of the far end: native (`pathmeter serve`), iperf3 (`iperf3 -s`, 3.12 and newer)
    /// or iperf2 (`iperf -s`, 2.0.13 and newer)
    #[arg(long, value_parser = one_of(&ProtocolName::WORDS), value_name = "PROTOCOL", default_value = "native", hide_possible_values = true)]
    pub protocol: ProtocolName,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Further far ends of --pairs, used in turn
    #[arg(value_name = "HOST[:PORT]")]
    pub more: Vec<HostPort>,
    /// Run N sessions at once, each with its own connections and threads, and sum them over the time in which all
    /// ran; auto adds sessions until the sum grows no more [default: one for each host]
    #[arg(long, value_name = "N|auto", help_heading = "Test")]
    pub pairs: Option<PairCount>,
    #[command(flatten)]
    pub test: TestArgs,
    #[command(flatten)]
    pub explain: ExplainArgs,
    #[command(flatten)]
    pub limit: LimitArgs,
    #[command(flatten)]
    pub socket: SocketArgs,
    #[command(flatten)]
    pub host: HostArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// The traffic of the test, its direction and its duration.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Test")]
pub struct TestArgs {
    /// Send numbered UDP datagrams and not a TCP stream
    #[arg(short, long)]
    pub udp: bool,
    /// The far end sends, this end receives
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Both ends send at once
    #[arg(long)]
    pub bidir: bool,
    /// Parallel streams in each direction, 1 to 128
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1)]
    pub parallel: u32,
    /// Duration of the measurement; 0: until Ctrl-C, at most a day [default: 10s]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true)]
    pub time: Option<Nanos>,
    /// End after exactly this many payload bytes in each direction, all streams together; UDP rounds up to whole datagrams
    #[arg(short = 'n', long, value_name = "SIZE")]
    pub bytes: Option<Bytes>,
    /// Leading time that is not counted
    #[arg(short = 'O', long, value_name = "TIME", default_value = "0s")]
    pub omit: Nanos,
    /// Time between reports; 0 for the end only
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, default_value = "1s")]
    pub interval: Nanos,
    /// Bytes of one write, or of one datagram's payload [default: TCP the best, UDP what the path MTU carries]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    pub length: Option<u32>,
    /// Rate of each stream, bits per second of payload; 0 is as fast as possible, which is the default for UDP too
    #[arg(short, long, value_name = "RATE", allow_hyphen_values = true)]
    pub bitrate: Option<BitRate>,
}

/// Options of the sockets.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Sockets")]
pub struct SocketArgs {
    /// TCP maximum segment size, 88 to 32767
    #[arg(short = 'M', long, value_name = "SIZE", value_parser = size)]
    pub mss: Option<u32>,
    /// Socket buffer size [default: sized for the rate by itself]
    #[arg(short, long, value_name = "SIZE", value_parser = size)]
    pub window: Option<u32>,
    /// TCP congestion control at both ends, such as cubic or bbr
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Mark packets: ef, af41, cs1, … or a number from 0 to 63
    #[arg(long, value_name = "DSCP")]
    pub dscp: Option<Dscp>,
    /// Mark packets with this whole byte, 0 to 255 or 0x00 to 0xff (DSCP in its upper six bits)
    #[arg(long, value_name = "BYTE")]
    pub tos: Option<TosByte>,
    /// Send each TCP write at once (TCP_NODELAY)
    #[arg(long)]
    pub nodelay: bool,
    /// Send TCP without copying, where the kernel can
    #[arg(short = 'Z', long = "zero-copy")]
    pub zero_copy: bool,
    /// Receive TCP without copying the data out of the kernel (MSG_TRUNC)
    #[arg(long)]
    pub receive_discard: bool,
    /// Send and receive each UDP datagram by itself, without segmentation offload (GSO and GRO)
    #[arg(long)]
    pub no_gso: bool,
}

/// Resources of this host that the test uses.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "This host")]
pub struct HostArgs {
    /// CPUs for the stream threads, used in turn, such as 0,2-3
    #[arg(long, value_name = "LIST")]
    pub affinity: Option<CpuList>,
    /// Method of waiting of receivers: spin is fastest and takes a CPU, block sleeps, auto spins where a CPU is to spare
    #[arg(long, value_parser = one_of(&WAITS), value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    pub wait: Wait,
}

const WAITS: [(&str, Wait, &str); 3] = [
    ("auto", Wait::Auto, "Spin where a CPU is to spare and the rate is not limited"),
    ("spin", Wait::Spin, "Ask the socket again and again"),
    ("block", Wait::Block, "Sleep until data comes"),
];
