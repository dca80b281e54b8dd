//! Figures of each direction that are phrases; `brief::path` has the table of the others.

use super::heading::known_directions;
use model::path::{
    Bound, Discovery, FragmentDelivery, HopSource, LimitingHop, PathDirection, PathResult, ServiceLimit,
    TcpDirection,
};
use model::units::percent;

/// Every phrase about a direction that was looked at, by its name.
pub(in crate::format) fn facts(path: &PathResult) -> Vec<(String, String)> {
    let of_direction = |direction| {
        let one_way = path.in_direction(direction)?;
        let fact = |(name, phrase): &(&str, Phrase)| Some((format!("{name} {direction}"), phrase(one_way)?));
        Some(PHRASES.iter().filter_map(fact).collect::<Vec<_>>())
    };
    known_directions(path).into_iter().filter_map(of_direction).flatten().collect()
}

type Phrase = fn(&PathDirection) -> Option<String>;

const PHRASES: &[(&str, Phrase)] = &[
    ("kernel believes", |one_way| one_way.cached_mtu.map(|mtu| mtu.to_string())),
    ("other flows", other_flows),
    ("limiting hop", |one_way| one_way.limiting_hop.as_ref().map(hop)),
    ("hops traced", hops),
    ("discovery", discovery),
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

fn discovery(direction: &PathDirection) -> Option<String> {
    Some(match direction.discovery {
        Discovery::Unknown => return None,
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
    })
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
