//! The command line of `pathmeter linerate`.

use clap::Args;
use model::framing::Encaps;
use model::units::{BitRate, Bytes, PacketRate};

/// Calculate what a link can carry, and how near a rate came to it
///
/// Frames, packets per second and goodput, by arithmetic alone.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter linerate --link 25G                          RFC 2544's frame sizes
  pathmeter linerate --link 10G --mtu 9000 --encap vxlan,vlan
  pathmeter linerate --link 25G --frame 64,1518 --udp -6
  pathmeter linerate --link 25G --goodput 22.5G --payload 1448
                                                         how near was that to line rate?
  pathmeter linerate --link 25G --pps 1.9M --frame 1518

ENCAPSULATIONS (from the wire inwards)
  vlan qinq pppoe mpls[:LABELS] ipip ipip6[:encaplimit] sit ip6ip6[:encaplimit]
  gre[6][:key][:csum][:seq] gretap[6] vxlan[6] geneve[6][:OPTION-BYTES]
  wireguard[6] esp[6]-gcm[:natt] esp[6]-cbc[:natt] srv6[:SEGMENTS][:reduced]")]
pub struct LinerateArgs {
    /// Speed of the link
    #[arg(long, value_name = "RATE", value_parser = super::values::link_speed)]
    pub link: BitRate,
    /// Ethernet frame sizes with their FCS, before encapsulation [default: RFC 2544's, 64 to 1518]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', conflicts_with_all = ["mtu", "payload"])]
    pub frame: Vec<Bytes>,
    /// MTU of the link: the largest packet that crosses it unfragmented
    #[arg(long, value_name = "SIZE", conflicts_with = "payload")]
    pub mtu: Option<Bytes>,
    /// Headers around the packets, from the outermost, such as vlan,vxlan
    #[arg(long, value_name = "LIST", default_value = "")]
    pub encap: Encaps,
    /// IPv4 packets, the default
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// IPv6 packets
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// TCP with timestamps, as Linux sends it; the default
    #[arg(long, conflicts_with = "udp")]
    pub tcp: bool,
    /// UDP
    #[arg(short, long)]
    pub udp: bool,
    /// A measured rate of payload, to convert to its rate on the wire
    #[arg(long, value_name = "RATE", conflicts_with = "pps")]
    pub goodput: Option<BitRate>,
    /// A measured rate of packets, to convert to its rate on the wire
    #[arg(long, value_name = "RATE")]
    pub pps: Option<PacketRate>,
    /// Payload of one packet
    #[arg(long, value_name = "SIZE")]
    pub payload: Option<Bytes>,
}
