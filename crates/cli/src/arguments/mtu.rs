//! The options of `pathmeter mtu`.

use super::values::{Pattern, one_of, size};
use super::{CaptureArgs, KeepArgs, SessionArgs, TargetArgs};
use clap::Args;
use model::framing::Encaps;
use model::path::PathMethod;
use model::units::Nanos;

/// Find which packets cross: path MTU, fragments, MSS
///
/// Path MTU, fragments and MSS of each direction, the hop that limits them, and what to set.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter mtu server.example                  both directions, with `pathmeter serve` there
  pathmeter mtu 192.0.2.1 --protocol icmp       a host without pathmeter
  pathmeter mtu server.example --encap wireguard
                                                the MTU to give a tunnel over this path
  pathmeter mtu iot.example --service 5683 --payload hex:40011234 --reply hex:60
                                                the largest datagram that a UDP service answers
  pathmeter mtu server.example --expect 'up.path_mtu>=1500'")]
pub struct MtuArgs {
    /// Method of probing: auto takes native where `pathmeter serve` answers, otherwise icmp, udp and tcp together
    #[arg(long, value_parser = one_of(&PathMethod::WORDS), value_name = "PROTOCOL", default_value = "auto", hide_possible_values = true)]
    pub protocol: PathMethod,
    /// Largest packet to try, IP header included [default: the MTU of the sender's interface]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub largest: Option<u32>,
    /// Encapsulation to give the MTU of a tunnel for, as linerate takes it: wireguard, ipip6, gre, vxlan, …
    #[arg(long, value_name = "LAYERS")]
    pub encap: Option<Encaps>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub service: ServiceArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub session: SessionArgs,
}

/// The search for the largest datagram that a service answers.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "UDP service")]
pub struct ServiceArgs {
    /// Find the largest datagram that the UDP service of this port answers, and nothing else
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub service: Option<u16>,
    /// First bytes of its datagrams: a text, hex:DIGITS or @FILE
    #[arg(long, value_name = "PATTERN", requires = "service")]
    pub payload: Option<Pattern>,
    /// The byte that fills datagrams up to their size
    #[arg(long, value_name = "BYTE", requires = "service", default_value_t = 0)]
    pub fill: u8,
    /// First bytes of an answer: a text, hex:DIGITS or @FILE [default: any datagram is an answer]
    #[arg(long, value_name = "PATTERN", requires = "service")]
    pub reply: Option<Pattern>,
    /// Longest wait for an answer
    #[arg(long, value_name = "TIME", requires = "service", default_value = "1s")]
    pub reply_timeout: Nanos,
}
