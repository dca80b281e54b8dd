//! A limit in words: a few for the answer, a sentence for the block.

use crate::finding::text::{grouped, percent};
use model::limit::{Confidence, Limit, LimitKind, LimitPlace};

/// The limit in a few words, for the answer: `a shaper of 50.0 Mbit/s, queue 100 ms`. Nothing is stated about what is not known.
#[must_use]
pub fn brief(limit: &Limit) -> Option<String> {
    let rate = || limit.rate.map(|rate| format!(" of {rate}")).unwrap_or_default();
    let each = if limit.per_flow == Some(true) { " for each flow" } else { "" };
    let queue = || match (limit.queue, limit.queue_at_least) {
        (Some(queue), false) => format!(", queue {queue}"),
        (Some(queue), true) => format!(", queue at least {queue}"),
        (None, _) => String::new(),
    };
    let window = || limit.window.map(|window| format!(" of {window}")).unwrap_or_default();
    Some(match limit.kind {
        LimitKind::Application => "the rate that was asked for".into(),
        LimitKind::LineRate => format!("the line rate{}", rate()),
        LimitKind::SenderCpu => "a CPU of the sender".into(),
        LimitKind::ReceiverCpu => "a CPU of the receiver".into(),
        LimitKind::SenderBuffer => format!("the sender's buffer, {} in flight", limit.window?),
        LimitKind::ReceiverWindow => format!("the receiver's window{}", window()),
        LimitKind::HostDrop => "packets dropped by a host".into(),
        LimitKind::Shaper => format!("a shaper{}{each}{}", rate(), queue()),
        LimitKind::Policer => format!("a policer{}{each}", rate()),
        LimitKind::PacketRate => {
            format!("a limit of {} packets per second{each}{}", grouped(limit.packets?.0), queue())
        }
        LimitKind::Aqm => format!("a shaper{} that keeps its queue short", rate()),
        LimitKind::Competing => format!("other traffic on a path{}", rate()),
        LimitKind::VariableRate => format!("a path whose rate varies, {} at times", limit.rate?),
        LimitKind::Loss => format!("random loss of {}", percent(limit.share?)),
        LimitKind::AckPath => "acknowledgements that are delayed".into(),
        LimitKind::RampUp => "TCP that was still growing".into(),
        LimitKind::HostQueue => format!("a queue of the sender{}", rate()),
        LimitKind::Link => "a faulty link of an end".into(),
        LimitKind::Pause => "pause frames".into(),
        LimitKind::Bus => format!("the bus of an interface{}", rate()),
        LimitKind::Tunnel => "the program behind a tunnel".into(),
        LimitKind::Offload => "an offload that spoils packets".into(),
        LimitKind::Mtu => "the packet size".into(),
        LimitKind::Treatment => format!("UDP held to {}", limit.rate?),
        LimitKind::Reordering => format!("packets out of order, {} of them", percent(limit.share?)),
        LimitKind::ForwarderCpu => "a CPU of a host on the path".into(),
        LimitKind::Wifi => format!("Wi-Fi whose rate varies, {} at times", limit.rate?),
        LimitKind::NotKnown => return None,
    })
}

/// The limit in a few words with its place: `a shaper of 50.0 Mbit/s, queue 100 ms, between hop 1 and hop 2`. Nothing is stated about what
/// is hardly sure.
#[must_use]
pub fn where_and_what(limit: &Limit) -> Option<String> {
    let at = limit.place.map(|at| format!(", {}", place(at))).unwrap_or_default();
    if limit.confidence == Confidence::Low {
        return None;
    }
    Some(brief(limit)? + &at)
}

/// Where it is: `at link 2`, `at link 2 or 3`.
#[must_use]
pub fn place(place: LimitPlace) -> String {
    match place.link() {
        Some(1) => "between this host and hop 1".into(),
        Some(link) => format!("between hop {} and hop {link}", link - 1),
        None if place.first <= 1 => format!("between this host and hop {}", place.last),
        None => format!("between hop {} and hop {}", place.first.saturating_sub(1), place.last),
    }
}

/// The limit in a sentence, with its figures.
#[must_use]
pub fn sentence(limit: &Limit) -> String {
    let what = match limit.kind {
        LimitKind::NotKnown => return format!("not known: {}", limit.ruled_out.join("; ")),
        LimitKind::Shaper => brief(limit).map(|text| text.replacen("a shaper", "a shaper or slow link", 1)),
        _ => brief(limit),
    };
    let mut parts = vec![what.unwrap_or_default()];
    if limit.kind.is_of_the_path() && limit.rate.is_some() {
        parts[0].push_str(" (in frames)");
    }
    parts.extend(limit.queue_bytes.map(|bytes| format!("{bytes} of queue")));
    parts.extend(limit.burst.map(|burst| match limit.burst_at_least {
        true => format!("bursts of at least {burst}"),
        false => format!("bursts of {burst}"),
    }));
    parts.extend(limit.place.map(place));
    parts.extend(match limit.per_flow {
        Some(false) => Some("all flows together".into()),
        _ => None,
    });
    parts.extend(limit.cause.clone());
    parts.extend(limit.fix.as_ref().map(|fix| format!("to repair it: {fix}")));
    parts.extend(limit.also.as_deref().and_then(brief).map(|next| format!("next {next}")));
    parts.push(format!("confidence {}", limit.confidence));
    parts.join(", ")
}
