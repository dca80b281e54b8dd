//! A measurement over IPv4 of a host whose IPv6 is dead, since its router answers no neighbour solicitation.

use insight::run_of_tests;
use model::event::Event;
use model::reach::{AddressSource, Contact, FamilyReach, NeighbourChange, NeighbourState, NextHop, Reach};
use model::run::Run;
use model::units::Nanos;
use std::net::IpAddr;

pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![("measure_one_family", one_family())]
}

fn one_family() -> Run {
    let hop = |address: &str, change| {
        let place = (address.parse::<IpAddr>().expect("a plain address"), "eth0".to_owned(), false);
        let changes = [NeighbourChange { at: Nanos::from_secs(3), state: change }];
        NextHop::judge(place, (NeighbourState::Unknown, change), &changes, Nanos::from_secs(30))
    };
    let family = |address: &str, source, contact, times: [Option<u64>; 2]| {
        let [first, again] = times.map(|time| time.map(Nanos));
        FamilyReach { address: address.parse().expect("a plain address"), source, contact, first, again }
    };
    let reach = Reach {
        next_hops: vec![
            hop("10.0.0.254", NeighbourState::Reachable),
            hop("2001:db8::fe", NeighbourState::Failed),
        ],
        families: vec![
            family("192.0.2.7:5210", AddressSource::Used, Contact::Open, [Some(1_234_567), None]),
            family("[2001:db8:7::7]:5210", AddressSource::Name, Contact::NeighbourFailed, [None, None]),
        ],
    };
    run_of_tests("0123456789abcdef", "measure", &[Event::Reach(Box::new(reach))], vec![crate::runs::tcp_up()])
}
