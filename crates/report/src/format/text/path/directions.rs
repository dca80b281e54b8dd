//! Sizes that cross in each direction: a row for each figure, the directions side by side.

use super::heading::known_ways;
use model::path::{
    Bound, Discovery, FragmentDelivery, HopSource, LimitingHop, PathDirection, PathResult, ServiceLimit,
    TcpDirection,
};
use model::plan::Direction;
use model::units::percent;

/// Every figure that one direction has at least, in each direction that was looked at; `-` where it is not known.
pub(in crate::format) fn rows(path: &PathResult) -> Vec<Vec<String>> {
    let directions: Vec<&PathDirection> =
        known_ways(path).into_iter().filter_map(|direction| path.in_direction(direction)).collect();
    let row = |(name, cell): &(&str, Cell)| {
        let cells: Vec<Option<String>> = directions.iter().map(|one_way| cell(one_way)).collect();
        let is_known = cells.iter().any(Option::is_some);
        let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into()));
        is_known.then(|| std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    FIGURES.iter().filter_map(row).collect()
}

type Cell = fn(&PathDirection) -> Option<String>;

const FIGURES: &[(&str, Cell)] = &[
    ("path MTU", |one_way| Some(path_mtu(one_way))),
    ("UDP payload", |one_way| one_way.max_udp_payload.map(|payload| format!("{payload} bytes"))),
    ("interface MTU", |one_way| one_way.interface_mtu.map(|mtu| mtu.to_string())),
    ("kernel believes", |one_way| one_way.cached_mtu.map(|mtu| mtu.to_string())),
    ("other flows", other_flows),
    ("limiting hop", |one_way| one_way.limiting_hop.as_ref().map(hop)),
    ("hops traced", hops),
    ("discovery", |one_way| Some(discovery(one_way)).filter(|_| one_way.discovery != Discovery::Unknown)),
    ("black hole", |one_way| {
        one_way.black_hole.map(|hole| format!("{} to {} bytes vanish", hole.first, hole.last))
    }),
    ("fragments", |one_way| {
        Some(delivery(one_way.fragments.delivery).to_owned()).filter(|_| delivery_known(one_way))
    }),
    ("MSS of the SYN", |one_way| mss(one_way.tcp.as_ref()?)),
    ("TCP segments", |one_way| segments(one_way.tcp.as_ref()?)),
    ("tcp_mtu_probing", probing),
    ("loss by size", |one_way| {
        let loss = one_way.size_dependent_loss?;
        let from = loss.from.filter(|from| *from < loss.size).map(|from| format!("{from} to "));
        Some(format!(
            "{} of {}{} bytes, {} of small ones",
            percent(loss.large),
            from.unwrap_or_default(),
            loss.size,
            percent(loss.small)
        ))
    }),
];

fn path_mtu(direction: &PathDirection) -> String {
    match (direction.path_mtu, direction.bound) {
        (None, _) | (_, Bound::Unknown) => "not known".into(),
        (Some(mtu), Bound::Exact) => format!("{mtu} bytes"),
        (Some(mtu), Bound::AtLeast) => format!("{mtu} bytes or more"),
        (Some(mtu), Bound::AtMost) => format!("{mtu} bytes at most"),
    }
}

/// The path MTU as far as it is known: `1400`, `1400 or more`.
pub(in crate::format) fn bound(direction: &PathDirection) -> String {
    match (direction.path_mtu, direction.bound) {
        (None, _) | (_, Bound::Unknown) => "unknown".into(),
        (Some(mtu), Bound::Exact) => mtu.to_string(),
        (Some(mtu), Bound::AtLeast) => format!("{mtu} or more"),
        (Some(mtu), Bound::AtMost) => format!("{mtu} at most"),
    }
}

/// How fragments are handled, in a word or two.
pub(in crate::format) fn delivery_word(delivery: FragmentDelivery) -> &'static str {
    match delivery {
        FragmentDelivery::Unknown => "unknown",
        FragmentDelivery::Pass => "delivered",
        FragmentDelivery::AllDropped | FragmentDelivery::Dropped => "dropped",
        FragmentDelivery::NonFirstDropped => "non-first dropped",
        FragmentDelivery::FirstDropped => "first dropped",
        FragmentDelivery::OutOfOrderDropped => "in order only",
        FragmentDelivery::Reassembled => "reassembled",
        FragmentDelivery::LargeDropped => "large dropped",
        FragmentDelivery::SmallDropped => "small dropped",
        FragmentDelivery::NotReassembled => "not reassembled",
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

fn discovery(direction: &PathDirection) -> String {
    match direction.discovery {
        Discovery::Unknown => "not known".into(),
        Discovery::NotNeeded => "not needed".into(),
        Discovery::Works => "works: the sender is notified".into(),
        Discovery::Silent => "silent: the sender is not notified".into(),
        Discovery::Partial => {
            let reported = direction.too_big.iter().map(|reported| reported.mtu).min().unwrap_or_default();
            format!("in part: reported to {reported}, silent below")
        }
        Discovery::Lies => {
            let mut reported: Vec<String> =
                direction.too_big.iter().map(|reported| reported.mtu.to_string()).collect();
            reported.dedup();
            format!("wrong: the sender is notified {}", reported.join(", "))
        }
    }
}

/// Path MTUs of the flows beside the first, where they were looked at.
fn other_flows(direction: &PathDirection) -> Option<String> {
    let all = direction.other_flows.len();
    let same = direction.other_flows.iter().filter(|flow| Some(flow.path_mtu) == direction.path_mtu).count();
    match all {
        0 => None,
        _ if same == all => Some(format!("{all} more, the same")),
        _ => {
            let least = direction.other_flows.iter().map(|flow| flow.path_mtu).min().unwrap_or_default();
            Some(format!("{} of {all} differ, least {least} bytes", all - same))
        }
    }
}

/// The routers that answered a trace, those that large packets reach before those that they do not.
fn hops(direction: &PathDirection) -> Option<String> {
    let each: Vec<String> = direction
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

fn delivery_known(direction: &PathDirection) -> bool {
    direction.fragments.delivery != FragmentDelivery::Unknown
}

/// How fragments are handled, in a few words.
pub(super) fn delivery(delivery: FragmentDelivery) -> &'static str {
    match delivery {
        FragmentDelivery::Unknown => "not known",
        FragmentDelivery::Pass => "cross",
        FragmentDelivery::AllDropped => "none crosses",
        FragmentDelivery::NonFirstDropped => "only the first of each datagram crosses",
        FragmentDelivery::FirstDropped => "the first of each datagram is dropped",
        FragmentDelivery::Dropped => "do not cross",
        FragmentDelivery::OutOfOrderDropped => "cross only in order",
        FragmentDelivery::Reassembled => "cross, reassembled on the path",
        FragmentDelivery::LargeDropped => "small ones cross, large ones are dropped",
        FragmentDelivery::SmallDropped => "large ones cross, small ones are dropped",
        FragmentDelivery::NotReassembled => "cross, and the receiver's kernel does not put them together",
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
fn probing(direction: &PathDirection) -> Option<String> {
    let mode = direction.tcp.as_ref()?.mtu_probing?;
    (mode > 0 || direction.untold()).then(|| match mode {
        0 => "0: never".to_owned(),
        1 => "1: when a connection stalls".into(),
        2 => "2: always".into(),
        other => other.to_string(),
    })
}

/// The limits of a service, by name.
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
        let Some(one_way) = path.in_direction(direction) else { continue };
        let names = match direction {
            Direction::Up => ("path MTU up", "black hole up", "fragments up", "TCP's MSS up"),
            Direction::Down => ("path MTU down", "black hole down", "fragments down", "TCP's MSS down"),
        };
        let payload =
            one_way.max_udp_payload.map(|payload| format!(", UDP payload {payload}")).unwrap_or_default();
        let limit = one_way
            .limiting_hop
            .as_ref()
            .map(|limit| format!("; limited by {}", hop(limit)))
            .unwrap_or_default();
        facts.push((names.0, format!("{}{payload}{limit}", path_mtu(one_way))));
        facts.extend(one_way.black_hole.map(|hole| {
            (names.1, format!("packets of {} to {} bytes vanish without a message", hole.first, hole.last))
        }));
        facts.extend(delivery_known(one_way).then(|| (names.2, fragments(one_way))));
        let changed = one_way.tcp.as_ref().filter(|tcp| tcp.mss_sent != tcp.mss_received);
        facts.extend(changed.and_then(mss).map(|mss| (names.3, mss)));
    }
    facts
}

/// How fragments are handled, and the number of datagrams that show it.
fn fragments(direction: &PathDirection) -> String {
    let tests = direction.fragments.tests.iter().filter(|test| super::fragments::is_whole(test.shape));
    let (sent, received) = tests
        .fold((0_u64, 0_u64), |sum, test| (sum.0 + u64::from(test.sent), sum.1 + u64::from(test.received)));
    let of = if sent > 0 { format!(" ({received} of {sent} datagrams arrived)") } else { String::new() };
    format!("{}{of}", delivery(direction.fragments.delivery))
}
