//! The CSV rows of reachability: one per address of the far host, and one per next hop.

use super::CsvPart;
use crate::document::{Csv, field};
use model::plan::Transport;
use model::reach::{FamilyReach, NextHop, Reach};
use model::units::Nanos;
use serde::Serialize;

#[derive(Default, Serialize)]
struct Contact {
    transport: Option<Transport>,
    remote: String,
    #[serde(rename = "way")]
    interface: Option<String>,
    /// The outcome of connecting, or the neighbour's state.
    outcome: String,
    lost: Option<u64>,
    connect_ns: Option<Nanos>,
    total_ns: Option<Nanos>,
}

pub(super) fn rows(reach: &Reach, place: &CsvPart) -> Csv {
    let families = reach.families.iter().map(|of| (place.start("reach_family", None), family(of)));
    let hops = reach.next_hops.iter().map(|of| (place.start("reach_next_hop", None), next_hop(of)));
    Csv::from_rows(families.chain(hops))
}

fn family(family: &FamilyReach) -> Contact {
    Contact {
        transport: Some(Transport::Tcp),
        remote: family.address.to_string(),
        outcome: field(&family.contact),
        connect_ns: family.first,
        ..Contact::default()
    }
}

fn next_hop(hop: &NextHop) -> Contact {
    Contact {
        remote: hop.address.to_string(),
        interface: Some(hop.interface.clone()),
        outcome: field(&hop.after),
        lost: Some(hop.failures),
        total_ns: Some(hop.unanswered),
        ..Contact::default()
    }
}
