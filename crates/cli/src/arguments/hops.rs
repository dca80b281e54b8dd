//! The options of `pathmeter hops`.

use super::values::{one_of, size};
use super::{CaptureArgs, IdentityArgs, KeepArgs, OriginArgs};
use clap::Args;
use engine::host::host_port::HostPort;
use model::hops::HopProtocol;
use model::units::Nanos;
use std::path::PathBuf;

/// Trace a path: loss, delay and MTU at each hop, equal paths
///
/// Loss and delay of the path are distinguished from those of a router that answers slowly or rarely.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter hops server.example                 ten probes of each hop in five seconds, four flows
  pathmeter hops server.example --names --as-file prefixes.txt
  pathmeter hops server.example -c 100 -i 1s    where loss begins: as slow as routers answer
  pathmeter hops server.example --protocol tcp --port 443
                                                past firewalls that let web traffic pass alone
  pathmeter hops server.example --watch         until Ctrl-C, as mtr does
  pathmeter hops server.example --json --expect 'hops.loss<=1%'

BOTH DIRECTIONS
  Where `pathmeter serve` runs at the far end, it traces the return path meanwhile, and this end counts
  what arrives: loss of that direction alone. Without it loss is that of both directions together.

PRIVILEGE
  UDP and TCP probes need none. Echo requests need net.ipv4.ping_group_range or CAP_NET_RAW; where
  these are allowed, some go to the far end beside UDP probes, whose answers hosts limit.")]
pub struct HopsArgs {
    /// The far end: a name or an address, as `[2001:db8::1]:443` with a port. It needs no pathmeter
    #[arg(value_name = "HOST[:PORT]")]
    pub host: HostPort,
    /// Protocol of the probes: udp, icmp or tcp
    #[arg(long, value_parser = one_of(&HopProtocol::WORDS), value_name = "PROTOCOL", default_value = "udp", hide_possible_values = true)]
    pub protocol: HopProtocol,
    /// Port to send to [default: 33434, most likely closed, or 443 for tcp]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Probes of each hop [default: 10; with --watch the last 100 are kept]
    #[arg(short, long, value_name = "N")]
    pub count: Option<u32>,
    /// Go on until Ctrl-C: a table of the last probes, drawn anew each second, and their summary at the end
    #[arg(long)]
    pub watch: bool,
    /// Time from one probe of a hop to the next; Linux routers answer six at once and one each second
    #[arg(short, long, value_name = "TIME", default_value = "500ms")]
    pub interval: Nanos,
    /// Flows that take turns: routers with equal paths choose one for each [default: 4, or 1 for icmp]
    #[arg(long, value_name = "N")]
    pub flows: Option<u32>,
    /// Hops to look at, at most
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub max_hops: u8,
    /// Longest wait for the last answers
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub timeout: Nanos,
    /// Size of each probe, IP header included [default: 60]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<u32>,
    /// Do not send packets of full size to see which hop refuses them
    #[arg(long)]
    pub no_mtu: bool,
    /// Do not let a `pathmeter serve` at the far end trace the return path
    #[arg(long)]
    pub one_way: bool,
    /// Port at which a `pathmeter serve` is looked for there
    #[arg(long, value_name = "PORT", default_value_t = 5210, value_parser = clap::value_parser!(u16).range(1..))]
    pub server_port: u16,
    /// Ask the resolver for the names of routers
    #[arg(long)]
    pub names: bool,
    /// File with the AS of each prefix: lines `PREFIX AS [NAME]`, CAIDA's pfx2as, or the TSV of iptoasn.com
    #[arg(long, value_name = "FILE")]
    pub as_file: Option<PathBuf>,
    /// Requirement on the result, such as 'hops.loss<=1%'; exit code 1 when it is not met. Repeatable
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Print the plan, with every default filled, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub capture: CaptureArgs,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub identity: IdentityArgs,
}
