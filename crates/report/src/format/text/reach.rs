//! Reachability in words: the far host over each family, and the first hop.

use model::reach::{AddressSource, FamilyReach, NextHop, Reach};

/// The observations, by name.
pub(in crate::format) fn facts(reach: &Reach) -> Vec<(&'static str, String)> {
    let families = reach
        .families
        .iter()
        .map(|family| (if family.address.is_ipv4() { "IPv4" } else { "IPv6" }, over_family(family)));
    families.chain(reach.next_hops.iter().map(|hop| ("next hop", next_hop(hop)))).collect()
}

fn over_family(family: &FamilyReach) -> String {
    let source = match family.source {
        AddressSource::Used => ", used here",
        AddressSource::Name => "",
        AddressSource::Peer => ", as the far end reports",
    };
    let times = match (family.first, family.again) {
        (Some(first), Some(again)) => format!("; connected in {first}, then in {again}"),
        (Some(first), None) => format!("; connected in {first}"),
        _ => String::new(),
    };
    format!("{}{source}: {}{times}", family.address.ip(), family.contact)
}

fn next_hop(hop: &NextHop) -> String {
    let who = if hop.is_far_host { "the far host itself" } else { "a router" };
    let answered = match hop.failures {
        0 => format!("{} is answered", hop.question()),
        _ if hop.heard_only => format!("{} is never answered, though its own frames come", hop.question()),
        1 => format!("{} was given up once, for {}", hop.question(), hop.unanswered),
        failures => {
            format!("{} was given up {failures} times, for {} in all", hop.question(), hop.unanswered)
        }
    };
    format!("{} on {}, {who}: {answered} (now {})", hop.address, hop.interface, hop.after)
}
