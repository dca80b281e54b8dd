//! Addresses of a port: those its interface has, and those it is given for the test and loses after it.

use super::interface::Interface;
use linux::error::Named;
use linux::netlink::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::native::frames::Addressing;

/// The first port (0) or the second (1) of a device that routes: each in a network of its own, the device with the first
/// address in it. 198.18.0.2/24 and 198.19.0.2/24 (RFC 2544 appendix C.2.2), 2001:2::2/64 and 2001:2:0:1::2/64
/// (RFC 5180 section 8).
pub(crate) fn routed(port: u8) -> Addressing {
    let (v4, v6) = (|host| ipv4(port, host), |host| ipv6(port, host));
    Addressing { addresses: vec![(v4(2), 24), (v6(2), 64)], gateways: vec![v4(1), v6(1)] }
}

/// The first port (0) or the second (1) of a device that does not: both in one network. 198.18.0.2/24 and 198.18.0.3/24,
/// 2001:2::2/64 and 2001:2::3/64.
pub(crate) fn bridged(port: u8) -> Addressing {
    let addresses = vec![(ipv4(0, 2 + port), 24), (ipv6(0, 2 + port), 64)];
    Addressing { addresses, gateways: Vec::new() }
}

fn of_family(addressing: &Addressing, is_ipv4: bool) -> Addressing {
    let is_like = |address: &IpAddr| address.is_ipv4() == is_ipv4;
    Addressing {
        addresses: addressing.addresses.iter().filter(|(address, _)| is_like(address)).copied().collect(),
        gateways: addressing.gateways.iter().filter(|address| is_like(address)).copied().collect(),
    }
}

/// Addresses and routes that were added to an interface. They are removed on drop, and soon, too, when this process dies.
#[derive(Debug)]
pub(super) struct Added {
    interface: String,
    /// Its name as the user gives it.
    name: String,
    network: Network,
    addresses: Vec<(IpAddr, u8)>,
    gateways: Vec<IpAddr>,
    /// Changes to the interface for the test, in sentences.
    pub(super) notes: Vec<String>,
    /// Renews the addresses, so that they do not lapse in mid test.
    renewal: Option<Renewal>,
}

/// A thread that lends addresses for longer, again and again, until it is dropped.
#[derive(Debug)]
struct Renewal {
    /// Closed, the thread ends.
    open: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Renewal {
    /// Starts it, in the network namespace of the calling thread.
    fn start(interface: String, addresses: Vec<(IpAddr, u8)>) -> linux::Result<Renewal> {
        let mut network = Network::open()?;
        let (open, closed) = channel::<()>();
        let renew = move || {
            while closed.recv_timeout(RENEWED) == Err(RecvTimeoutError::Timeout) {
                for (address, prefix) in &addresses {
                    // The interface may be gone, and its addresses with it.
                    network.lend_address(&interface, *address, *prefix, LENT).ok();
                }
            }
        };
        let thread = std::thread::Builder::new().name("addresses".into());
        let thread = thread.spawn(renew).named("start", || "the thread that keeps addresses".into())?;
        Ok(Renewal { open: Some(open), thread: Some(thread) })
    }
}

impl Drop for Renewal {
    fn drop(&mut self) {
        drop(self.open.take());
        // The thread must not renew addresses that are removed next.
        self.thread.take().map(JoinHandle::join);
    }
}

impl Added {
    /// Gives the interface the requested addresses, and those of the fallback in families of which it has none.
    pub(super) fn to(port: &Interface, asked: &Addressing, fallback: &Addressing) -> linux::Result<Added> {
        let nic = &port.nic;
        let mut added = Added {
            interface: nic.link.name.clone(),
            name: port.name.to_string(),
            network: Network::open()?,
            addresses: vec![],
            gateways: vec![],
            notes: vec![],
            renewal: None,
        };
        for is_ipv4 in [true, false] {
            let (asked, fallback) = (of_family(asked, is_ipv4), of_family(fallback, is_ipv4));
            let has = |like: &(IpAddr, u8)| nic.addresses.contains(&like.0);
            let missing: Vec<_> = asked.addresses.iter().filter(|like| !has(like)).copied().collect();
            for address in missing {
                added.add(address)?;
            }
            added.gateways.extend(&asked.gateways);
            let none = !nic.addresses.iter().any(|own| own.is_ipv4() == is_ipv4);
            if none && asked.addresses.is_empty() && !fallback.addresses.is_empty() {
                added.fall_back(&fallback, asked.gateways.is_empty());
            }
        }
        if !added.addresses.is_empty() {
            added.renewal = Some(Renewal::start(added.interface.clone(), added.addresses.clone())?);
        }
        Ok(added)
    }

    /// A host without this family, or without a right to give addresses, is still measured over the other.
    fn fall_back(&mut self, fallback: &Addressing, with_gateways: bool) {
        for address in &fallback.addresses {
            if let Err(error) = self.add(*address) {
                let family = if address.0.is_ipv4() { "IPv4" } else { "IPv6" };
                self.notes.push(format!("{} has no address of {family}: {error}.", self.name));
                return;
            }
        }
        if with_gateways {
            self.gateways.extend(&fallback.gateways);
        }
    }

    fn add(&mut self, (address, prefix): (IpAddr, u8)) -> linux::Result<()> {
        self.network.lend_address(&self.interface, address, prefix, LENT)?;
        self.addresses.push((address, prefix));
        let note = format!("{} was given {address}/{prefix} for the test.", self.name);
        self.notes.push(note);
        Ok(())
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.addresses.iter().map(|(address, _)| *address)
    }

    /// The next hops, which are the port's from here on.
    pub(super) fn take_gateways(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.gateways)
    }
}

impl Drop for Added {
    fn drop(&mut self) {
        drop(self.renewal.take());
        for (address, prefix) in &self.addresses {
            // The interface may be gone, and its addresses with it.
            self.network.delete_address(&self.interface, *address, *prefix).ok();
        }
    }
}

/// How long the kernel keeps an address that is not renewed, seconds.
const LENT: u32 = 60;
/// How often they are renewed.
const RENEWED: Duration = Duration::from_secs(20);

/// 198.18.0.0/15 (RFC 2544 appendix C.2.2) and 2001:2::/48 (RFC 5180 section 8).
pub(crate) fn is_for_benchmarks(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[0] == 198 && v4.octets()[1] & 0xfe == 18,
        IpAddr::V6(v6) => v6.segments()[..3] == [0x2001, 2, 0],
    }
}

/// Addresses of an interface that a run which was killed has left, and that go away soon.
pub(super) fn left_behind(port: &Interface) -> linux::Result<Vec<IpAddr>> {
    let all = Network::open()?.addresses()?.into_iter();
    let left = all.filter(|one| one.link == port.nic.link.index && one.expires);
    Ok(left.map(|one| one.address).filter(|address| is_for_benchmarks(*address)).collect())
}

/// An address of 198.18.0.0/15 (RFC 2544 appendix C): the host in the network 198.18.0.0/24 (0) or 198.19.0.0/24 (1).
pub(crate) fn ipv4(net: u8, host: u8) -> IpAddr {
    Ipv4Addr::new(198, 18 + net, 0, host).into()
}

/// An address of 2001:2::/48 (RFC 5180 section 8): the host in the network 2001:2:0:NET::/64.
pub(crate) fn ipv6(net: u8, host: u8) -> IpAddr {
    Ipv6Addr::new(0x2001, 2, 0, net.into(), 0, 0, 0, host.into()).into()
}

/// How many bits two addresses have in common at their beginning; `None` where they are of two families.
pub(crate) fn shared_bits(one: IpAddr, other: IpAddr) -> Option<u32> {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => Some((one.to_bits() ^ other.to_bits()).leading_zeros()),
        (IpAddr::V6(one), IpAddr::V6(other)) => Some((one.to_bits() ^ other.to_bits()).leading_zeros()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_router_are_in_two_networks_and_those_of_a_bridge_in_one() {
        let reply = |addressing: Addressing| {
            let addresses: Vec<String> =
                addressing.addresses.iter().map(|(address, prefix)| format!("{address}/{prefix}")).collect();
            let gateways: Vec<String> = addressing.gateways.iter().map(ToString::to_string).collect();
            (addresses.join(" "), gateways.join(" "))
        };
        assert_eq!(reply(routed(0)), ("198.18.0.2/24 2001:2::2/64".into(), "198.18.0.1 2001:2::1".into()));
        let second = ("198.19.0.2/24 2001:2:0:1::2/64".into(), "198.19.0.1 2001:2:0:1::1".into());
        assert_eq!(reply(routed(1)), second);
        assert_eq!(reply(bridged(0)), ("198.18.0.2/24 2001:2::2/64".into(), String::new()));
        assert_eq!(reply(bridged(1)), ("198.18.0.3/24 2001:2::3/64".into(), String::new()));
    }
}
