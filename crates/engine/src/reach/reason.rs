//! Why a host cannot be reached: what the kernel knows of the first hop toward it.

use super::families::{contact, is_unanswered, named, neighbour};
use linux::netlink::{NeighbourState, Network};
use model::plan::{LocalOptions, Target};
use model::reach::{AddressSource, what_to_check};
use model::units::Nanos;
use std::io::ErrorKind;
use std::net::IpAddr;

/// A reason, to stand behind what happened, and advice that fits it better than the general one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// `the router 10.0.0.1 on eth0 does not answer ARP (FAILED)`.
    pub(crate) what: String,
    /// What to do, where it is known.
    pub(crate) advice: Option<String>,
}

/// What this host knows of a failed attempt to connect; nothing of loopback and tunnels.
pub(crate) fn reason(address: IpAddr, kind: ErrorKind) -> Option<Reason> {
    let address = address.to_canonical();
    match kind {
        ErrorKind::NetworkUnreachable => no_route(address),
        ErrorKind::TimedOut | ErrorKind::HostUnreachable => first_hop(address, kind),
        _ => None,
    }
}

/// Over which other address the far host answers, as advice.
pub(crate) fn other_family(target: &Target, local: &LocalOptions) -> Option<String> {
    if local.bind.is_some() {
        return None;
    }
    let mut others = named(target).into_iter().take(1);
    let works = others
        .find(|other| contact(*other, AddressSource::Name, local, SHORT_PATIENCE).contact.is_reached())?;
    let (family, option) = if works.is_ipv4() { ("IPv4", "-4") } else { ("IPv6", "-6") };
    Some(format!("over {family} the host answers ({}): {option} measures that", works.ip()))
}

fn no_route(address: IpAddr) -> Option<Reason> {
    let missing = Network::open().ok()?.route_to(address).is_err();
    let family = if address.is_ipv4() { "" } else { "-6 " };
    missing.then(|| Reason {
        what: format!("this host has no route to {address}"),
        advice: Some(format!(
            "`ip {family}route get {address}` says the same; check this host's routes and addresses, or try the other \
             family with -4 or -6"
        )),
    })
}

fn first_hop(address: IpAddr, kind: ErrorKind) -> Option<Reason> {
    let (way, state) = neighbour(address)?;
    let (hop, interface) = (way.place.1, &way.interface);
    let question = question(hop);
    let beyond = |what: String| Some(Reason { what, advice: None });
    match (state, kind) {
        _ if is_unanswered(state) => Some(unanswered(hop, way.is_far_host, interface, state)),
        (NeighbourState::None, _) => None,
        (_, ErrorKind::HostUnreachable) if way.is_far_host => beyond(format!(
            "the host is on the link ({question} for it on {interface} is answered), and rejects this by ICMP"
        )),
        (_, ErrorKind::HostUnreachable) => {
            beyond(format!("the router {hop} on {interface}, or one beyond it, says so (ICMP)"))
        }
        _ if way.is_far_host => beyond(format!(
            "the host is on the link ({question} for it on {interface} is answered), and silently drops this or its \
             answer"
        )),
        _ => beyond(format!(
            "the router {hop} on {interface} is there; beyond it the packets, or the answers to them, are silently \
             dropped"
        )),
    }
}

/// A next hop that does not answer: the far host itself, or a router.
pub(crate) fn unanswered(hop: IpAddr, is_far_host: bool, interface: &str, state: NeighbourState) -> Reason {
    let who = if is_far_host { "the host itself" } else { "the router" };
    let (question, state) = (question(hop), super::state(state));
    Reason {
        what: format!("{question} for {hop} ({who}) on {interface} is not answered ({state})"),
        advice: Some(what_to_check(hop, interface)),
    }
}

/// How a host is asked for its hardware address.
fn question(hop: IpAddr) -> &'static str {
    if hop.is_ipv4() { "ARP" } else { "neighbour solicitation" }
}

/// A courtesy to somebody who waits for an error.
const SHORT_PATIENCE: Nanos = Nanos(1_000_000_000);
