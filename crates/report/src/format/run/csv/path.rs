//! The CSV rows of packet sizes: one per direction, per size tried, per test of fragments, and of a service.

use super::COLUMNS;
use model::path::{FragmentTest, PathResult, PathWay, ServiceLimit, SizeProbe};
use model::plan::Direction;
use model::run::Run;
use serde::Serialize;

/// Every row of a test whose packet sizes are known; none of another. A part has its number, the whole run none.
pub(super) fn rows(run: &Run, test: &Run, number: Option<usize>) -> Vec<Vec<String>> {
    let Some(path) = &test.summary.path else { return Vec::new() };
    let start = |kind: &str| Row::new(run, path, number, kind);
    let mut rows = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let Some(found) = path.way(direction) else { continue };
        let start = |kind: &str| start(kind).with("direction", direction);
        rows.push(way(start("path"), found));
        rows.extend(found.sizes.iter().map(|probe| size(start("path_size"), probe)));
        rows.extend(found.fragments.tests.iter().map(|test| fragments(start("path_fragments"), test)));
    }
    if let Some(found) = &path.service {
        rows.push(service(start("service"), found));
        rows.extend(found.sizes.iter().map(|probe| size(start("service_size"), probe)));
    }
    rows
}

fn way(row: Row, way: &PathWay) -> Vec<String> {
    let tcp = way.tcp.as_ref();
    row.with("bound", name(&way.bound))
        .with("discovery", name(&way.discovery))
        .with("fragments", name(&way.fragments.fate))
        .known("path_mtu_bytes", way.path_mtu)
        .known("max_udp_payload_bytes", way.max_udp_payload)
        .known("interface_mtu_bytes", way.interface_mtu)
        .known("cached_mtu_bytes", way.cached_mtu)
        .known("hop", way.limiting_hop.as_ref().and_then(|hop| hop.ttl))
        .known("hop_address", way.limiting_hop.as_ref().and_then(|hop| hop.address))
        .known("black_hole_first_bytes", way.black_hole.map(|hole| hole.first))
        .known("black_hole_last_bytes", way.black_hole.map(|hole| hole.last))
        .known("mss_sent_bytes", tcp.and_then(|tcp| tcp.mss_sent))
        .known("mss_received_bytes", tcp.and_then(|tcp| tcp.mss_received))
        .known("largest_segment_bytes", tcp.and_then(|tcp| tcp.largest_segment))
        .known("retransmits", tcp.and_then(|tcp| tcp.retransmits))
        .fields()
}

fn size(row: Row, probe: &SizeProbe) -> Vec<String> {
    let row = row.with("size_bytes", probe.size).with("sent", probe.sent).with("datagrams", probe.received);
    row.with("lost", probe.sent.saturating_sub(probe.received)).fields()
}

fn fragments(row: Row, test: &FragmentTest) -> Vec<String> {
    row.with("fragments", name(&test.shape))
        .with("size_bytes", test.payload)
        .with("sent", test.sent)
        .with("datagrams", test.received)
        .with("lost", test.sent.saturating_sub(test.received))
        .fields()
}

fn service(row: Row, limit: &ServiceLimit) -> Vec<String> {
    row.known("max_udp_payload_bytes", limit.payload)
        .with("fragmented_from_bytes", limit.fragmented_from)
        .fields()
}

/// A case as documents name it.
fn name(case: &impl Serialize) -> String {
    let value = serde_json::to_value(case).expect("a case is its name");
    value.as_str().unwrap_or_default().to_owned()
}

/// A row whose fields are named.
struct Row {
    fields: Vec<String>,
}

impl Row {
    fn new(run: &Run, path: &PathResult, number: Option<usize>, kind: &str) -> Row {
        let row = Row { fields: vec![String::new(); COLUMNS.len()] };
        let row = row.with("run", &run.id).known("test", number).with("row", kind).with("omitted", false);
        row.with("method", name(&path.method))
    }

    fn with(mut self, column: &str, value: impl ToString) -> Row {
        let place = COLUMNS.iter().position(|name| *name == column).expect("a column of the header");
        self.fields[place] = value.to_string();
        self
    }

    fn known(self, column: &str, value: Option<impl ToString>) -> Row {
        match value {
            Some(value) => self.with(column, value),
            None => self,
        }
    }

    fn fields(self) -> Vec<String> {
        self.fields
    }
}
