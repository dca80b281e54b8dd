//! The CSV rows of reachability: one per address of the far host, and one per next hop.

use super::CsvPart;
use crate::document::{Csv, CsvCell, field};
use model::plan::Transport;
use model::reach::{FamilyReach, NextHop, Reach};

pub(super) fn rows(reach: &Reach, place: &CsvPart) -> Csv {
    Csv::joined([
        place.table("reach_family", None, &FAMILY, &reach.families),
        place.table("reach_next_hop", None, &NEXT_HOP, &reach.next_hops),
    ])
}

/// Every column, in order: those of next hops alone are empty. The outcome is that of connecting, or the neighbour's state.
const FAMILY: [CsvCell<FamilyReach>; 7] = [
    CsvCell("transport", |_| field(&Transport::Tcp)),
    CsvCell("remote", |family| family.address.to_string()),
    CsvCell("way", |_| String::new()),
    CsvCell("outcome", |family| field(&family.contact)),
    CsvCell("lost", |_| String::new()),
    CsvCell("connect_ns", |family| field(&family.first)),
    CsvCell("total_ns", |_| String::new()),
];

const NEXT_HOP: [CsvCell<NextHop>; 5] = [
    CsvCell("remote", |hop| hop.address.to_string()),
    CsvCell("way", |hop| hop.interface.clone()),
    CsvCell("outcome", |hop| field(&hop.after)),
    CsvCell("lost", |hop| field(&hop.failures)),
    CsvCell("total_ns", |hop| field(&hop.unanswered)),
];
