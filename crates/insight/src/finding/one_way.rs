//! `one-way-reachable`: packets cross in one direction, and none in the other.

use super::text::count;
use super::{Finding, Severity};
use model::latency::EgressResult;
use model::plan::Direction;
use model::reach::NextHop;
use model::run::Run;

/// Proven by what either end counted; a direction of which nothing is known proves nothing.
pub(super) fn one_way_reachable(run: &Run) -> Option<Finding> {
    let reach = run.summary.reach.as_deref();
    let hop = reach.and_then(|reach| reach.next_hops.iter().find(|hop| hop.heard_only)).map(heard_only);
    let found = probes(run).or_else(|| run.summary.egress_paths.iter().find_map(unanswered));
    found.or(hop)
}

/// Probes of sizes: some cross in one direction, of all those sent in the other none.
fn probes(run: &Run) -> Option<Finding> {
    let path = run.summary.path.as_ref()?;
    let counts = |direction| {
        let sizes = path.in_direction(direction).map(|one_way| one_way.sizes.as_slice()).unwrap_or_default();
        sizes.iter().fold((0, 0), |(sent, received), size| (sent + size.sent, received + size.received))
    };
    let [up, down] = [counts(Direction::Up), counts(Direction::Down)];
    let silent = |(sent, received): (u32, u32)| sent >= LEAST_PROBES && received == 0;
    let (works, dead) = match (up, down) {
        (up, down) if up.1 > 0 && silent(down) => (Direction::Up, down),
        (up, down) if down.1 > 0 && silent(up) => (Direction::Down, up),
        _ => return None,
    };
    Some(udp_one_way(works, dead.0))
}

fn udp_one_way(works: Direction, lost: u32) -> Finding {
    let dead = works.reversed();
    let (from, to) = dead.choose(("this host", "the far end"), ("the far end", "this host"));
    let title = format!(
        "UDP crosses {works} and never {dead}: 0 of {} came from {from} to {to}",
        count(lost, "probe")
    );
    Finding::new(ID, Severity::Problem, dead, title)
        .with("working_direction", works.to_string())
        .with("dead_direction", dead.to_string())
        .with("probes_lost_count", lost)
        .advise(format!(
            "Look at what filters UDP on the path {dead}: the firewall of {from} (outgoing), of {to} (incoming, and its \
             connection tracking), and routers whose return route differs from the forward route."
        ))
}

/// A latency run whose messages arrived, and whose replies did not come back.
fn unanswered(direction: &EgressResult) -> Option<Finding> {
    let counted = &direction.counted;
    // Not lost on the path up.
    let arrived = counted.lost_down.filter(|arrived| *arrived >= u64::from(LEAST_PROBES))?;
    let silent = counted.asked > 0 && counted.received == 0 && counted.late == 0;
    silent.then(|| {
        let title = format!(
            "{} reached the far end, and none of its replies came back",
            count(arrived, "message")
        );
        Finding::new(ID, Severity::Problem, Direction::Down, title)
            .with("working_direction", "up")
            .with("dead_direction", "down")
            .with("arrived_count", arrived)
            .with("received_count", counted.received)
            .advise(
                "Look at what filters the return path: the firewall of the far end (outgoing) and of this host (incoming), \
                 and whether its route back leads here.",
            )
    })
}

/// The next hop requests this host's address, and does not answer a request for its own.
fn heard_only(hop: &NextHop) -> Finding {
    let (address, interface, question) = (hop.address, &hop.interface, hop.question());
    let title = format!(
        "Frames of {address} arrive on {interface}, and {question} for it is never answered: this host's frames do not reach it, or its answers are dropped"
    );
    Finding::new(ID, Severity::Problem, Direction::Up, title)
        .with("working_direction", "down")
        .with("dead_direction", "up")
        .with("next_hop_address", address.to_string())
        .with("interface_name", interface.as_str())
        .advise(format!(
            "Look at the switches, bridges and access points between: one direction of the link, or {question} alone, is \
             dropped (a filter of ARP or ICMPv6, port security, a wrong entry in a table of MAC addresses). `tcpdump -eni \
             {interface}` at both ends shows on which side the frames vanish."
        ))
}

const ID: &str = "one-way-reachable";
/// Fewer may be chance.
const LEAST_PROBES: u32 = 3;
