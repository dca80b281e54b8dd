//! Hosts between the ends that were observed: what each reports of the limit that the load met.

use super::facts;
use super::signs::Signs;
use crate::finding::text::{count, percent};
use model::limit::{Confidence, Limit, LimitKind, LimitPlace, ObservedHost};
use model::summary::Summary;

/// The limit with the host on the path that explains it: the counters of a queue or of drops, or a CPU that forwards no more.
pub(super) fn explained(limit: Limit, signs: &Signs<'_>) -> Limit {
    let may_be_there = limit.kind.is_of_the_path() || limit.kind == LimitKind::NotKnown;
    if limit.fix.is_some() || !may_be_there {
        return limit;
    }
    let observed = &signs.evidence.observed;
    let by_counter = observed.iter().find_map(|host| facts::on_the_path(&host.facts, &host.title(), signs));
    if let Some((cause, fix)) = by_counter {
        return Limit { cause: Some(cause), fix: Some(fix), ..limit };
    }
    let is_full = |host: &&ObservedHost| {
        let is_busy = host.busiest_cpu >= BUSY && host.busiest_softirq >= MOST_OF_BUSY;
        !host.is_this_host && (host.busiest_softirq >= FULL || is_busy)
    };
    match observed.iter().find(is_full) {
        Some(host) if OF_A_CPU.contains(&limit.kind) => Limit {
            kind: LimitKind::ForwarderCpu,
            confidence: Confidence::Medium,
            // A router is between the link to it and the next.
            place: limit.place.or_else(|| host.links.map(|link| LimitPlace { first: link, last: link + 1 })),
            cause: Some(format!(
                "a CPU of {}{} spent {} of the test on packets",
                host.title(),
                host.links.map_or_else(String::new, |link| format!(", hop {link},")),
                percent(host.busiest_softirq.min(1.0))
            )),
            fix: Some(
                "spread its receive queues over more CPUs (`ethtool -L`, or RPS by \
                 `/sys/class/net/INTERFACE/queues/rx-0/rps_cpus`), a faster CPU, or fewer rules for each packet"
                    .into(),
            ),
            ruled_out: Vec::new(),
            ..limit
        },
        _ => limit,
    }
}

/// What each observed host showed: its name, and a sentence.
#[must_use]
pub fn sentences(summary: &Summary) -> Vec<(String, String)> {
    summary.observed.iter().map(|host| (host.title(), sentence(host))).collect()
}

fn sentence(host: &ObservedHost) -> String {
    if let Some(note) = &host.note {
        return format!("not observed: {note}");
    }
    let [busiest, packets] = [host.busiest_cpu, host.busiest_softirq].map(|share| percent(share.min(1.0)));
    let of_host = if host.is_this_host { ", those of this host" } else { "" };
    let dropped = match host.dropped {
        0 => String::new(),
        some => format!(", {} dropped", count(some, "packet")),
    };
    format!("its busiest CPU {busiest} busy{of_host}, at most {packets} of one CPU for packets{dropped}")
}

/// A CPU has no time left for more packets.
const FULL: f64 = 0.9;
/// A CPU is never idle, and packets take most of it: the programs that serve them take the rest.
const BUSY: f64 = 0.97;
const MOST_OF_BUSY: f64 = 0.8;
/// Kinds that a CPU which forwards no more looks like. A bucket has the same rate at every load, and a CPU has not.
const OF_A_CPU: [LimitKind; 4] =
    [LimitKind::PacketRate, LimitKind::VariableRate, LimitKind::Competing, LimitKind::NotKnown];
