//! IPv4 in IPv6 on a kernel without `ip6tnl`: SRv6's reduced encapsulation, which with one segment is the same on the wire.
//!
//! ```text
//!           the node                          hidden namespace
//! IPv4 ---> tun0 (MTU 1460) ---------------> in    encapsulated: source `local`, destination `remote`
//! IPv6 <--- forwarded by the node <--------- out
//! IPv6 ---> next header 4: table 100, taken out of it there (End.DX4) and routed by its own destination
//! ```
//! The encapsulating route itself sends no message when a packet is too large; the node does, for `tun0` is its own interface with
//! the tunnel's MTU. The rule by next header lets the node keep `local` as an address of its own: RFC 8986 requires one that no
//! interface has. Neither direction has a hop more than with the kernel's own tunnel.

use linux::Result;
use linux::namespace::Namespace;
use linux::netlink::{Encap, Network, RouteSpec, Rule};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The tunnel's device and its outer addresses.
pub(crate) struct Ends<'a> {
    pub(crate) name: &'a str,
    pub(crate) local: Ipv6Addr,
    pub(crate) remote: Ipv6Addr,
    pub(crate) mtu: Option<u32>,
}

/// Makes the device in a node's namespace, down, and what is behind it. The tunnel lives as long as the value returned.
pub(crate) fn build(ends: &Ends<'_>, network: &mut Network, node: &Namespace) -> Result<Namespace> {
    let hidden = Namespace::new()?;
    for (setting, value) in HIDDEN_SETTINGS {
        hidden.set_sysctl(setting, value)?;
    }
    let mtu = ends.mtu.unwrap_or(DEFAULT_MTU);
    let out = format!("to-sr{}", network.links()?.len());
    network.add_veth(ends.name, INNER, &hidden)?;
    network.add_veth(&out, OUTER, &hidden)?;
    network.set_mtu(ends.name, mtu)?;
    network.set_mtu(&out, mtu + OVERHEAD)?;
    node.set_sysctl(&format!("net/ipv6/conf/{out}/accept_dad"), "0")?;
    node.set_sysctl("net/ipv6/conf/all/forwarding", "1")?;
    network.add_address(&out, IpAddr::V6(NODE), 64)?;
    network.set_up(&out)?;

    hidden.run(|| behind(ends, mtu))??;
    hidden.set_sysctl(&format!("net/ipv4/conf/{INNER}/proxy_arp"), "1")?;
    hidden.set_sysctl(&format!("net/ipv4/neigh/{INNER}/proxy_delay"), "0")?;
    take_out(ends, network, &out)?;
    Ok(hidden)
}

/// The hidden namespace: all of IPv4 goes into IPv6, and that to the node.
fn behind(ends: &Ends<'_>, mtu: u32) -> Result<()> {
    let mut network = Network::open()?;
    for (link, mtu) in [("lo", None), (INNER, Some(mtu)), (OUTER, Some(mtu + OVERHEAD))] {
        if let Some(mtu) = mtu {
            network.set_mtu(link, mtu)?;
        }
        network.set_up(link)?;
    }
    network.add_address(OUTER, IpAddr::V6(HIDDEN), 64)?;
    // The encapsulation takes its source from the namespace's own addresses.
    network.add_address("lo", IpAddr::V6(ends.local), 128)?;
    network.add_route_spec(&RouteSpec {
        via: Some(IpAddr::V6(NODE)),
        device: Some(OUTER.into()),
        ..RouteSpec::default()
    })?;
    network.add_route_spec(&RouteSpec {
        to: Some((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0)),
        device: Some(OUTER.into()),
        encap: Some(Encap::Seg6 { segments: vec![ends.remote] }),
        ..RouteSpec::default()
    })
}

/// The return path, in the node: looked up by its next header before the node's own addresses are.
fn take_out(ends: &Ends<'_>, network: &mut Network, device: &str) -> Result<()> {
    let rule = |priority, protocol, table| Rule { ipv6: true, priority, protocol, table };
    match network.add_rule(&rule(AFTER, None, Rule::LOCAL)) {
        // The route belongs to another tunnel of this node.
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => {}
        added => {
            added?;
            network.delete_rule(&rule(0, None, Rule::LOCAL))?;
            network.add_rule(&rule(BEFORE, Some(IPIP), TABLE))?;
        }
    }
    network.add_route_spec(&RouteSpec {
        to: Some((IpAddr::V6(ends.local), 128)),
        device: Some(device.into()),
        encap: Some(Encap::EndDx4 { next_hop: Ipv4Addr::UNSPECIFIED }),
        table: Some(TABLE),
        ..RouteSpec::default()
    })
}

const INNER: &str = "in";
const OUTER: &str = "out";
const NODE: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const HIDDEN: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
/// MTU of the kernel's own tunnel over Ethernet.
const DEFAULT_MTU: u32 = 1460;
/// An IPv6 header (RFC 8200 §3).
const OVERHEAD: u32 = 40;
/// Next header of IPv4 in IPv6.
const IPIP: u8 = 4;
const TABLE: u8 = 100;
const BEFORE: u32 = 50;
const AFTER: u32 = 100;
/// The node's ARP questions on the tunnel's device are answered at once, whomever they are for.
const HIDDEN_SETTINGS: &[(&str, &str)] = &[
    ("net/ipv4/ip_forward", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv6/conf/default/disable_ipv6", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/all/forwarding", "1"),
];
