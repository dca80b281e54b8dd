//! Reachability of the first hop and of the far host over each IP family and direction, observed during a measurement.

pub use packet::NeighbourState;

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Reachability of the far host during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Reach {
    /// The first hops toward every address of the far host that was used or tried.
    pub next_hops: Vec<NextHop>,
    /// The far host over each family.
    pub families: Vec<FamilyReach>,
}

/// The neighbour that packets to the far host go to first: a router, or the far host itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextHop {
    /// Its address.
    pub address: IpAddr,
    /// Name of the interface it is on.
    pub interface: String,
    /// Whether it is the far host itself, which is on this host's link.
    pub is_far_host: bool,
    /// Its state in the kernel's table when the run began.
    pub before: NeighbourState,
    /// The same when the run ended.
    pub after: NeighbourState,
    /// State changes in between, the first 64 of them.
    pub changes: Vec<NeighbourChange>,
    /// Number of times that the kernel's resolution of it failed.
    pub failures: u64,
    /// Time from a failed resolution to the next answer, or to the end of the run.
    #[serde(rename = "unanswered_ns")]
    pub unanswered: Nanos,
    /// Its own frames came in while it never answered ours.
    pub heard_only: bool,
    /// Time from its last confirmation to the end of the run; absent: the kernel does not report it.
    #[serde(rename = "confirmed_ago_ns", default, skip_serializing_if = "Option::is_none")]
    pub confirmed_ago: Option<Nanos>,
    /// Number of times that the interface lost its carrier during the run.
    #[serde(default)]
    pub carrier_losses: u32,
    /// The hardware addresses that answered ARP for it, where several did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers_from: Vec<String>,
}

/// A change of what the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NeighbourChange {
    /// When, from the begin of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// Its state since then.
    pub state: NeighbourState,
}

/// The far host over one family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FamilyReach {
    /// Its address of that family, and the port.
    pub address: SocketAddr,
    /// Why this address.
    pub source: AddressSource,
    /// Outcome of opening a TCP connection.
    pub contact: Contact,
    /// From the first SYN to the open connection, neighbour discovery included.
    #[serde(rename = "first_packet_ns", skip_serializing_if = "Option::is_none")]
    pub first: Option<Nanos>,
    /// The same, once more after it.
    #[serde(rename = "next_packet_ns", skip_serializing_if = "Option::is_none")]
    pub again: Option<Nanos>,
}

/// Source of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AddressSource {
    /// The run itself used it.
    Used,
    /// The name of the host has it too.
    Name,
    /// The far host reports that it has it.
    Peer,
}

/// Outcome of opening a TCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Contact {
    /// The connection opened.
    Open,
    /// Refused: the host is there, and nothing listens.
    Refused,
    /// No answer.
    Silent,
    /// The next hop does not answer ARP or neighbour solicitation.
    NeighbourFailed,
    /// A router, or the host, reported that it cannot be reached (ICMP).
    Rejected,
    /// This host has no route there.
    NoRoute,
    /// This host has no address of that family to use; nothing was tried.
    NoAddress,
}

impl Reach {
    /// Adds what another part of the run saw; the same hop is reported once, with the worse of both.
    pub fn merge(&mut self, other: &Reach) {
        for hop in &other.next_hops {
            let known = |k: &&mut NextHop| k.address == hop.address && k.interface == hop.interface;
            match self.next_hops.iter_mut().find(known) {
                Some(known)
                    if (known.carrier_losses, known.failures) < (hop.carrier_losses, hop.failures) =>
                {
                    *known = hop.clone();
                }
                Some(_) => {}
                None => self.next_hops.push(hop.clone()),
            }
        }
        for family in &other.families {
            if !self.families.iter().any(|known| known.address == family.address) {
                self.families.push(family.clone());
            }
        }
    }
}

impl NextHop {
    /// Works out what the changes mean. `length`: of the run.
    #[must_use]
    pub fn judge(
        (address, interface, is_far_host): (IpAddr, String, bool),
        (before, after): (NeighbourState, NeighbourState),
        changes: &[NeighbourChange],
        length: Nanos,
    ) -> NextHop {
        let mut hop = NextHop {
            address,
            interface,
            is_far_host,
            before,
            after,
            changes: changes.iter().take(MOST_CHANGES).copied().collect(),
            failures: 0,
            unanswered: Nanos::ZERO,
            heard_only: false,
            confirmed_ago: None,
            carrier_losses: 0,
            answers_from: Vec::new(),
        };
        let mut since = (before == NeighbourState::Failed).then_some(Nanos::ZERO);
        for change in changes {
            match change.state {
                NeighbourState::Failed => {
                    hop.failures += 1;
                    since = since.or(Some(change.at));
                }
                state if state.is_usable() => {
                    let given_up = since.take().map(|since| change.at.saturating_sub(since));
                    hop.unanswered += given_up.unwrap_or_default();
                }
                _ => {}
            }
        }
        let rest = since.map(|since| length.saturating_sub(since));
        hop.unanswered += rest.unwrap_or_default();
        hop.heard_only = hop.failures > 0 && heard_only(before, changes);
        hop
    }

    /// The protocol that asks for it.
    #[must_use]
    pub fn question(&self) -> &'static str {
        if self.address.is_ipv4() { "ARP" } else { "neighbour solicitation" }
    }
}

/// Advice on a neighbour on an interface that does not answer.
#[must_use]
pub fn what_to_check(address: IpAddr, interface: &str) -> String {
    match address {
        IpAddr::V4(_) => format!(
            "Look whether {address} is up and on the same link and VLAN as {interface}, and has no other host's address; \
             `ip neigh show dev {interface}` shows what this host knows, `tcpdump -eni {interface} arp` whether replies \
             come. Requests without replies: look at bridges and access points between (broadcast dropped, ARP \
             inspection, client isolation, a full table of MAC addresses)."
        ),
        IpAddr::V6(_) => format!(
            "Look whether {address} is up and on the same link and VLAN as {interface}; `ip -6 neigh show dev \
             {interface}` shows what this host knows, `tcpdump -eni {interface} icmp6` whether advertisements come. \
             Solicitations without advertisements: look for a firewall that drops ICMPv6 types 135 and 136, and for a \
             bridge or access point that loses multicast (MLD snooping without a querier)."
        ),
    }
}

/// Several devices answer ARP for one address: a text of that, and advice.
#[must_use]
pub fn one_address_twice(address: IpAddr, interface: &str, answers: &[String]) -> (String, String) {
    let what = format!(
        "{} devices answer ARP for {address} on {interface} ({}): two hosts have this address, or one answers from several interfaces",
        answers.len(),
        answers.join(", ")
    );
    let advice = format!(
        "Packets go now to one and now to the other. Find both by their hardware addresses (`ip link` there, the table of the switch) and \
         give one of them another address; of one host with two interfaces on this link set `sysctl -w net.ipv4.conf.all.arp_ignore=1 \
         net.ipv4.conf.all.arp_announce=2` there. Then `sudo ip neigh flush dev {interface}` here."
    );
    (what, advice)
}

/// The neighbour was never confirmed, and yet became known after a failure: by a request of its own (RFC 826, RFC 4861 §7.2.3).
fn heard_only(before: NeighbourState, changes: &[NeighbourChange]) -> bool {
    let answered = before.has_answered() || changes.iter().any(|change| change.state.has_answered());
    let known = changes.iter().any(|change| change.state == NeighbourState::Stale);
    known && !answered
}

impl Contact {
    /// Packets cross in both directions.
    #[must_use]
    pub fn is_reached(self) -> bool {
        matches!(self, Self::Open | Self::Refused)
    }
}

impl fmt::Display for Contact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Open => "answers",
            Self::Refused => "is there, and refuses connections to this port",
            Self::Silent => "does not answer",
            Self::NeighbourFailed => "cannot be reached: the next hop does not answer",
            Self::Rejected => "cannot be reached, as a router or host reports (ICMP)",
            Self::NoRoute => "cannot be reached: this host has no route there",
            Self::NoAddress => "was not tried: this host has no address of that family",
        })
    }
}

const MOST_CHANGES: usize = 64;

#[cfg(test)]
mod tests {
    use super::NeighbourState::{Failed, Probe, Reachable, Stale, Unknown};
    use super::*;

    fn hop(before: NeighbourState, changes: &[(u64, NeighbourState)]) -> NextHop {
        let changes: Vec<NeighbourChange> = changes
            .iter()
            .map(|(at, state)| NeighbourChange { at: Nanos::from_secs(*at), state: *state })
            .collect();
        let after = changes.last().map_or(before, |change| change.state);
        let place = (IpAddr::from([10, 0, 0, 2]), "eth0".into(), true);
        NextHop::judge(place, (before, after), &changes, Nanos::from_secs(20))
    }

    #[test]
    fn a_neighbour_that_answers_is_no_failure() {
        let hop = hop(Unknown, &[(0, Reachable), (8, Probe), (9, Reachable)]);
        assert_eq!((hop.failures, hop.unanswered, hop.heard_only), (0, Nanos::ZERO, false));
    }

    #[test]
    fn a_neighbour_is_away_until_it_is_back_or_the_run_ends() {
        let back = hop(Reachable, &[(4, Probe), (7, Failed), (12, Reachable)]);
        assert_eq!((back.failures, back.unanswered), (1, Nanos::from_secs(5)));
        let away = hop(Reachable, &[(7, Failed), (8, Unknown), (11, Failed)]);
        assert_eq!((away.failures, away.unanswered), (2, Nanos::from_secs(13)));
        let never = hop(Failed, &[(3, Failed)]);
        assert_eq!((never.failures, never.unanswered), (1, Nanos::from_secs(20)));
    }

    #[test]
    fn a_neighbour_that_asks_and_never_answers_is_heard_only() {
        assert!(hop(Unknown, &[(3, Failed), (5, Stale), (13, Failed)]).heard_only);
        assert!(!hop(Unknown, &[(3, Failed), (5, Stale), (6, Reachable)]).heard_only);
        assert!(!hop(Stale, &[(1, Reachable), (8, Failed)]).heard_only);
    }
}
