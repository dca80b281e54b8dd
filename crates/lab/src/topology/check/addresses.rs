//! Addresses fit the links they are on, and routes lead to a neighbour.

use super::segments::Segments;
use super::{Checker, suggest};
use crate::topology::{Address, DeviceKind, Node, Route, Topology};
use std::net::IpAddr;

/// An address and where it is.
pub(super) struct Placed<'a> {
    pub(super) node: &'a Node,
    pub(super) own: &'a Address,
    /// Number of the network that its device is on.
    pub(super) segment: usize,
    /// Its place among those of its device.
    index: usize,
}

impl Placed<'_> {
    fn wrong(&self, checker: &mut Checker<'_>, text: String) {
        let path = ["nodes", &self.node.name, "addresses", &self.own.device, &self.index.to_string()];
        checker.wrong(&path, text);
    }

    fn text(&self) -> String {
        format!("{}/{} of `{}`", self.own.address, self.own.prefix, self.node.end(&self.own.device))
    }

    fn is_of_a_host(&self) -> bool {
        self.own.prefix == bits(self.own.address) || self.own.device == "lo"
    }
}

pub(super) fn check(topology: &Topology, segments: &Segments, checker: &mut Checker<'_>) {
    let all = placed(topology, segments);
    for (place, one) in all.iter().enumerate() {
        alone(one, checker);
        pairs(&all[..place], one, checker);
        company(&all, one, checker);
    }
    for node in &topology.nodes {
        routes(node, &all, checker);
        for (index, neighbour) in node.neighbours.iter().enumerate() {
            if on_link(node, neighbour.address, Some(&neighbour.device)).is_none() {
                let end = node.end(&neighbour.device);
                let text = format!("{} is in no network of `{end}`", neighbour.address);
                checker.wrong(&["nodes", &node.name, "neighbours", &index.to_string()], text);
            }
        }
    }
}

/// Every address of the topology.
pub(super) fn placed<'a>(topology: &'a Topology, segments: &Segments) -> Vec<Placed<'a>> {
    let mut all = Vec::new();
    for node in &topology.nodes {
        for (place, own) in node.addresses.iter().enumerate() {
            let index = node.addresses[..place].iter().filter(|other| other.device == own.device).count();
            let segment = segments.get(&node.end(&own.device)).copied().unwrap_or(usize::MAX);
            all.push(Placed { node, own, segment, index });
        }
    }
    all
}

/// Faults of an address by itself.
fn alone(one: &Placed<'_>, checker: &mut Checker<'_>) {
    let Address { device, address, prefix } = one.own;
    let of_ports = one.node.devices.iter().find_map(|bridge| match &bridge.kind {
        DeviceKind::Bridge { ports } if ports.contains(device) => Some(&bridge.name),
        _ => None,
    });
    if let Some(bridge) = of_ports {
        one.wrong(checker, format!("`{device}` is a port of `{bridge}`, and what comes in by it is the bridge's: give the address to `{bridge}`"));
    }
    let (first, last) = range(*address, *prefix);
    let hosts = bits(*address) - prefix;
    if address.is_multicast() || address.is_unspecified() {
        one.wrong(checker, format!("{address} is not an address of one host"));
    } else if hosts > 1 && number(*address) == first {
        one.wrong(checker, format!("{address}/{prefix} is the network itself: a host's address has more than zeros behind its first {prefix} bits"));
    } else if hosts > 1 && address.is_ipv4() && number(*address) == last {
        let text = format!("{address}/{prefix} is the network's broadcast address: take a lower one");
        one.wrong(checker, text);
    }
}

/// Faults of an address in combination with those before it.
fn pairs(before: &[Placed<'_>], one: &Placed<'_>, checker: &mut Checker<'_>) {
    for other in before.iter().filter(|other| other.own.address.is_ipv4() == one.own.address.is_ipv4()) {
        if other.own.address == one.own.address {
            let (address, there) = (one.own.address, other.node.end(&other.own.device));
            return one
                .wrong(checker, format!("{address} is the address of `{there}` already: take another"));
        }
        if other.segment == one.segment
            || one.is_of_a_host()
            || other.is_of_a_host()
            || !overlap(one.own, other.own)
        {
            continue;
        }
        let (own, there) = (one.text(), other.text());
        let text = if other.node.name == one.node.name {
            format!(
                "{own} and {there} overlap and are on different links: a packet could leave by either; take another network for one"
            )
        } else {
            format!(
                "{own} is in the network of {there}, which is on another link: take another network for one"
            )
        };
        return one.wrong(checker, text);
    }
}

/// On its link there must be another address in its network.
fn company(all: &[Placed<'_>], one: &Placed<'_>, checker: &mut Checker<'_>) {
    if one.is_of_a_host() {
        return;
    }
    let family = if one.own.address.is_ipv4() { "IPv4" } else { "IPv6" };
    let others: Vec<_> = all
        .iter()
        .filter(|other| other.segment == one.segment && other.own.address != one.own.address)
        .filter(|other| other.own.address.is_ipv4() == one.own.address.is_ipv4())
        .collect();
    let own = one.text();
    let network = |placed: &Placed<'_>| range(placed.own.address, placed.own.prefix);
    if let Some(first) = others.first() {
        if others.iter().all(|other| network(other) != network(one)) {
            let there = first.text();
            let text = format!(
                "{own} is not in the network of its link, where there is {there}: give both one network"
            );
            one.wrong(checker, text);
        }
    } else {
        let text = format!(
            "{own} is the only {family} address on its link: give the other end one in the same network"
        );
        one.wrong(checker, text);
    }
}

fn routes(node: &Node, all: &[Placed<'_>], checker: &mut Checker<'_>) {
    for (index, route) in node.routes.iter().enumerate() {
        let same = |other: &Route| other.to == route.to && family(other) == family(route);
        let text = if node.routes[..index].iter().any(same) {
            Some("there is a route to this network already: keep one".to_owned())
        } else {
            destination(route).or_else(|| gateway(node, route, all))
        };
        if let Some(text) = text {
            checker.wrong(&["nodes", &node.name, "routes", &index.to_string()], text);
        }
    }
}

/// Faults of a route's destination.
fn destination(route: &Route) -> Option<String> {
    if let Some((network, prefix)) = route.to
        && number(network) != range(network, prefix).0
    {
        let first = address(range(network, prefix).0, network.is_ipv4());
        return Some(format!(
            "{network}/{prefix} has bits behind its prefix: the network is {first}/{prefix}"
        ));
    }
    if route.mtu.is_some_and(|mtu| !(68..=65_535).contains(&mtu)) {
        return Some("the MTU of a route must be from 68 to 65535".to_owned());
    }
    match (route.to, route.via) {
        (None, None) => Some(
            "of which family is this default? Name the gateway with via, or write 0.0.0.0/0 or ::/0".into(),
        ),
        (Some((to, _)), Some(via)) if to.is_ipv4() != via.is_ipv4() => {
            Some(format!("{to} and {via} are of two families"))
        }
        _ => None,
    }
}

/// Faults of its next hop.
fn gateway(node: &Node, route: &Route, all: &[Placed<'_>]) -> Option<String> {
    let via = route.via?;
    let Some(own) = on_link(node, via, route.device.as_deref()) else {
        let on = route.device.as_ref().map_or(String::new(), |device| format!("'s `{device}`"));
        return Some(format!(
            "{via} is on no link of `{}`{on}: a gateway is in a network of one of its addresses",
            node.name
        ));
    };
    let segment = all.iter().find(|placed| placed.own == own && placed.node.name == node.name)?.segment;
    if own.address == via {
        return Some(format!("{via} is the node's own address: name its neighbour's"));
    }
    let others = all.iter().filter(|other| other.segment == segment && other.node.name != node.name);
    let neighbours: Vec<String> = others.map(|other| other.own.address.to_string()).collect();
    let known = neighbours.contains(&via.to_string());
    let meant = || suggest(&via.to_string(), neighbours.iter().map(String::as_str));
    (!known).then(|| format!("no neighbour of `{}` has the address {via}{}", node.name, meant()))
}

fn family(route: &Route) -> Option<bool> {
    route.to.map(|(to, _)| to.is_ipv4()).or(route.via.map(|via| via.is_ipv4()))
}

/// The node's address in whose network this one is, on any of its devices or the one named.
pub(super) fn on_link<'a>(node: &'a Node, address: IpAddr, device: Option<&str>) -> Option<&'a Address> {
    node.addresses
        .iter()
        .filter(|own| device.is_none_or(|device| device == own.device) && own.device != "lo")
        .find(|own| contains(own.address, own.prefix, address))
}

/// Whether an address is in a network.
pub(crate) fn contains(network: IpAddr, prefix: u8, address: IpAddr) -> bool {
    let (first, last) = range(network, prefix);
    network.is_ipv4() == address.is_ipv4() && (first..=last).contains(&number(address))
}

fn overlap(one: &Address, other: &Address) -> bool {
    contains(one.address, one.prefix.min(other.prefix), other.address)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits().into(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

fn address(number: u128, is_v4: bool) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if is_v4 => IpAddr::V4(number.into()),
        _ => IpAddr::V6(number.into()),
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first and last address of a network.
fn range(address: IpAddr, prefix: u8) -> (u128, u128) {
    let hosts = 1_u128
        .checked_shl(u32::from(bits(address).saturating_sub(prefix)))
        .map_or(u128::MAX, |size| size - 1);
    let first = number(address) & !hosts;
    (first, first | hosts)
}
