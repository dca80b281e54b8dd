//! The CSV rows of a trace: one for each router at its hop, with the figures of the hop.

use super::CsvPart;
use super::latency::Times;
use crate::document::Csv;
use model::hops::{Hop, HopRouter, HopsResult, Missing};
use model::plan::Direction;
use model::units::Nanos;
use serde::Serialize;
use std::net::IpAddr;

#[derive(Default, Serialize)]
struct Counts {
    hop: u8,
    hop_address: Option<IpAddr>,
    hop_name: Option<String>,
    sent: u32,
    round_trips: u32,
    lost: u32,
    duplicates: u32,
    jitter_ns: Option<Nanos>,
}

#[derive(Default, Serialize)]
struct Router {
    mtu_bytes: Option<u32>,
    outcome: Option<Missing>,
    as_number: Option<u32>,
    as_name: Option<String>,
    flows: String,
    hops_back: Option<u8>,
    mpls_labels: String,
}

/// Every hop, and those of the return path behind them.
pub(super) fn rows(found: &HopsResult, place: &CsvPart) -> Csv {
    let back = found.back.as_deref().map(|back| (back, Direction::Down));
    let directions = std::iter::once((found, Direction::Up)).chain(back);
    let hops = directions.flat_map(|(found, direction)| found.hops.iter().map(move |hop| (direction, hop)));
    Csv::from_rows(hops.flat_map(|(direction, hop)| {
        let routers = hop.routers.iter().map(Some).chain(hop.routers.is_empty().then_some(None));
        let start = place.start("hop", direction);
        let row = move |of: Option<&HopRouter>| {
            (start.clone(), counts(hop, of), Times::from_rtt(hop.rtt), router(hop, of))
        };
        routers.map(row).collect::<Vec<_>>()
    }))
}

fn counts(hop: &Hop, router: Option<&HopRouter>) -> Counts {
    Counts {
        hop: hop.ttl,
        hop_address: router.map(|router| router.address),
        hop_name: router.and_then(|router| router.name.clone()),
        sent: hop.counted.sent,
        round_trips: hop.counted.answered,
        lost: hop.counted.missing(),
        duplicates: hop.duplicates,
        jitter_ns: hop.jitter,
    }
}

fn router(hop: &Hop, router: Option<&HopRouter>) -> Router {
    let phrases = |numbers: Vec<u32>| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let origin = router.and_then(|router| router.origin.as_ref());
    let flows = |router: &HopRouter| phrases(router.flows.iter().map(|flow| flow + 1).collect());
    let labels = |router: &HopRouter| phrases(router.labels.iter().map(|one| one.label).collect());
    Router {
        mtu_bytes: router.and_then(|router| router.next_mtu),
        outcome: Some(hop.missing),
        as_number: origin.map(|origin| origin.number),
        as_name: origin.map(|origin| origin.name.clone()),
        flows: router.map(flows).unwrap_or_default(),
        hops_back: router.and_then(|router| router.hops_back),
        mpls_labels: router.map(labels).unwrap_or_default(),
    }
}
