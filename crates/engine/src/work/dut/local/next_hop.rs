//! The Ethernet address that a port sends to: the kernel's route, and the neighbour it asks for.

use super::addresses::shared_bits;
use super::interface::Interface;
use crate::error::{Failure, Result};
use crate::host::reach::{reason, unanswered};
use frames::Stop;
use linux::clock::mono_now;
use linux::netlink::{Neighbour, Network};
use linux::socket::{UdpOptions, udp_bind};
use model::reach::NeighbourState;
use model::units::Nanos;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address toward `to`: of the gateway where one is named, else of the next hop by the routes of the calling thread's
/// namespace. Another interface of the same namespace and network is itself the next hop, and is not queried: the kernel would
/// not answer itself.
pub(super) fn find(
    interface: &Interface,
    gateway: Option<IpAddr>,
    to: IpAddr,
    stop: &Stop,
) -> Result<[u8; 6]> {
    let mut network = Network::open()?;
    if let Some(gateway) = gateway {
        on_the_link(&mut network, interface, gateway)?;
        return neighbour(&mut network, interface, gateway, false, stop);
    }
    if let Some(mac) = far_port(&mut network, interface, to)? {
        return Ok(mac);
    }
    let hop = on_the_link(&mut network, interface, to)?.unwrap_or(to);
    neighbour(&mut network, interface, hop, hop == to, stop)
}

/// The far port, where it is an interface of this namespace and in one network with this one.
fn far_port(network: &mut Network, interface: &Interface, to: IpAddr) -> Result<Option<[u8; 6]>> {
    let own = interface.nic.link.index;
    let all = network.addresses()?;
    let Some(far) = all.iter().find(|far| far.address == to && far.link != own) else { return Ok(None) };
    let is_near = |near: &&linux::netlink::InterfaceAddress| {
        near.link == own && shared_bits(near.address, to) >= Some(near.prefix.into())
    };
    if all.iter().find(is_near).is_some() {
        return Ok(network.link_by_index(far.link)?.mac);
    }
    let name = &interface.name;
    let what =
        format!("{to} is an address of this host, so that no route shows where frames from {name} to it go");
    let advice = "name the device's address at each port as its gateway, or put the ports into namespaces of their own";
    Err(Failure::unreachable(what, advice).into())
}

/// The router toward an address, if any, where the route leads out of this interface.
fn on_the_link(network: &mut Network, interface: &Interface, to: IpAddr) -> Result<Option<IpAddr>> {
    let (name, link) = (&interface.name, &interface.nic.link);
    let Ok(route) = network.route_to(to) else {
        let reply = reason(to, ErrorKind::NetworkUnreachable);
        let what = reply.map_or_else(|| format!("no route leads to {to}"), |reason| reason.what);
        return Err(Failure::unreachable(format!("{name}: {what}"), route_advice(interface, to)).into());
    };
    if route.link == link.index {
        return Ok(route.gateway);
    }
    let other = network.link_by_index(route.link).map_or("another interface".into(), |link| link.name);
    let what = format!("the route to {to} leads out of {other}, not out of {name}");
    Err(Failure::unreachable(what, route_advice(interface, to)).into())
}

fn route_advice(interface: &Interface, to: IpAddr) -> String {
    let family = if to.is_ipv4() { "" } else { "-6 " };
    let own = interface.nic.link.name.as_str();
    let add = interface.name.command(&format!("ip {family}route add {to} via ROUTER dev {own}"));
    format!("name the device's address at this port as its gateway, or: `{add}`")
}

/// Has the kernel ask for a neighbour, and waits for what comes of it.
fn neighbour(
    network: &mut Network,
    interface: &Interface,
    hop: IpAddr,
    is_far_host: bool,
    stop: &Stop,
) -> Result<[u8; 6]> {
    let link = &interface.nic.link;
    let until = mono_now() + TIMEOUT;
    let mut asked_at = None;
    loop {
        let all = network.neighbours()?;
        let known = all.iter().find(|known| known.link == link.index && known.address == hop);
        if let Some(mac) = known.and_then(answered) {
            return Ok(mac);
        }
        let state = known.map_or(NeighbourState::Unknown, |known| known.state);
        let settled = asked_at.is_some_and(|at| mono_now() >= at + SETTLED);
        if mono_now() >= until || stop.is_raised() || (settled && state == NeighbourState::Failed) {
            let reason = unanswered(hop, is_far_host, &interface.name.to_string(), state);
            let advice = reason.advice.unwrap_or_default();
            return Err(Failure::unreachable(reason.what, advice).into());
        }
        if asked_at.is_none() {
            ask(&link.name, hop)?;
            asked_at = Some(mono_now());
        }
        std::thread::sleep(STEP.to_duration());
    }
}

/// The hardware address, where the entry is reliable enough to send to.
fn answered(known: &Neighbour) -> Option<[u8; 6]> {
    let doubted = [NeighbourState::Unknown, NeighbourState::Incomplete, NeighbourState::Failed];
    known.mac.filter(|_| !doubted.contains(&known.state))
}

/// Sends an empty datagram to the discard port (RFC 863), for which the kernel needs the address.
fn ask(interface: &str, hop: IpAddr) -> Result<()> {
    let any: IpAddr = if hop.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let options = UdpOptions { device: Some(interface.to_owned()), ..UdpOptions::default() };
    let socket = udp_bind(SocketAddr::new(any, 0), &options)?;
    // A refusal shows in the neighbour's state.
    socket.send_to(&[], SocketAddr::new(hop, DISCARD)).ok();
    Ok(())
}

const DISCARD: u16 = 9;
/// The kernel asks three times, a second apart.
const TIMEOUT: Nanos = Nanos::from_millis(3_500);
/// An entry that failed earlier keeps that state until it is resolved again.
const SETTLED: Nanos = Nanos::from_millis(200);
const STEP: Nanos = Nanos::from_millis(10);
