//! The CSV rows of a trace: one for each router at its hop, with the figures of the hop.

use super::packets::set;
use super::{COLUMNS, or_empty};
use model::hops::{Hop, HopRouter, HopsResult};
use model::plan::Direction;
use model::run::Run;

/// Every hop; none of another run.
pub(super) fn rows(run: &Run, test: &Run, number: usize) -> Vec<Vec<String>> {
    let found = test.summary.hops.as_deref();
    let back = found.and_then(|found| found.back.as_deref());
    let ways = [(found, Direction::Up), (back, Direction::Down)];
    let hops =
        ways.into_iter().flat_map(|(found, way)| found.into_iter().flat_map(move |found| of_way(found, way)));
    hops.flat_map(|hop| of_hop(run, number, hop)).collect()
}

fn of_way(found: &HopsResult, direction: Direction) -> impl Iterator<Item = (Direction, &Hop)> {
    found.hops.iter().map(move |hop| (direction, hop))
}

fn of_hop(run: &Run, number: usize, at: (Direction, &Hop)) -> Vec<Vec<String>> {
    if at.1.routers.is_empty() {
        return vec![row(run, number, at, None)];
    }
    at.1.routers.iter().map(|router| row(run, number, at, Some(router))).collect()
}

fn row(
    run: &Run,
    number: usize,
    (direction, hop): (Direction, &Hop),
    router: Option<&HopRouter>,
) -> Vec<String> {
    let mut fields = vec![String::new(); COLUMNS.len()];
    let missing = serde_json::to_value(hop.missing).unwrap_or_default();
    let flows = |router: &HopRouter| {
        router.flows.iter().map(|flow| (flow + 1).to_string()).collect::<Vec<_>>().join(" ")
    };
    let labels = |router: &HopRouter| {
        router.labels.iter().map(|one| one.label.to_string()).collect::<Vec<_>>().join(" ")
    };
    let origin = router.and_then(|router| router.origin.as_ref());
    for (column, value) in [
        ("run", run.id.clone()),
        ("test", number.to_string()),
        ("row", "hop".into()),
        ("direction", direction.to_string()),
        ("omitted", "false".into()),
        ("hop", hop.ttl.to_string()),
        ("hop_address", or_empty(router.map(|router| router.address))),
        ("sent", hop.counted.sent.to_string()),
        ("round_trips", hop.counted.answered.to_string()),
        ("lost", hop.counted.missing().to_string()),
        ("duplicates", hop.duplicates.to_string()),
        ("jitter_ns", or_empty(hop.jitter.map(|jitter| jitter.0))),
        ("rtt_min_ns", or_empty(hop.rtt.map(|rtt| rtt.min.0))),
        ("rtt_mean_ns", or_empty(hop.rtt.map(|rtt| rtt.mean.0))),
        ("rtt_stddev_ns", or_empty(hop.rtt.map(|rtt| rtt.stddev.0))),
        ("rtt_p50_ns", or_empty(hop.rtt.map(|rtt| rtt.p50.0))),
        ("rtt_p90_ns", or_empty(hop.rtt.map(|rtt| rtt.p90.0))),
        ("rtt_p99_ns", or_empty(hop.rtt.map(|rtt| rtt.p99.0))),
        ("rtt_max_ns", or_empty(hop.rtt.map(|rtt| rtt.max.0))),
        ("mtu_bytes", or_empty(router.and_then(|router| router.next_mtu))),
        ("outcome", missing.as_str().unwrap_or_default().into()),
        ("hop_name", or_empty(router.and_then(|router| router.name.as_ref()))),
        ("as_number", or_empty(origin.map(|origin| origin.number))),
        ("as_name", or_empty(origin.map(|origin| &origin.name))),
        ("flows", router.map(flows).unwrap_or_default()),
        ("hops_back", or_empty(router.and_then(|router| router.hops_back))),
        ("mpls_labels", router.map(labels).unwrap_or_default()),
    ] {
        set(&mut fields, column, value);
    }
    fields
}
