//! What crosses in each direction: a row for each figure, the directions side by side.

use super::super::super::Style;
use super::super::words;
use super::heading::known_ways;
use super::wide;
use model::path::{
    Bound, Discovery, FragmentFate, HopSource, LimitingHop, PathDirection, PathResult, ServiceLimit,
    TcpDirection,
};
use model::plan::Direction;

/// A figure of each direction that was looked at; `-` where it is not known.
pub(in crate::format) struct Row {
    pub(in crate::format) name: &'static str,
    pub(in crate::format) cells: Vec<String>,
}

/// The table of what crosses.
pub(super) fn table(path: &PathResult, style: &Style) -> String {
    let directions = known_ways(path);
    if directions.is_empty() {
        return String::new();
    }
    let headings: Vec<&str> = directions.iter().map(|direction| words::direction_word(*direction)).collect();
    let rows: Vec<wide::Row> =
        rows(path).into_iter().map(|row| wide::Row { name: row.name.into(), cells: row.cells }).collect();
    format!("\n{}", wide::table(&headings, &rows, style))
}

/// Every figure that one direction has at least.
pub(in crate::format) fn rows(path: &PathResult) -> Vec<Row> {
    let ways: Vec<&PathDirection> =
        known_ways(path).into_iter().filter_map(|direction| path.way(direction)).collect();
    let rows =
        FIGURES.iter().map(|(name, cell)| (*name, ways.iter().map(|way| cell(way)).collect::<Vec<_>>()));
    let known = rows.filter(|(_, cells)| cells.iter().any(Option::is_some));
    let dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".into());
    known.map(|(name, cells)| Row { name, cells: cells.into_iter().map(dash).collect() }).collect()
}

type Cell = fn(&PathDirection) -> Option<String>;

const FIGURES: &[(&str, Cell)] = &[
    ("path MTU", |way| Some(path_mtu(way))),
    ("UDP payload", |way| way.max_udp_payload.map(|payload| format!("{payload} bytes"))),
    ("interface MTU", |way| way.interface_mtu.map(|mtu| mtu.to_string())),
    ("kernel believes", |way| way.cached_mtu.map(|mtu| mtu.to_string())),
    ("other flows", other_flows),
    ("limiting hop", |way| way.limiting_hop.as_ref().map(hop)),
    ("hops traced", hops),
    ("discovery", |way| Some(discovery(way)).filter(|_| way.discovery != Discovery::Unknown)),
    ("black hole", |way| way.black_hole.map(|hole| format!("{} to {} bytes vanish", hole.first, hole.last))),
    ("fragments", |way| Some(fate(way.fragments.fate).to_owned()).filter(|_| fate_known(way))),
    ("MSS of the SYN", |way| mss(way.tcp.as_ref()?)),
    ("TCP segments", |way| segments(way.tcp.as_ref()?)),
    ("tcp_mtu_probing", probing),
    ("loss by size", |way| {
        let loss = way.size_dependent_loss?;
        Some(format!(
            "{} of {} bytes, {} of small ones",
            words::percent(loss.large),
            loss.size,
            words::percent(loss.small)
        ))
    }),
];

fn path_mtu(way: &PathDirection) -> String {
    match (way.path_mtu, way.bound) {
        (None, _) | (_, Bound::Unknown) => "not known".into(),
        (Some(mtu), Bound::Exact) => format!("{mtu} bytes"),
        (Some(mtu), Bound::AtLeast) => format!("{mtu} bytes or more"),
        (Some(mtu), Bound::AtMost) => format!("{mtu} bytes at most"),
    }
}

/// The path MTU as far as it is known: `1400`, `1400 or more`.
pub(in crate::format) fn bound(way: &PathDirection) -> String {
    match (way.path_mtu, way.bound) {
        (None, _) | (_, Bound::Unknown) => "unknown".into(),
        (Some(mtu), Bound::Exact) => mtu.to_string(),
        (Some(mtu), Bound::AtLeast) => format!("{mtu} or more"),
        (Some(mtu), Bound::AtMost) => format!("{mtu} at most"),
    }
}

/// How fragments are handled, in a word or two.
pub(in crate::format) fn fate_word(fate: FragmentFate) -> &'static str {
    match fate {
        FragmentFate::Unknown => "unknown",
        FragmentFate::Pass => "delivered",
        FragmentFate::AllDropped | FragmentFate::Dropped => "dropped",
        FragmentFate::NonFirstDropped => "non-first dropped",
        FragmentFate::FirstDropped => "first dropped",
        FragmentFate::OutOfOrderDropped => "in order only",
        FragmentFate::Reassembled => "reassembled",
    }
}

fn hop(hop: &LimitingHop) -> String {
    let name = match (hop.found_by, hop.ttl, hop.address) {
        (HopSource::Sender, ..) => return "the sender's own route".into(),
        (_, Some(ttl), Some(address)) => format!("{ttl}: {address}"),
        (_, Some(ttl), None) => format!("{ttl}"),
        (_, None, Some(address)) => address.to_string(),
        (_, None, None) => "not known".into(),
    };
    match hop.found_by {
        HopSource::Trace => format!("{name} (the last that answers large packets)"),
        HopSource::TooBig | HopSource::Sender => name,
    }
}

fn discovery(way: &PathDirection) -> String {
    match way.discovery {
        Discovery::Unknown => "not known".into(),
        Discovery::NotNeeded => "not needed".into(),
        Discovery::Works => "works: the sender is notified".into(),
        Discovery::Silent => "silent: the sender is not notified".into(),
        Discovery::Partial => {
            let told = way.too_big.iter().map(|told| told.mtu).min().unwrap_or_default();
            format!("in part: reported to {told}, silent below")
        }
        Discovery::Lies => {
            let mut told: Vec<String> = way.too_big.iter().map(|told| told.mtu.to_string()).collect();
            told.dedup();
            format!("wrong: the sender is notified {}", told.join(", "))
        }
    }
}

/// Path MTUs of the flows beside the first, where they were looked at.
fn other_flows(way: &PathDirection) -> Option<String> {
    let all = way.other_flows.len();
    let same = way.other_flows.iter().filter(|flow| Some(flow.path_mtu) == way.path_mtu).count();
    match all {
        0 => None,
        _ if same == all => Some(format!("{all} more, the same")),
        _ => {
            let least = way.other_flows.iter().map(|flow| flow.path_mtu).min().unwrap_or_default();
            Some(format!("{} of {all} differ, least {least} bytes", all - same))
        }
    }
}

/// The routers that answered a trace, those that large packets reach before those that they do not.
fn hops(way: &PathDirection) -> Option<String> {
    let each: Vec<String> = way
        .hops
        .iter()
        .map(|hop| {
            let name = hop.address.map_or_else(|| "?".to_owned(), |address| address.to_string());
            let small = if hop.large { "" } else { " (small packets)" };
            format!("{}: {name}{small}", hop.ttl)
        })
        .collect();
    (!each.is_empty()).then(|| each.join(", "))
}

fn fate_known(way: &PathDirection) -> bool {
    way.fragments.fate != FragmentFate::Unknown
}

/// What becomes of fragments, in a few words.
pub(super) fn fate(fate: FragmentFate) -> &'static str {
    match fate {
        FragmentFate::Unknown => "not known",
        FragmentFate::Pass => "cross",
        FragmentFate::AllDropped => "none crosses",
        FragmentFate::NonFirstDropped => "only the first of each datagram crosses",
        FragmentFate::FirstDropped => "the first of each datagram is dropped",
        FragmentFate::Dropped => "do not cross",
        FragmentFate::OutOfOrderDropped => "cross only in order",
        FragmentFate::Reassembled => "cross, reassembled on the path",
    }
}

fn mss(tcp: &TcpDirection) -> Option<String> {
    Some(match (tcp.mss_sent, tcp.mss_received) {
        (Some(sent), Some(received)) if sent == received => format!("{sent} as sent"),
        (Some(sent), Some(received)) => format!("{received}, sent as {sent}"),
        (Some(sent), None) => format!("{sent} sent"),
        (None, Some(received)) => format!("{received} received"),
        (None, None) => return None,
    })
}

fn segments(tcp: &TcpDirection) -> Option<String> {
    let largest = tcp.largest_segment.map(|largest| format!("up to {largest} bytes"));
    let stalled = tcp.stalled.then(|| "stalled".to_owned());
    let again = tcp.retransmits.filter(|count| *count > 0).map(|count| format!("{count} retransmits"));
    let parts: Vec<String> = [largest, stalled, again].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Where it matters: TCP has to find the size by itself, or would.
fn probing(way: &PathDirection) -> Option<String> {
    let mode = way.tcp.as_ref()?.mtu_probing?;
    (mode > 0 || way.untold()).then(|| match mode {
        0 => "0: never".to_owned(),
        1 => "1: when a connection stalls".into(),
        2 => "2: always".into(),
        other => other.to_string(),
    })
}

/// What a service answers, by name.
pub(in crate::format) fn service(service: &ServiceLimit) -> Vec<(&'static str, String)> {
    let answers = match (service.payload, service.silent) {
        (Some(payload), _) => format!("payloads of up to {payload} bytes"),
        (None, _) => "nothing".into(),
    };
    let silent = service.silent.map(|silent| format!("from {silent} bytes on"));
    let refused = service.refused.clone();
    let cut = format!("from {} bytes on", service.fragmented_from);
    let facts =
        [("answers", Some(answers)), ("silent", silent), ("in fragments", Some(cut)), ("refused", refused)];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// One direction of a path in two or three lines, for a run of several tests.
pub(in crate::format) fn facts(path: &PathResult) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for direction in known_ways(path) {
        let Some(way) = path.way(direction) else { continue };
        let names = match direction {
            Direction::Up => ("path MTU up", "black hole up", "fragments up", "TCP's MSS up"),
            Direction::Down => ("path MTU down", "black hole down", "fragments down", "TCP's MSS down"),
        };
        let payload =
            way.max_udp_payload.map(|payload| format!(", UDP payload {payload}")).unwrap_or_default();
        let limit =
            way.limiting_hop.as_ref().map(|limit| format!("; limited by {}", hop(limit))).unwrap_or_default();
        facts.push((names.0, format!("{}{payload}{limit}", path_mtu(way))));
        facts.extend(way.black_hole.map(|hole| {
            (names.1, format!("packets of {} to {} bytes vanish without a word", hole.first, hole.last))
        }));
        facts.extend(fate_known(way).then(|| (names.2, fragments(way))));
        let changed = way.tcp.as_ref().filter(|tcp| tcp.mss_sent != tcp.mss_received);
        facts.extend(changed.and_then(mss).map(|mss| (names.3, mss)));
    }
    facts
}

/// What becomes of fragments, and how many datagrams say so.
fn fragments(way: &PathDirection) -> String {
    let tests = way.fragments.tests.iter().filter(|test| super::fragments::is_whole(test.shape));
    let (sent, received) = tests
        .fold((0_u64, 0_u64), |sum, test| (sum.0 + u64::from(test.sent), sum.1 + u64::from(test.received)));
    let of = if sent > 0 { format!(" ({received} of {sent} datagrams arrived)") } else { String::new() };
    format!("{}{of}", fate(way.fragments.fate))
}
