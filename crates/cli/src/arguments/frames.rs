//! The command line of `pathmeter frames`.

use super::values::one_of;
use super::{ExplainArgs, KeepArgs, SessionArgs, TargetArgs};
use clap::Args;
use engine::run::PairCount;
use model::framing::Encaps;
use model::plan::Transport;
use model::units::{Bytes, Nanos};

/// Measure each Ethernet frame size against line rate
///
/// A sweep over the sizes: throughput and packets per second of each.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter frames far.example --link 25G                 64 to 1518 bytes, TCP and UDP, about 35 seconds
  pathmeter frames far.example --link 25G --pairs auto    sessions added until the rate grows no more
  pathmeter frames far.example --tests udp --no-offload   each datagram a frame of its own in this host too
  pathmeter frames far.example --frame 512,1518,9018 --reverse
  pathmeter frames far.example --link 10G --encap vlan,vxlan --chart frames.svg")]
pub struct FramesArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Frame sizes with their FCS, before encapsulation [default: 64,128,146,256,512,1024,1280,1518]
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', help_heading = "Test")]
    pub frame: Vec<Bytes>,
    /// Contents of the frames
    #[arg(
        long,
        value_parser = one_of(&TESTS),
        value_name = "TEST,…",
        value_delimiter = ',',
        default_values = ["tcp", "udp"],
        help_heading = "Test"
    )]
    pub tests: Vec<Transport>,
    /// The far end sends, this end receives
    #[arg(short = 'R', long, help_heading = "Test")]
    pub reverse: bool,
    /// Duration of the measurement of each size [default: 2s, or 500ms with --quick]
    #[arg(
        short,
        long,
        value_name = "TIME",
        allow_negative_numbers = true,
        conflicts_with = "quick",
        help_heading = "Test"
    )]
    pub time: Option<Nanos>,
    /// A quick check, not a measurement: about 10 seconds in all
    #[arg(long, help_heading = "Test")]
    pub quick: bool,
    /// Parallel streams of each session, 1 to 128
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, help_heading = "Test")]
    pub parallel: u32,
    /// Run N sessions at once and sum them; auto adds sessions until the sum grows no more, for each size
    #[arg(long, value_name = "N|auto", help_heading = "Test")]
    pub pairs: Option<PairCount>,
    /// Each packet a frame of its own in this host too: UDP without GSO and GRO, TCP with TSO and GSO switched off at the
    /// interface while it runs (CAP_NET_ADMIN), and on again after it
    #[arg(long, help_heading = "Test")]
    pub no_offload: bool,
    /// Headers around the packets on the link, from the outermost, as `pathmeter linerate` takes them
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true, help_heading = "Test")]
    pub encap: Encaps,
    #[command(flatten)]
    pub explain: ExplainArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

const TESTS: [(&str, Transport, &str); 2] = [
    ("tcp", Transport::Tcp, "A stream, its MSS set for each size"),
    ("udp", Transport::Udp, "Datagrams, their payload set for each size"),
];
