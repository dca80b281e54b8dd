//! The CSV rows of a trace: one for each router at its hop, with the figures of the hop.

use super::CsvPart;
use super::latency::Times;
use crate::document::{Csv, CsvCell, field};
use model::hops::{AsOrigin, Hop, HopRouter, HopsResult};
use model::plan::Direction;

/// A router at its hop; `None`: none answered there.
type Line<'a> = (&'a Hop, Option<&'a HopRouter>);

/// Every hop, and those of the return path behind them.
pub(super) fn rows(found: &HopsResult, place: &CsvPart) -> Csv {
    let back = found.back.as_deref().map(|back| (back, Direction::Down));
    Csv::joined(std::iter::once((found, Direction::Up)).chain(back).map(|(found, direction)| {
        let lines: Vec<Line<'_>> = found.hops.iter().flat_map(lines).collect();
        let times = Csv::from_rows(lines.iter().map(|(hop, _)| Times::from_rtt(hop.rtt)));
        let routers = Csv::of_cells(&router(), &lines);
        place.table("hop", Some(direction), &counts(), &lines).beside(times).beside(routers)
    }))
}

fn lines(hop: &Hop) -> impl Iterator<Item = Line<'_>> {
    let routers = hop.routers.iter().map(Some).chain(hop.routers.is_empty().then_some(None));
    routers.map(move |router| (hop, router))
}

fn counts<'a>() -> [CsvCell<Line<'a>>; 8] {
    [
        CsvCell("hop", |(hop, _)| hop.ttl.to_string()),
        CsvCell("hop_address", |(_, router)| field(&router.map(|router| router.address))),
        CsvCell("hop_name", |(_, router)| field(&router.map(|router| &router.name))),
        CsvCell("sent", |(hop, _)| hop.counted.sent.to_string()),
        CsvCell("round_trips", |(hop, _)| hop.counted.answered.to_string()),
        CsvCell("lost", |(hop, _)| hop.counted.missing().to_string()),
        CsvCell("duplicates", |(hop, _)| hop.duplicates.to_string()),
        CsvCell("jitter_ns", |(hop, _)| field(&hop.jitter)),
    ]
}

fn router<'a>() -> [CsvCell<Line<'a>>; 7] {
    [
        CsvCell("mtu_bytes", |(_, router)| field(&router.map(|router| router.next_mtu))),
        CsvCell("outcome", |(hop, _)| field(&hop.missing)),
        CsvCell("as_number", |line| field(&origin(line).map(|origin| origin.number))),
        CsvCell("as_name", |line| field(&origin(line).map(|origin| &origin.name))),
        CsvCell("flows", |(_, router)| {
            phrase(router.iter().flat_map(|router| &router.flows).map(|flow| flow + 1))
        }),
        CsvCell("hops_back", |(_, router)| field(&router.map(|router| router.hops_back))),
        CsvCell("mpls_labels", |(_, router)| {
            phrase(router.iter().flat_map(|router| &router.labels).map(|one| one.label))
        }),
    ]
}

fn origin<'a>((_, router): &Line<'a>) -> Option<&'a AsOrigin> {
    router.as_ref()?.origin.as_ref()
}

fn phrase(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}
