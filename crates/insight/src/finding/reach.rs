//! `neighbour-failed`, `duplicate-address` and `one-family-only`: the first hop that does not answer, two that answer for it, and the family
//! that is dead.

use super::{Finding, Severity};
use model::reach::{self, Contact, FamilyReach, NeighbourState, NextHop, Reach};
use model::run::Run;
use std::net::SocketAddr;

/// The next hop was given up by the kernel: no packet left this host for it meanwhile.
pub(super) fn neighbour_failed(run: &Run) -> Option<Finding> {
    let mut hops = run.summary.reach.iter().flat_map(|reach| &reach.next_hops);
    hops.find(|hop| hop.failures > 0 || hop.carrier_losses > 0).map(neighbour)
}

/// Several devices answer for the next hop's address.
pub(super) fn duplicate_address(run: &Run) -> Vec<Finding> {
    let hops = run.summary.reach.iter().flat_map(|reach| &reach.next_hops);
    hops.filter(|hop| hop.answers_from.len() > 1)
        .map(|hop| {
            let (title, advice) = reach::one_address_twice(hop.address, &hop.interface, &hop.answers_from);
            Finding::new("duplicate-address", Severity::Warning, None, title)
                .with("next_hop_address", hop.address.to_string())
                .with("interface_name", hop.interface.as_str())
                .with("answers_address", hop.answers_from.clone())
                .advise(advice)
        })
        .collect()
}

/// The far host answers over one IP family and not over the other.
pub(super) fn one_family_only(run: &Run) -> Option<Finding> {
    let reach = run.summary.reach.as_deref()?;
    let works = reach.families.iter().find(|family| family.contact.is_reached())?;
    let other = |family: &&FamilyReach| family.address.is_ipv4() != works.address.is_ipv4();
    let mut others = reach.families.iter().filter(other);
    // One of several addresses of the family is enough.
    let reached = others.clone().any(|family| family.contact.is_reached());
    let dead = others.find(|family| !reached && family.contact != Contact::NoAddress)?;
    Some(family(reach, works, dead))
}

/// When the kernel last had a sign of it.
fn age(hop: &NextHop) -> String {
    hop.confirmed_ago
        .map(|ago| format!("; the last sign of it came {ago} before that end"))
        .unwrap_or_default()
}

fn neighbour(hop: &NextHop) -> Finding {
    let (address, interface, question) = (hop.address, &hop.interface, hop.question());
    let who = if hop.is_far_host { "the far host" } else { "the router toward the far host" };
    let answered = hop.before.is_usable() || hop.changes.iter().any(|change| change.state.is_usable());
    let times = super::text::count(u64::from(hop.carrier_losses), "time");
    let title = match (answered, hop.after.is_usable()) {
        _ if hop.carrier_losses > 0 => format!(
            "{interface}, toward {address} ({who}), lost its carrier {times} during the run: the link itself was down"
        ),
        (false, _) => format!(
            "{question} for {address} ({who}) on {interface} is never answered: the kernel gave up (FAILED)"
        ),
        (true, false) => format!(
            "{address} ({who}) on {interface} stopped answering {question}: no packet could leave for it during {} of the run, to its end{}",
            hop.unanswered,
            age(hop)
        ),
        (true, true) => format!(
            "{address} ({who}) on {interface} did not answer {question} for a while: no packet could leave for it during {} of the run",
            hop.unanswered
        ),
    };
    let advice = match hop.carrier_losses {
        0 => reach::what_to_check(address, interface),
        _ => format!(
            "Look at the cable, the port and the device at its other end: `ip -s link show dev {interface}`, `ethtool \
             {interface}`, and the kernel's log (`dmesg`) for the times; in a virtual machine at the host's bridge or tap."
        ),
    };
    Finding::new("neighbour-failed", Severity::Problem, None, title)
        .with_known("confirmed_ago_ns", hop.confirmed_ago.map(|ago| ago.0))
        .with_known("carrier_losses_count", Some(hop.carrier_losses).filter(|losses| *losses > 0))
        .with("next_hop_address", address.to_string())
        .with("interface_name", interface.as_str())
        .with("failures_count", hop.failures)
        .with("unanswered_ns", hop.unanswered.0)
        .with("before_state", hop.before.to_string())
        .with("after_state", hop.after.to_string())
        .advise(advice)
}

fn family(observed: &Reach, works: &FamilyReach, dead: &FamilyReach) -> Finding {
    let (good, bad) = (name(works.address), name(dead.address));
    let reason = match (dead.contact, failed_hop(observed, dead)) {
        (_, Some(hop)) => {
            format!("{} for {} on {} is not answered", hop.question(), hop.address, hop.interface)
        }
        (Contact::NeighbourFailed, None) => "the next hop does not answer".into(),
        (Contact::NoRoute, _) => "this host has no route there".into(),
        (Contact::Rejected, _) => "a router or host reports that it cannot be reached (ICMP)".into(),
        _ => format!("connections to TCP port {} get no answer", dead.address.port()),
    };
    let title = format!("{good} works, {bad} does not: {} cannot be reached, {reason}", dead.address.ip());
    let advice = match dead.contact {
        Contact::NeighbourFailed => {
            "Fix the neighbour first (`neighbour-failed`); until then programs that try this family first wait in vain."
                .into()
        }
        Contact::NoRoute => format!(
            "Give this host a {bad} route (`ip route get {}`), or take its {bad} addresses away, so that programs do not \
             try.",
            dead.address.ip()
        ),
        _ => format!(
            "Compare the {bad} firewall rules and routes with those of {good}, at both ends and between; `traceroute {}` \
             shows how far packets come. Until it works, take the {bad} address out of DNS: programs that try it first \
             wait in vain.",
            dead.address.ip()
        ),
    };
    let finding = Finding::new("one-family-only", Severity::Warning, None, title)
        .with("working_address", works.address.ip().to_string())
        .with("dead_address", dead.address.ip().to_string())
        .with("dead_cause", serde_json::to_value(dead.contact).unwrap_or_default());
    finding.advise(advice)
}

fn failed_hop<'a>(reach: &'a Reach, dead: &FamilyReach) -> Option<&'a NextHop> {
    let same = |hop: &&NextHop| hop.address.is_ipv4() == dead.address.is_ipv4();
    let failed = |hop: &&NextHop| hop.failures > 0 || hop.after == NeighbourState::Failed;
    reach.next_hops.iter().filter(same).find(failed).filter(|_| dead.contact == Contact::NeighbourFailed)
}

fn name(address: SocketAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}
