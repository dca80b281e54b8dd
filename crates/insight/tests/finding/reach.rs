//! Reachability: a run in which each rule must be raised and one in which it must not, and their texts.

use crate::egress::LatencyFixture;
use crate::rules::{Scenario, find, raises, spares};
use model::event::Event;
use model::finding::{Severity, Status};
use model::path::{PathDirection, PathResult, SizeProbe};
use model::plan::Direction;
use model::reach::NeighbourState::{self, Delay, Failed, Probe, Reachable, Stale, Unknown};
use model::reach::{AddressSource, Contact, FamilyReach, NeighbourChange, NextHop, Reach};
use model::run::Run;
use model::units::Nanos;
use pathmeter_insight::run_of_events;

pub(crate) const SCENARIOS: &[Scenario] = &[
    raises("neighbour-failed", "ARP is never answered", || hops(&[hop("10.0.0.2", Unknown, &[(3, Failed)])])),
    raises("neighbour-failed", "it stops answering midway", || hops(&[midway()])),
    raises("neighbour-failed", "it is away for a while", || {
        hops(&[hop("10.0.0.2", Reachable, &[(4, Probe), (7, Failed), (9, Reachable)])])
    }),
    spares("neighbour-failed", "it is confirmed again and again", || {
        hops(&[hop("10.0.0.2", Stale, &[(5, Probe), (5, Reachable), (40, Delay)])])
    }),
    spares("neighbour-failed", "found at the first question", || {
        hops(&[hop("10.0.0.2", Unknown, &[(0, Reachable)])])
    }),
    spares("neighbour-failed", "an old failure that is none any more", || {
        hops(&[hop("10.0.0.2", Failed, &[(0, Reachable)])])
    }),
    raises("duplicate-address", "two hardware addresses answer", || {
        let answers_from = vec!["02:00:00:00:00:02".into(), "02:00:00:00:00:03".into()];
        hops(&[NextHop { answers_from, ..hop("10.0.0.2", Reachable, &[]) }])
    }),
    spares("duplicate-address", "one answers", || hops(&[hop("10.0.0.2", Reachable, &[])])),
    raises("neighbour-failed", "the link was down", || {
        hops(&[NextHop { carrier_losses: 1, ..hop("10.0.0.2", Reachable, &[(4, Unknown), (12, Reachable)]) }])
    }),
    raises("one-family-only", "IPv6 is silent", || families(Contact::Open, &[Contact::Silent])),
    raises("one-family-only", "no route of IPv6", || families(Contact::Open, &[Contact::NoRoute])),
    raises("one-family-only", "IPv4 refuses, IPv6 is rejected", || {
        families(Contact::Refused, &[Contact::Rejected])
    }),
    spares("one-family-only", "both answer", || families(Contact::Open, &[Contact::Open])),
    spares("one-family-only", "nothing listens on IPv6", || families(Contact::Open, &[Contact::Refused])),
    spares("one-family-only", "one of two IPv6 addresses answers", || {
        families(Contact::Open, &[Contact::Silent, Contact::Open])
    }),
    spares("one-family-only", "this host has no IPv6", || families(Contact::Open, &[Contact::NoAddress])),
    spares("one-family-only", "nothing answers at all", || families(Contact::Silent, &[Contact::Silent])),
    raises("one-way-reachable", "probes cross up only", || probed(20, 0)),
    raises("one-way-reachable", "messages arrive and replies do not", || latency(20)),
    raises("one-way-reachable", "the neighbour asks and does not answer", || {
        hops(&[hop("10.0.0.2", Unknown, &[(3, Failed), (5, Stale), (13, Failed)])])
    }),
    spares("one-way-reachable", "probes cross in both directions", || probed(20, 1)),
    spares("one-way-reachable", "two probes are too few", || probed(2, 0)),
    spares("one-way-reachable", "messages do not arrive", || latency(0)),
    spares("one-way-reachable", "the neighbour dies", || hops(&[midway()])),
];

#[test]
fn a_dead_family_names_the_neighbour() {
    let run = run_of_events(
        "1",
        "measure",
        &[Event::Reach(Box::new(Reach {
            next_hops: vec![hop("2001:db8::1", Unknown, &[(3, Failed)])],
            ..reach(Contact::Open, &[Contact::NeighbourFailed])
        }))],
    );
    let dead = find(&run, "one-family-only").expect("IPv6 is dead");
    assert_eq!(
        dead.title,
        "IPv4 works, IPv6 does not: 2001:db8::2 cannot be reached, neighbour solicitation for 2001:db8::1 on eth0 is not answered"
    );
    assert_eq!(dead.severity, Severity::Warning);
    let neighbour = find(&run, "neighbour-failed").expect("it failed");
    assert!(neighbour.title.contains("never answered"), "{}", neighbour.title);
    assert!(neighbour.advice.contains("ICMPv6 types 135 and 136"), "{}", neighbour.advice);
    assert_eq!(neighbour.evidence["unanswered_ns"], 57_000_000_000_u64);
    assert_eq!(run.findings[0].id, "neighbour-failed", "the cause comes first");
}

#[test]
fn a_neighbour_that_dies_is_reported_with_its_time() {
    let run = hops(&[NextHop { confirmed_ago: Some(Nanos::from_millis(54_500)), ..midway() }]);
    let found = find(&run, "neighbour-failed").expect("it failed");
    assert!(found.title.contains("stopped answering ARP"), "{}", found.title);
    assert!(found.title.contains("the last sign of it came 54.5 s before"), "{}", found.title);
    assert!(found.title.contains("53.0 s"), "{}", found.title);
    assert!(found.advice.contains("tcpdump -eni eth0 arp"), "{}", found.advice);
    assert_eq!(run.verdict.status, Status::Void, "no test gave figures");
}

#[test]
fn the_dead_direction_is_named() {
    let found = probed(20, 0);
    let found = find(&found, "one-way-reachable").expect("down is dead");
    assert_eq!(found.direction, Some(Direction::Down));
    assert!(found.title.starts_with("UDP crosses up and never down"), "{}", found.title);
}

#[test]
fn a_link_that_was_down_is_not_called_a_silent_neighbour() {
    let down = NextHop { carrier_losses: 2, ..midway() };
    let run = hops(&[down]);
    let found = find(&run, "neighbour-failed").unwrap();
    assert!(found.title.starts_with("eth0, toward 10.0.0.2"), "{}", found.title);
    assert!(found.title.contains("lost its carrier 2 times"), "{}", found.title);
    assert!(found.advice.contains("`ip -s link show dev eth0`"), "{}", found.advice);
}

fn midway() -> NextHop {
    hop("10.0.0.2", Reachable, &[(4, Probe), (7, Failed)])
}

/// The far host itself on `eth0`, in a run of a minute.
fn hop(address: &str, before: NeighbourState, changes: &[(u64, NeighbourState)]) -> NextHop {
    let change =
        |(at, state): &(u64, NeighbourState)| NeighbourChange { at: Nanos::from_secs(*at), state: *state };
    let changes: Vec<NeighbourChange> = changes.iter().map(change).collect();
    let after = changes.last().map_or(before, |change| change.state);
    let place = (address.parse().expect("it is an address"), "eth0".into(), true);
    NextHop::judge(place, (before, after), &changes, Nanos::from_secs(60))
}

fn run_of_reach(reach: Reach) -> Run {
    run_of_events("1", "measure", &[Event::Reach(Box::new(reach))])
}

fn hops(next_hops: &[NextHop]) -> Run {
    run_of_reach(Reach { next_hops: next_hops.to_vec(), ..Reach::default() })
}

/// The run's own IPv4, and the result for IPv6 addresses.
fn reach(used: Contact, others: &[Contact]) -> Reach {
    let family = |address: &str, source, contact| FamilyReach {
        address: address.parse().expect("it is an address"),
        source,
        contact,
        first: None,
        again: None,
    };
    let own = family("192.0.2.2:5210", AddressSource::Used, used);
    let others = others.iter().zip(["[2001:db8::2]:5210", "[2001:db8::3]:5210"]);
    let others = others.map(|(contact, address)| family(address, AddressSource::Name, *contact));
    Reach { families: [own].into_iter().chain(others).collect(), ..Reach::default() }
}

fn families(used: Contact, others: &[Contact]) -> Run {
    run_of_reach(reach(used, others))
}

/// Probes of two sizes: all cross up, so many of them down.
fn probed(sent: u32, down: u32) -> Run {
    let direction = |received| PathDirection {
        sizes: vec![SizeProbe { size: 1500, sent, received }],
        ..PathDirection::default()
    };
    let path = PathResult { up: Some(direction(sent)), down: Some(direction(down)), ..PathResult::default() };
    run_of_events("1", "measure", &[Event::Path(Box::new(path))])
}

/// No reply to twenty messages, so many of them lost on the path down.
fn latency(lost_down: u64) -> Run {
    let fixture = LatencyFixture::lan().with(|directions| {
        let counted = &mut directions.first().counted;
        (counted.sent, counted.asked, counted.received, counted.lost) = (20, 20, 0, 20);
        (counted.lost_up, counted.lost_down) = (Some(20 - lost_down), Some(lost_down));
    });
    fixture.run()
}
