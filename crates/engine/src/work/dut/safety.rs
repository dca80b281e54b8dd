//! RFC 6815: a benchmark overloads what it is sent through, and so belongs into an isolated network. A network that seems to be
//! in use by others is refused, unless the user permits it.

mod in_use;

use super::local::is_for_benchmarks;
use super::spec::PortSpec;
use crate::error::{Failure, Result};
use linux::nic::Nic;
use std::net::{IpAddr, SocketAddr};

/// The hosts that could be disturbed through a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exposure {
    /// The port, as the user names it.
    name: String,
    /// Nothing: it is in a lab of ours.
    is_lab: bool,
    /// The default route of this host leaves by it.
    default_route: bool,
    /// The other ends of TCP connections that run through it.
    connections: Vec<SocketAddr>,
    /// Its addresses.
    addresses: Vec<IpAddr>,
}

impl Exposure {
    /// Looks at an interface of the calling thread's namespace, before anything is changed.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub(super) fn from_nic(nic: &Nic, name: &PortSpec, is_lab: bool) -> linux::Result<Exposure> {
        let exposure = Exposure { name: name.to_string(), is_lab, ..Exposure::default() };
        if is_lab {
            return Ok(exposure);
        }
        let mut around = in_use::Around::from_nic(nic, name.namespace.is_none())?;
        Ok(Exposure {
            default_route: around.has_default_route(),
            connections: around.connections(),
            addresses: around.addresses,
            ..exposure
        })
    }

    /// Whether others seem to use what it leads to.
    pub(super) fn is_live(&self) -> bool {
        !self.objections().is_empty()
    }

    fn objections(&self) -> Vec<String> {
        let mut objections = Vec::new();
        let name = &self.name;
        if self.is_lab {
            return objections;
        }
        if self.default_route {
            objections.push(format!("the default route of this host leaves by {name}"));
        }
        if let Some(peer) = self.connections.first() {
            let more = match self.connections.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            objections.push(format!("a TCP connection with {peer}{more} runs through {name}"));
        }
        let public = self.addresses.iter().find(|address| is_public(**address));
        objections.extend(public.map(|address| format!("{name} has the public address {address}")));
        objections
    }
}

/// Refuses ports and destinations that others may depend on; with `allowed` returns the objections as notes.
///
/// # Errors
/// `Kind::Usage`, with every objection and advice.
pub(crate) fn check(ports: &[&Exposure], destinations: &[IpAddr], allowed: bool) -> Result<Vec<String>> {
    let mut objections: Vec<String> = ports.iter().flat_map(|port| port.objections()).collect();
    if !ports.iter().all(|port| port.is_lab) {
        let public = destinations.iter().filter(|to| is_public(**to));
        objections.extend(public.map(|to| format!("frames would be sent to the public address {to}")));
    }
    if allowed {
        let note =
            |objection| format!("On the network that is under test by --allow-live-network: {objection}.");
        return Ok(objections.into_iter().map(note).collect());
    }
    if objections.is_empty() {
        return Ok(objections);
    }
    let what = format!("not sent into a network that others may use (RFC 6815): {}", objections.join("; "));
    Err(Failure::usage(what, ADVICE).into())
}

/// Neither set aside for benchmarks (RFC 2544, RFC 5180) nor for private networks, this link, or documentation.
fn is_public(address: IpAddr) -> bool {
    let is_private = match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            v4.is_private()
                || v4.is_link_local()
                || v4.is_documentation()
                || v4.is_loopback()
                || (a == 100 && b & 0xc0 == 64)
        }
        IpAddr::V6(v6) => {
            let [a, b, ..] = v6.segments();
            v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_loopback()
                || (a, b) == (0x2001, 0xdb8)
                || (a == 0x3fff && b & 0xf000 == 0)
        }
    };
    !is_private && !is_for_benchmarks(address)
}

const ADVICE: &str = "name interfaces that lead to the device under test and nowhere else; --allow-live-network sends all the \
                      same, and will disturb who uses that network";

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str) -> Exposure {
        Exposure { name: name.into(), ..Exposure::default() }
    }

    fn refused(ports: &[&Exposure], destinations: &[&str]) -> String {
        let destinations: Vec<IpAddr> = destinations.iter().map(|text| text.parse().unwrap()).collect();
        let error = check(ports, &destinations, false).unwrap_err();
        assert_eq!(error.kind(), crate::error::Kind::Usage);
        let reply = crate::error::tests::printed(&error);
        assert!(reply.contains("RFC 6815") && reply.contains("--allow-live-network"), "{reply}");
        let notes = check(ports, &destinations, true).unwrap();
        assert!(!notes.is_empty() && notes.iter().all(|note| note.ends_with('.')), "{notes:?}");
        reply
    }

    #[test]
    fn ports_that_lead_to_the_device_alone_are_fine() {
        let addresses = ["198.18.0.2", "10.0.0.1", "2001:2::2", "fd00::1"].map(|text| text.parse().unwrap());
        let exposed = Exposure { addresses: addresses.to_vec(), ..port("eth1") };
        let two = port("red/eth1");
        assert_eq!(check(&[&exposed, &two], &addresses, false).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_others_use_is_refused_without_the_flag() {
        let first = Exposure { default_route: true, ..port("eth0") };
        let reply = refused(&[&first, &port("eth1")], &[]);
        assert!(reply.contains("the default route of this host leaves by eth0"), "{reply}");
        assert!(first.is_live() && !port("eth1").is_live());

        let peers = ["10.0.0.9:5555", "10.0.0.8:22"].map(|text| text.parse().unwrap());
        let used = Exposure { connections: peers.to_vec(), ..port("eth2") };
        let reply = refused(&[&used], &[]);
        assert!(
            reply.contains("a TCP connection with 10.0.0.9:5555 and 1 more runs through eth2"),
            "{reply}"
        );

        let public = Exposure { addresses: vec!["8.8.4.4".parse().unwrap()], ..port("eth3") };
        assert!(refused(&[&public], &[]).contains("eth3 has the public address 8.8.4.4"));
        let reply = refused(&[&port("eth1")], &["198.19.0.2", "2600::1"]);
        assert!(reply.contains("public address 2600::1") && !reply.contains("198.19"), "{reply}");
    }

    #[test]
    fn a_lab_belongs_to_its_user() {
        let lab = Exposure { is_lab: true, default_route: true, ..port("client/eth0") };
        let far = ["8.8.8.8".parse().unwrap()];
        assert_eq!(check(&[&lab], &far, false).unwrap(), Vec::<String>::new());
        refused(&[&lab, &port("eth1")], &["8.8.8.8"]);
    }

    #[test]
    fn addresses_set_aside_are_those_of_the_rfcs() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for text in ["198.17.255.255", "198.20.0.0", "100.128.0.1", "2001:2:1::1", "2600::1", "172.32.0.1"] {
            assert!(public(text), "{text}");
        }
        for text in [
            "198.18.0.0",
            "198.19.255.255",
            "100.64.0.1",
            "2001:2::1",
            "fe80::1",
            "192.0.2.1",
            "2001:db8::1",
            "172.31.0.1",
        ] {
            assert!(!public(text), "{text}");
        }
    }
}
