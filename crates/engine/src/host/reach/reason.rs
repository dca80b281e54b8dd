//! Why a host cannot be reached: what the kernel knows of the first hop toward it.

use super::families::{contact, is_unanswered, named, neighbour};
use super::{HopToward, Reason, duplicate, settings};
use linux::error::Rejection;
use linux::netlink::Network;
use model::plan::{LocalOptions, Target};
use model::reach::NeighbourState;
use model::reach::{AddressSource, what_to_check};
use model::units::Nanos;
use std::io::ErrorKind;
use std::net::IpAddr;

/// This host's reason for a failed attempt to connect; none for loopback and tunnels.
pub(crate) fn reason(address: IpAddr, kind: ErrorKind) -> Option<Reason> {
    let address = address.to_canonical();
    match kind {
        ErrorKind::NetworkUnreachable => no_route(address),
        ErrorKind::TimedOut | ErrorKind::HostUnreachable => first_hop(address, kind),
        // Another host than the one that is meant may have refused.
        ErrorKind::ConnectionRefused => {
            neighbour(address).filter(|(hop, _)| hop.is_far_host).and_then(|(hop, _)| duplicate(&hop))
        }
        _ => None,
    }
}

/// The host that rejects a connection to a port, from the ICMP message that ended it.
pub(crate) fn rejected(error: &Rejection, host: IpAddr, port: u16) -> Reason {
    let host = host.to_canonical();
    let from = error.from.map(|from| from.to_canonical());
    let who = match from {
        Some(from) if from == host => "the host itself".to_owned(),
        Some(from) => format!("the router {from}"),
        None => "a router on the path".to_owned(),
    };
    let family = if error.is_v6 { "ICMPv6" } else { "ICMP" };
    let (kind, code) = (error.icmp_type, error.icmp_code);
    let (name, cause) = meaning(error);
    let what = format!("{who} rejects it ({family} type {kind} code {code}: {name})");
    let advice = match cause {
        Cause::Firewall => format!(
            "a firewall rule or a reject route at {} does so: allow TCP and UDP port {port} there; this host's routes are not \
             the cause",
            from.map_or_else(|| "that router".into(), |from| from.to_string())
        ),
        Cause::Beyond => format!(
            "look at {}: it has no route to {host}, or the next hop there does not answer it",
            from.map_or_else(|| "the routers on the path".into(), |from| from.to_string())
        ),
    };
    Reason { what, advice: Some(advice) }
}

/// The cause of a rejection.
#[derive(Clone, Copy)]
enum Cause {
    /// A rule forbids it.
    Firewall,
    /// The packet could not be passed on.
    Beyond,
}

/// Codes of destination unreachable (RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1).
fn meaning(error: &Rejection) -> (&'static str, Cause) {
    match (error.is_v6, error.icmp_type, error.icmp_code) {
        (false, 3, 0) => ("network unreachable", Cause::Beyond),
        (false, 3, 1) | (true, 1, 3) => ("host unreachable", Cause::Beyond),
        (true, 1, 0) => ("no route to destination", Cause::Beyond),
        (false, 3, 2) => ("protocol unreachable", Cause::Firewall),
        (false, 3, 3) | (true, 1, 4) => ("port unreachable", Cause::Firewall),
        (false, 3, 9) => ("network administratively prohibited", Cause::Firewall),
        (false, 3, 10) => ("host administratively prohibited", Cause::Firewall),
        (false, 3, 13) | (true, 1, 1) => ("communication administratively prohibited", Cause::Firewall),
        (true, 1, 5) => ("source address failed policy", Cause::Firewall),
        (true, 1, 6) => ("reject route to destination", Cause::Firewall),
        (_, 11, _) | (true, 3, _) => ("time exceeded: a routing loop", Cause::Beyond),
        _ => ("destination unreachable", Cause::Beyond),
    }
}

/// Over which other address the far host answers, as advice.
pub(crate) fn other_family(target: &Target, local: &LocalOptions) -> Option<String> {
    if local.bind.is_some() {
        return None;
    }
    let mut others = named(target).into_iter().take(1);
    let works = others
        .find(|other| contact(*other, AddressSource::Name, local, SHORT_TIMEOUT).contact.is_reached())?;
    let (family, option) = if works.is_ipv4() { ("IPv4", "-4") } else { ("IPv6", "-6") };
    Some(format!("over {family} the host answers ({}): {option} measures that", works.ip()))
}

/// Two devices have its address.
fn duplicate(hop: &HopToward) -> Option<Reason> {
    duplicate::look(hop).map(|(what, advice)| Reason { what, advice: Some(advice) })
}

fn no_route(address: IpAddr) -> Option<Reason> {
    let missing = Network::open().ok()?.route_to(address).is_err();
    let family = if address.is_ipv4() { "" } else { "-6 " };
    missing.then(|| Reason {
        what: format!("this host has no route to {address}"),
        advice: Some(format!(
            "`ip {family}route get {address}` shows the same: no table that `ip {family}rule` names has one. Add it, such as \
             `sudo ip {family}route add default via ROUTER`, or try the other family with -4 or -6"
        )),
    })
}

fn first_hop(address: IpAddr, kind: ErrorKind) -> Option<Reason> {
    let (direction, state) = neighbour(address)?;
    let (hop, interface) = (direction.place.1, &direction.interface);
    let question = question(hop);
    let beyond = |what: String| Some(Reason { what, advice: None });
    match (state, kind) {
        _ if is_unanswered(state) => {
            let reason = unanswered(hop, direction.is_far_host, interface, state);
            let general = reason.advice.unwrap_or_default();
            let own = settings::multicast(&direction).map(|own| format!("{own}. {general}"));
            Some(Reason { advice: Some(own.unwrap_or(general)), what: reason.what })
        }
        (NeighbourState::Unknown, _) => None,
        (_, ErrorKind::HostUnreachable) if direction.is_far_host => beyond(format!(
            "the host is on the link ({question} for it on {interface} is answered), and rejects this by ICMP"
        )),
        (_, ErrorKind::HostUnreachable) => {
            beyond(format!("the router {hop} on {interface}, or one beyond it, reports this (ICMP)"))
        }
        _ if direction.is_far_host => {
            let own = settings::reverse_path(address, interface)
                .or_else(|| duplicate(&direction))
                .or_else(|| settings::shared_address(&direction));
            own.or_else(|| {
                beyond(format!(
                    "the host is on the link ({question} for it on {interface} is answered), and silently drops this or its \
                     answer"
                ))
            })
        }
        _ => settings::reverse_path(address, interface).or_else(|| beyond(format!(
            "the router {hop} on {interface} is there; beyond it the packets, or the answers to them, are silently \
             dropped"
        ))),
    }
}

/// A next hop that does not answer: the far host itself, or a router.
pub(crate) fn unanswered(hop: IpAddr, is_far_host: bool, interface: &str, state: NeighbourState) -> Reason {
    let who = if is_far_host { "the host itself" } else { "the router" };
    let question = question(hop);
    Reason {
        what: format!("{question} for {hop} ({who}) on {interface} is not answered ({state})"),
        advice: Some(what_to_check(hop, interface)),
    }
}

/// The protocol that requests a hop's hardware address.
fn question(hop: IpAddr) -> &'static str {
    if hop.is_ipv4() { "ARP" } else { "neighbour solicitation" }
}

/// A courtesy to somebody who waits for an error.
const SHORT_TIMEOUT: Nanos = Nanos::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(is_v6: bool, icmp_type: u8, icmp_code: u8, from: &str, host: &str) -> Reason {
        let error = Rejection { from: from.parse().ok(), is_v6, icmp_type, icmp_code };
        rejected(&error, host.parse().unwrap(), 5210)
    }

    #[test]
    fn who_rejects_is_named_with_the_code() {
        let firewall = reason_of(true, 1, 1, "fd77:1::1", "fd77:4::2");
        let what = "the router fd77:1::1 rejects it (ICMPv6 type 1 code 1: communication administratively prohibited)";
        assert_eq!(firewall.what, what);
        assert!(firewall.advice.unwrap().contains("allow TCP and UDP port 5210 there"));
        let lost = reason_of(false, 3, 1, "10.77.2.1", "10.77.4.2");
        assert_eq!(lost.what, "the router 10.77.2.1 rejects it (ICMP type 3 code 1: host unreachable)");
        assert!(lost.advice.unwrap().contains("look at 10.77.2.1"));
        let own = reason_of(false, 3, 3, "10.77.4.2", "::ffff:10.77.4.2");
        assert_eq!(own.what, "the host itself rejects it (ICMP type 3 code 3: port unreachable)");
    }
}
