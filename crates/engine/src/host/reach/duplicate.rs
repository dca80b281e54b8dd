//! Two devices with one address on the link: both answer ARP, the kernel keeps the answer that it hears first, and packets go now to one and
//! now to the other.

use super::HopToward;
use linux::arp::Arp;
use linux::clock::mono_now;
use linux::netlink::Network;
use linux::poll::{Interest, wait};
use model::reach::one_address_twice;
use model::units::Nanos;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// A question that was asked, whose answers are heard until it is looked at.
#[derive(Debug)]
pub(super) struct Question {
    arp: Arp,
    address: Ipv4Addr,
}

impl Question {
    /// Asks who has the address of a next hop; `None` without `CAP_NET_RAW`, and where there is no ARP.
    pub(super) fn ask(network: &mut Network, hop: &HopToward) -> Option<Question> {
        let (link, IpAddr::V4(address)) = hop.place else { return None };
        let own = network.link_by_index(link).ok()?.mac?;
        let arp = Arp::open(link).ok()?;
        arp.ask(own, address).ok()?;
        Some(Question { arp, address })
    }

    /// The hardware addresses that have answered since the last look, in text.
    pub(super) fn answers(&self) -> BTreeSet<String> {
        let text = |[a, b, c, d, e, f]: [u8; 6]| format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
        self.arp.replies(self.address).into_iter().map(text).collect()
    }
}

/// The same as the reason of a failure, with advice: asks, and waits for a moment.
pub(super) fn look(hop: &HopToward) -> Option<(String, String)> {
    let mut network = Network::open().ok()?;
    let question = Question::ask(&mut network, hop)?;
    let until = mono_now() + MOMENT;
    let mut answers = BTreeSet::new();
    while answers.len() < 2 && mono_now() < until {
        wait(&mut [Interest::readable(&question.arp)], Some(until)).ok()?;
        answers.extend(question.answers());
    }
    if answers.len() < 2 {
        return None;
    }
    let answers: Vec<String> = answers.into_iter().collect();
    Some(one_address_twice(hop.place.1, &hop.interface, &answers))
}

/// Hosts on one link answer within a millisecond, and a busy one later.
const MOMENT: Nanos = Nanos::from_millis(200);
