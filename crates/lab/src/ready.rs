//! When a lab is ready: its links carry, and neighbours have answered, so that no measurement waits for either.

use crate::error::LabError;
use crate::node::RunningNode;
use crate::topology::{Node, contains};
use linux::namespace::Namespace;
use linux::netlink::{Network, OperState};
use model::reach::NeighbourState;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until a deadline and returns the parts that are not ready then. That is no error: a topology may be made to be so.
pub(crate) fn wait(running: &[RunningNode], nodes: &[Node]) -> Result<Vec<String>, LabError> {
    let mut late = Vec::new();
    let until = Instant::now() + TO_CARRY;
    let here: Vec<(&RunningNode, &Namespace, &Node)> = running
        .iter()
        .filter_map(|node| {
            let described = nodes.iter().find(|described| described.name == node.name)?;
            Some((node, node.namespace()?, described))
        })
        .collect();
    for (node, namespace, _) in &here {
        let in_node = LabError::in_node(&node.name);
        let name = &node.name;
        let silent = namespace.run(|| carry(&node.interfaces, until)).and_then(|result| result);
        let silent = silent.map_err(in_node)?.into_iter();
        late.extend(silent.map(|link| format!("node {name}: {link} carries nothing: is its other end up?")));
    }
    // All are triggered before the first is waited for.
    let until = until.min(Instant::now() + TO_ANSWER);
    let mut triggered = Vec::new();
    for (node, namespace, described) in &here {
        let neighbours = neighbours(described, nodes);
        namespace.run(|| trigger(&neighbours)).map_err(LabError::in_node(&node.name))?;
        triggered.push(neighbours);
    }
    for ((node, namespace, _), neighbours) in here.iter().zip(triggered) {
        let in_node = LabError::in_node(&node.name);
        let name = &node.name;
        let silent = namespace.run(|| answer(&neighbours, until)).and_then(|result| result);
        let silent = silent.map_err(in_node)?.into_iter();
        late.extend(silent.map(|address| format!("node {name}: neighbour {address} does not answer")));
    }
    Ok(late)
}

/// Interfaces of these names that carry nothing by then.
fn carry(names: &[String], until: Instant) -> linux::Result<Vec<String>> {
    until_none(until, |network| {
        let links = network.links()?;
        let down = |name: &&String| {
            let carries = |state| matches!(state, OperState::Up | OperState::Unknown);
            !links.iter().any(|link| &link.name == *name && link.is_up && carries(link.state))
        };
        Ok(names.iter().filter(down).cloned().collect())
    })
}

/// Repeats a look at the network until it finds nothing, or the time is over; returns what it found last.
fn until_none<T>(
    until: Instant,
    mut look: impl FnMut(&mut Network) -> linux::Result<Vec<T>>,
) -> linux::Result<Vec<T>> {
    let mut network = Network::open()?;
    loop {
        let silent = look(&mut network)?;
        if silent.is_empty() || Instant::now() >= until {
            return Ok(silent);
        }
        thread::sleep(STEP);
    }
}

/// Addresses of other nodes in the networks of this one.
fn neighbours(node: &Node, nodes: &[Node]) -> Vec<IpAddr> {
    let others = nodes.iter().filter(|other| other.name != node.name).flat_map(|other| &other.addresses);
    let near = |address: IpAddr| {
        let mut networks = node.addresses.iter().filter(|own| own.address != address);
        networks.any(|own| contains(own.address, own.prefix, address))
    };
    others.map(|entry| entry.address).filter(|address| near(*address)).collect()
}

/// A datagram to the discard port (RFC 863) makes the kernel resolve each neighbour. Where it cannot be sent, none is resolved.
fn trigger(neighbours: &[IpAddr]) {
    for address in neighbours {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        if let Ok(socket) = UdpSocket::bind((any, 0)) {
            let _ = socket.send_to(&[], SocketAddr::new(*address, DISCARD));
        }
    }
}

/// Those of whom the kernel has no hardware address by then.
fn answer(neighbours: &[IpAddr], until: Instant) -> linux::Result<Vec<IpAddr>> {
    until_none(until, |network| {
        let known = network.neighbours()?;
        let waiting = |address: &&IpAddr| {
            let open = [NeighbourState::Incomplete, NeighbourState::Failed];
            known.iter().any(|entry| entry.address == **address && open.contains(&entry.state))
        };
        Ok(neighbours.iter().filter(waiting).copied().collect())
    })
}

/// Time for links to carry, and for neighbours to answer.
const TO_CARRY: Duration = Duration::from_secs(5);
const DISCARD: u16 = 9;
const STEP: Duration = Duration::from_millis(2);
/// The kernel repeats a request after one second: a neighbour that has not answered the second one is reported.
const TO_ANSWER: Duration = Duration::from_millis(1500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_a_network() {
        let near = |network: &str, prefix, address: &str| {
            contains(network.parse().unwrap(), prefix, address.parse().unwrap())
        };
        assert!(near("192.0.2.1", 24, "192.0.2.200") && !near("192.0.2.1", 24, "192.0.3.1"));
        assert!(near("192.0.2.1", 0, "8.8.8.8") && !near("192.0.2.1", 32, "192.0.2.2"));
        assert!(near("2001:db8::1", 64, "2001:db8::ff") && !near("2001:db8::1", 128, "2001:db8::2"));
        assert!(!near("192.0.2.1", 0, "2001:db8::1"));
    }
}
