//! The MTU of a tunnel through a path: what its encapsulation leaves of the path's.

use super::{Advice, Setting, caution};
use model::framing::{Encap, Encaps, Framing, FramingError, Gre, Network, Transport};
use model::units::Bytes;

/// For the encapsulation that was named, or for those that most people use; one that cannot be read gives nothing, as
/// the command line has refused it.
pub(super) fn each(mtu: u32, ipv6: bool, named: Option<&str>, whole: bool) -> Vec<Advice> {
    let outer = if ipv6 { Network::V6 } else { Network::V4 };
    let encaps: Vec<Encaps> = match named {
        Some(text) => text.parse().into_iter().map(|encaps| over(encaps, outer)).collect(),
        None => usual(outer).into_iter().filter_map(|layer| Encaps::new(vec![layer]).ok()).collect(),
    };
    encaps.into_iter().filter_map(|encaps| tunnel_advice(mtu, outer, encaps, whole)).collect()
}

/// The same over IPv6, where the path is IPv6 and the outermost header can be. The name of an encapsulation without a version
/// (`wireguard`) means IPv4; over IPv4 one that names IPv6 was requested.
fn over(encaps: Encaps, outer: Network) -> Encaps {
    if outer == Network::V4 || outermost(&encaps) != Some(Network::V4) {
        return encaps;
    }
    let mut layers = encaps.layers().to_vec();
    let first = layers.iter_mut().find(|layer| outermost_of(**layer).is_some());
    if let Some(layer) = first {
        *layer = match *layer {
            Encap::WireGuard(_) => Encap::WireGuard(outer),
            Encap::Vxlan(_) => Encap::Vxlan(outer),
            Encap::Gre(gre) => Encap::Gre(Gre { outer, ..gre }),
            Encap::Gretap(gre) => Encap::Gretap(Gre { outer, ..gre }),
            Encap::Geneve { options, .. } => Encap::Geneve { outer, options },
            Encap::Esp { suite, nat_traversal, .. } => Encap::Esp { outer, suite, nat_traversal },
            other => other,
        };
    }
    Encaps::new(layers).unwrap_or(encaps)
}

/// Tunnels whose outer header is of the path's version.
fn usual(outer: Network) -> [Encap; 4] {
    let gre = Gre { outer, key: false, checksum: false, sequence: false, encap_limit: false };
    let ip = match outer {
        Network::V4 => Encap::Ipip,
        Network::V6 => Encap::Ipip6 { encap_limit: false },
    };
    [Encap::WireGuard(outer), ip, Encap::Gre(gre), Encap::Vxlan(outer)]
}

fn tunnel_advice(mtu: u32, outer: Network, encaps: Encaps, whole: bool) -> Option<Advice> {
    let room = u32::try_from(encaps.inner_mtu(Bytes(u64::from(mtu)))?.0).ok()?;
    let inside = room.checked_sub(least_headers(&encaps)).filter(|left| *left > 0)?;
    let version = match outermost(&encaps) {
        Some(needed) if needed != outer => {
            format!("; its outer header is {needed}, and the path was looked at with {outer}")
        }
        _ => String::new(),
    };
    let why = format!(
        "{mtu} less {} that {} takes; TCP inside: segments of at most {inside} bytes (MSS){version}{}",
        mtu - room,
        name(&encaps),
        caution(whole),
    );
    let device = match encaps.layers() {
        [Encap::Pppoe, ..] => "ppp0",
        _ => "TUNNEL",
    };
    let commands = vec![format!("ip link set dev {device} mtu {room}")];
    let place = "both ends of the tunnel".into();
    Some(Advice { setting: Setting::TunnelMtu(encaps), value: room, place, commands, why })
}

/// Headers of the IP version that the tunnel carries (IPv4 where it carries both) and of TCP.
fn least_headers(encaps: &Encaps) -> u32 {
    let carries = |network| {
        let framing = Framing { network, transport: Transport::Raw, encaps: encaps.clone(), link_mtu: None };
        !matches!(framing.check(), Err(FramingError::Family { .. }))
    };
    if carries(Network::V4) { 40 } else { 60 }
}

/// The version of the outermost IP header.
fn outermost(encaps: &Encaps) -> Option<Network> {
    encaps.layers().iter().find_map(|layer| outermost_of(*layer))
}

fn outermost_of(layer: Encap) -> Option<Network> {
    match layer {
        Encap::Ipip | Encap::Sit => Some(Network::V4),
        Encap::Ipip6 { .. } | Encap::Ip6Ip6 { .. } | Encap::Srv6 { .. } => Some(Network::V6),
        Encap::Gre(gre) | Encap::Gretap(gre) => Some(gre.outer),
        Encap::Vxlan(outer) | Encap::WireGuard(outer) => Some(outer),
        Encap::Geneve { outer, .. } | Encap::Esp { outer, .. } => Some(outer),
        Encap::Vlan | Encap::Qinq | Encap::Pppoe | Encap::Mpls { .. } => None,
    }
}

/// In words: `WireGuard over IPv4`.
fn name(encaps: &Encaps) -> String {
    let layers: Vec<String> = encaps.layers().iter().map(|layer| layer_name(*layer)).collect();
    match layers.is_empty() {
        true => "plain Ethernet".into(),
        false => layers.join(" with "),
    }
}

fn layer_name(layer: Encap) -> String {
    let over = |name: &str, outer: Network| format!("{name} over {outer}");
    match layer {
        Encap::WireGuard(outer) => over("WireGuard", outer),
        Encap::Vxlan(outer) => over("VXLAN", outer),
        Encap::Geneve { outer, .. } => over("Geneve", outer),
        Encap::Gre(gre) => over("GRE", gre.outer),
        Encap::Gretap(gre) => over("Ethernet in GRE", gre.outer),
        Encap::Esp { outer, .. } => over("IPsec ESP", outer),
        Encap::Ipip => "IPv4 in IPv4".into(),
        Encap::Ipip6 { .. } => "IPv4 in IPv6".into(),
        Encap::Ip6Ip6 { .. } => "IPv6 in IPv6".into(),
        Encap::Sit => "IPv6 in IPv4".into(),
        Encap::Pppoe => "PPPoE".into(),
        Encap::Vlan | Encap::Qinq | Encap::Mpls { .. } | Encap::Srv6 { .. } => layer.to_string(),
    }
}
