//! The interfaces that a server sends frames out of and counts them on, for clients that ask: those its operator named, each
//! for one session at a time.

use super::super::local::{LocalOptions, LocalPort, is_for_benchmarks, shared_bits};
use super::super::safety::{self, Exposure};
use super::super::spec::PortSpec;
use crate::error::{Context, Error, Failure, Result, sentence};
use frames::Stop;
use linux::netlink::Network;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::native::Refusal;
use wire::native::frames::FramesWish;

/// The ports on offer.
#[derive(Debug, Default)]
pub struct Offers {
    ports: Vec<Offer>,
    /// Frames may go to any address.
    anywhere: bool,
    /// The operator's own list: networks beside those for benchmarks, an address and the length of its prefix each.
    pub(crate) networks: Vec<(IpAddr, u8)>,
    /// VLAN tags that frames may have.
    pub(crate) vlans: Vec<u16>,
}

#[derive(Debug)]
struct Offer {
    port: PortSpec,
    taken: AtomicBool,
}

/// An interface for one session; free again when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    offers: Arc<Offers>,
    place: usize,
}

impl Offers {
    /// Offers these interfaces, after a look at each. `anywhere`: frames may go to any address.
    ///
    /// # Errors
    /// `Kind::Usage` for an interface that is not there, is named twice, or carries other traffic; `Kind::Unreachable` for
    /// one that cannot be used: it is down, or there is no privilege.
    pub fn new(ports: &[PortSpec], anywhere: bool) -> Result<Offers> {
        let mut offers = Offers { anywhere, ..Offers::default() };
        for port in ports {
            if port.host.is_some() {
                let what = format!("--frames-port {port} names another host");
                let advice = format!("run `pathmeter serve --frames-port {}` there", port.at_its_host());
                return Err(Failure::usage(what, advice).into());
            }
            if offers.ports.iter().any(|offer| offer.port == *port) {
                let what = format!("--frames-port {port} is given twice");
                return Err(Failure::usage(what, "name each interface once").into());
            }
            let open = offers.look_at(port);
            open.with_context(|| format!("--frames-port {port}"))?;
            offers.ports.push(Offer { port: port.clone(), taken: AtomicBool::new(false) });
        }
        Ok(offers)
    }

    /// Opens an interface and closes it again; an error names what could be disturbed.
    fn look_at(&self, port: &PortSpec) -> Result<()> {
        let options = LocalOptions { name: Some(port.clone()), ..LocalOptions::default() };
        let opened = LocalPort::open(port.open_namespace()?, &port.interface, &options)?;
        self.check(&opened.exposure, &[])
    }

    /// RFC 6815, in the words of a server.
    fn check(&self, exposure: &Exposure, addresses: &[IpAddr]) -> Result<()> {
        let others: Vec<IpAddr> = addresses.iter().copied().filter(|one| !self.is_listed(*one)).collect();
        let checked = safety::check(&[exposure], &others, self.anywhere);
        checked.map(drop).map_err(|error| Failure::usage(sentence(&error), ANYWHERE).into())
    }

    /// Is it in a network of the operator's list?
    fn is_listed(&self, address: IpAddr) -> bool {
        let whole = if address.is_ipv4() { 32 } else { 128 };
        self.networks.iter().any(|network| network.1 <= whole && overlap(*network, (address, whole)))
    }

    /// May a client give an interface this address, or send frames from it?
    fn may_have(&self, address: IpAddr) -> bool {
        self.anywhere || is_for_benchmarks(address) || self.is_listed(address)
    }

    /// The interface of this name, for one session.
    pub(super) fn claim(self: &Arc<Self>, name: &str) -> Result<Claim, Refusal> {
        let Some(place) = self.ports.iter().position(|offer| offer.port.to_string() == name) else {
            return Err(self.not_offered(name));
        };
        if self.ports[place].taken.swap(true, Ordering::AcqRel) {
            let what = format!("another client has {name} at present");
            return Err(refusal("busy", what, "try again later"));
        }
        Ok(Claim { offers: self.clone(), place })
    }

    fn not_offered(&self, name: &str) -> Refusal {
        let offered: Vec<String> = self.ports.iter().map(|offer| offer.port.to_string()).collect();
        let what = match offered.is_empty() {
            true => format!("this server sends and counts frames on no interface, {name} included"),
            false => format!("this server does not offer {name}, but {}", offered.join(", ")),
        };
        refusal("unsupported", what, format!("start it with `pathmeter serve --frames-port {name}`"))
    }
}

impl Claim {
    /// Opens the interface as it is wished for. `stop` ends what is being sent.
    ///
    /// # Errors
    /// Those of [`LocalPort::open`]; an address that is wished for is a public one.
    pub(super) fn open(&self, wish: &FramesWish, stop: &Stop) -> Result<LocalPort> {
        let port = &self.offers.ports[self.place].port;
        let all = [&wish.addressing, &wish.fallback];
        let given: Vec<(IpAddr, u8)> = all.iter().flat_map(|these| these.addresses.clone()).collect();
        let gateways = all.iter().flat_map(|these| these.gateways.clone());
        self.check(&given.iter().map(|(address, _)| *address).chain(gateways).collect::<Vec<_>>())?;
        for (address, prefix) in given {
            self.check_network(address, prefix)?;
        }
        let options = LocalOptions {
            name: Some(port.clone()),
            cpu: self.cpu(),
            addressing: wish.addressing.clone(),
            fallback: wish.fallback.clone(),
            is_lab: false,
            stop: stop.clone(),
        };
        LocalPort::open(port.open_namespace()?, &port.interface, &options)
    }

    /// Whether frames may go to these addresses.
    ///
    /// # Errors
    /// They are public ones, and the operator did not say that they may be sent to.
    pub(super) fn check(&self, addresses: &[IpAddr]) -> Result<()> {
        // The interface itself was looked at when it was offered.
        self.offers.check(&Exposure::default(), addresses)
    }

    /// Whether the interface may be given this address: in a network so small, and so far from all others, that no route of
    /// this host leads elsewhere because of it.
    fn check_network(&self, address: IpAddr, prefix: u8) -> Result<()> {
        let shortest = if address.is_ipv4() { 24 } else { 64 };
        if prefix < shortest {
            let what = format!("a network of a prefix as short as {address}/{prefix}");
            return Err(Failure::usage(what, format!("ask for /{shortest} or longer")).into());
        }
        if !self.offers.may_have(address) {
            let what = format!("{address} is not an address for benchmarks");
            return Err(Failure::usage(what, BENCHMARK_ADDRESSES).into());
        }
        let port = &self.offers.ports[self.place].port;
        let own = port.open_namespace()?.run(addresses_here)??;
        let other = own.iter().find(|(link, own, length)| {
            *link != port.interface && overlap((address, prefix), (*own, *length))
        });
        match other {
            Some((link, own, length)) => {
                let what = format!("the network of {address}/{prefix} has {own}/{length} of {link} in it");
                Err(Failure::usage(what, "ask for one that this host is not in").into())
            }
            None => Ok(()),
        }
    }

    /// Whether frames may come from this address: one of the interface, which has these, or one that it could be given.
    ///
    /// # Errors
    /// The address belongs to another host.
    pub(super) fn check_source(&self, source: IpAddr, own: &[IpAddr]) -> Result<()> {
        if own.contains(&source) || self.offers.may_have(source) {
            return Ok(());
        }
        let what =
            format!("frames from {source}, which is neither the interface's address nor one for benchmarks");
        Err(Failure::usage(what, BENCHMARK_ADDRESSES).into())
    }

    /// Whether frames may have this VLAN tag.
    ///
    /// # Errors
    /// The operator did not say that they may.
    pub(super) fn check_vlan(&self, vlan: Option<u16>) -> Result<()> {
        match vlan.filter(|vlan| !self.offers.vlans.contains(vlan)) {
            None => Ok(()),
            Some(vlan) => {
                let advice = format!("`pathmeter serve --frames-vlan {vlan}` allows it");
                Err(Failure::usage(format!("this server sends no frames into VLAN {vlan}"), advice).into())
            }
        }
    }

    /// A CPU for the generator, another one for each interface: the last ones, as interrupts are on the first.
    fn cpu(&self) -> Option<u32> {
        let cpus = linux::cpu::affinity().ok()?;
        let from_the_last = self.place % cpus.len().max(1);
        cpus.iter().rev().nth(from_the_last).and_then(|cpu| u32::try_from(*cpu).ok())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.offers.ports[self.place].taken.store(false, Ordering::Release);
    }
}

/// Interface, address and length of the prefix of every address of this thread's namespace.
fn addresses_here() -> linux::Result<Vec<(String, IpAddr, u8)>> {
    let mut network = Network::open()?;
    let links = network.links()?;
    let name = |number: u32| {
        links.iter().find(|link| link.index == number).map_or_else(String::new, |link| link.name.clone())
    };
    let all = network.addresses()?;
    Ok(all.iter().map(|own| (name(own.link), own.address, own.prefix)).collect())
}

/// Has one of these networks the other in it?
fn overlap((one, one_prefix): (IpAddr, u8), (two, two_prefix): (IpAddr, u8)) -> bool {
    let most = if one.is_ipv4() { 32 } else { 128 };
    shared_bits(one, two).is_some_and(|bits| bits >= u32::from(one_prefix.min(two_prefix).min(most)))
}

/// A refusal for a client, with advice.
pub(super) fn refusal(code: &str, reason: impl Into<String>, advice: impl Into<String>) -> Refusal {
    Refusal { code: code.into(), reason: reason.into(), advice: advice.into() }
}

/// An error of this end as a refusal.
pub(super) fn refused(error: &Error) -> Refusal {
    refusal("unsupported", sentence(error), error.advice().unwrap_or_default())
}

const BENCHMARK_ADDRESSES: &str = "ask for one of 198.18.0.0/15 or 2001:2::/48; \
                                   `pathmeter serve --frames-network ADDRESS/LENGTH` allows others";
const ANYWHERE: &str = "name an interface that leads to the device under test and nowhere else; \
                        `pathmeter serve --frames-anywhere` allows it all the same";

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn networks_overlap_where_one_has_the_other_in_it() {
        let overlaps =
            |one: (&str, u8), two: (&str, u8)| overlap((address(one.0), one.1), (address(two.0), two.1));
        assert!(overlaps(("198.18.0.2", 24), ("198.18.0.9", 24)));
        assert!(overlaps(("198.18.0.2", 24), ("198.18.7.9", 15)));
        assert!(overlaps(("10.0.0.1", 1), ("1.1.1.1", 32)));
        assert!(overlaps(("10.0.0.1", 0), ("192.0.2.1", 32)));
        assert!(!overlaps(("198.18.0.2", 24), ("198.18.1.2", 24)));
        assert!(!overlaps(("198.18.0.2", 24), ("2001:2::1", 64)));
        assert!(overlaps(("2001:2::2", 64), ("2001:2::9", 128)));
        assert!(!overlaps(("2001:2::2", 64), ("2001:2:0:1::2", 64)));
    }

    #[test]
    fn the_operators_list_is_all_that_is_added() {
        let networks = vec![(address("8.8.8.0"), 24), (address("fd00:1::"), 64)];
        let offers = Offers { networks, ..Offers::default() };
        for (text, may) in [
            ("8.8.8.7", true),
            ("8.8.9.7", false),
            ("fd00:1::5", true),
            ("fd00:2::5", false),
            ("198.18.0.1", true),
        ] {
            assert_eq!(offers.may_have(address(text)), may, "{text}");
        }
        assert!(offers.check(&Exposure::default(), &[address("8.8.8.7")]).is_ok());
        assert!(offers.check(&Exposure::default(), &[address("8.8.9.7")]).is_err());
    }

    #[test]
    fn addresses_for_benchmarks_are_those_of_the_rfcs() {
        for text in ["198.18.0.1", "198.19.255.255", "2001:2::1", "2001:2:0:ffff::1"] {
            assert!(is_for_benchmarks(address(text)), "{text}");
        }
        for text in ["10.0.0.1", "198.20.0.1", "169.254.169.254", "2001:2:1::1", "fe80::1"] {
            assert!(!is_for_benchmarks(address(text)), "{text}");
        }
    }
}
