//! The far host over the other IP family: its addresses, and whether they answer.

use super::{HopToward, next_hop_toward, of_another};
use linux::clock::mono_now;
use linux::error::OsError;
use linux::netlink::Network;
use linux::socket::{TcpOptions, tcp_connect};
use model::host::Host;
use model::plan::{LocalOptions, Target};
use model::reach::NeighbourState;
use model::reach::{AddressSource, Contact, FamilyReach};
use model::units::Nanos;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// The addresses that may be tried over the other family.
#[derive(Clone, Debug)]
pub struct Others<'a> {
    /// The far end, with the address in use.
    pub target: &'a Target,
    /// This end's choices: an address to send from leaves one family.
    pub local: &'a LocalOptions,
    /// The far end's description of itself, where it sends one.
    pub peer: Option<&'a Host>,
}

impl Others<'_> {
    /// Tries the far host's addresses of the other family, two at most. Takes ten seconds when nothing answers.
    pub fn contact(&self) -> Vec<FamilyReach> {
        if self.local.bind.is_some() {
            return Vec::new();
        }
        let mut found: Vec<(SocketAddr, AddressSource)> =
            named(self.target).into_iter().map(|address| (address, AddressSource::Name)).collect();
        if found.is_empty() {
            found
                .extend(self.announced_addresses().into_iter().map(|address| (address, AddressSource::Peer)));
        }
        found.truncate(MOST_ADDRESSES);
        found.into_iter().map(|(address, source)| contact(address, source, self.local, TIMEOUT)).collect()
    }

    /// Addresses that the far end reports, where it can be the same host that this one would reach by them: there is no address
    /// translation between, and private addresses are on this host's own link.
    fn announced_addresses(&self) -> Vec<SocketAddr> {
        let used = self.target.address;
        let addresses = self.peer.and_then(|peer| peer.nic.as_ref()).map(|nic| nic.addresses.as_slice());
        let addresses = addresses.unwrap_or_default();
        if !addresses.contains(&used.ip().to_canonical()) {
            return Vec::new();
        }
        let other =
            addresses.iter().filter(|address| address.is_ipv4() != used.ip().to_canonical().is_ipv4());
        let Ok(mut network) = Network::open() else { return Vec::new() };
        let mut may = |address: &IpAddr| {
            !is_private(*address)
                || next_hop_toward(&mut network, *address).is_some_and(|direction| direction.is_far_host)
        };
        other.filter(|address| may(address)).map(|address| SocketAddr::new(*address, used.port())).collect()
    }
}

/// The addresses of the other family that the far host's name has.
pub(super) fn named(target: &Target) -> Vec<SocketAddr> {
    let used = target.address;
    if target.host.parse::<IpAddr>().is_ok() || target.host.contains('%') {
        return Vec::new();
    }
    let all = (target.host.as_str(), used.port()).to_socket_addrs();
    all.map(|all| all.filter(|other| other.is_ipv4() != used.is_ipv4()).collect()).unwrap_or_default()
}

/// Opens a connection twice, and returns the time of each; the first one pays for neighbour discovery.
pub(crate) fn contact(
    address: SocketAddr,
    source: AddressSource,
    local: &LocalOptions,
    timeout: Nanos,
) -> FamilyReach {
    let options = TcpOptions { device: local.device.clone(), ..TcpOptions::default() };
    let open = || {
        let began = mono_now();
        tcp_connect(address, &options, timeout).map(|_| mono_now().saturating_since(began))
    };
    let found = |contact, first, again| FamilyReach { address, source, contact, first, again };
    if !has_address(address.ip()) {
        return found(Contact::NoAddress, None, None);
    }
    match open() {
        Ok(first) => found(Contact::Open, Some(first), open().ok()),
        Err(error) => found(refusal(address.ip(), &error), None, None),
    }
}

fn refusal(address: IpAddr, error: &OsError) -> Contact {
    let from = of_another(error.rejection).and_then(|rejection| rejection.from);
    match error.source.kind() {
        // A router that answers in the host's stead.
        _ if from.is_some_and(|from| from.to_canonical() != address.to_canonical()) => Contact::Rejected,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Contact::Refused,
        ErrorKind::NetworkUnreachable => Contact::NoRoute,
        ErrorKind::AddrNotAvailable => Contact::NoAddress,
        _ if neighbour(address).is_some_and(|(_, state)| is_unanswered(state)) => Contact::NeighbourFailed,
        ErrorKind::TimedOut => Contact::Silent,
        _ => Contact::Rejected,
    }
}

/// The next hop toward an address, and what the kernel knows of it now.
pub(super) fn neighbour(address: IpAddr) -> Option<(HopToward, NeighbourState)> {
    let mut network = Network::open().ok()?;
    let direction = next_hop_toward(&mut network, address)?;
    let all = network.neighbours().ok()?;
    let known = all.iter().find(|known| (known.link, known.address) == direction.place);
    Some((direction, known.map_or(NeighbourState::Unknown, |known| known.state)))
}

/// The next hop toward an address did not answer requests for its hardware address, as far as that is known after a failure.
pub(crate) fn is_dead(address: IpAddr) -> bool {
    neighbour(address.to_canonical()).is_some_and(|(_, state)| is_unanswered(state))
}

pub(super) fn is_unanswered(state: NeighbourState) -> bool {
    matches!(state, NeighbourState::Failed | NeighbourState::Incomplete)
}

/// Has this host an address of that family to send from?
fn has_address(like: IpAddr) -> bool {
    let all = Network::open().and_then(|mut network| network.addresses()).unwrap_or_default();
    all.iter().any(|own| own.is_lasting && own.address.is_ipv4() == like.is_ipv4())
}

/// Whether the address is valid within a site alone (RFC 1918, RFC 6598, RFC 4193): elsewhere another host has it.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64),
        IpAddr::V6(v6) => v6.is_unique_local(),
    }
}

const MOST_ADDRESSES: usize = 2;
/// The kernel gives up a neighbour after three seconds, and then reports it.
const TIMEOUT: Nanos = Nanos::from_secs(4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_those_of_the_rfcs() {
        for text in ["10.1.2.3", "172.31.0.1", "192.168.0.1", "100.127.0.1", "fd00::1"] {
            assert!(is_private(text.parse().unwrap()), "{text}");
        }
        for text in ["172.32.0.1", "100.128.0.1", "192.0.2.1", "2001:db8::1"] {
            assert!(!is_private(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn an_address_has_no_other_family() {
        let target = |host: &str| Target { host: host.into(), address: "127.0.0.1:9".parse().unwrap() };
        assert!(named(&target("127.0.0.1")).is_empty());
        assert!(named(&target("localhost")).iter().all(SocketAddr::is_ipv6));
    }
}
