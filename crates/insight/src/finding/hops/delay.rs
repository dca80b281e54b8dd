//! `latency-from-hop` and `mtu-from-hop`: the link that takes most of the round trip, and the one that carries least.

use super::super::{Finding, Severity};
use super::{found, named, named_at};
use model::hops::Hop;
use model::run::Run;
use model::units::Nanos;

/// One link takes most of the time, as everything behind it shows too. A router that is slow to answer takes none.
pub(in super::super) fn latency_from_hop(run: &Run) -> Option<Finding> {
    let found = found(run)?;
    let far = found.far_end()?.rtt?.p50;
    let known: Vec<(&Hop, Nanos)> = found.hops.iter().filter_map(|hop| Some((hop, hop.rtt?.p50))).collect();
    // No hop is further away than what lies behind it: what is longer was spent in the router.
    let lasting = |at: usize| known[at..].iter().map(|(_, time)| *time).min().unwrap_or_default();
    let step = |at: usize| {
        let before = at.checked_sub(1).map_or(Nanos::ZERO, lasting);
        lasting(at).saturating_sub(before)
    };
    let at = (0..known.len()).max_by_key(|at| step(*at))?;
    let (added, hop) = (step(at), known[at].0);
    if added < LEAST || added.0 < far.0 / 2 {
        return None;
    }
    let from = at.checked_sub(1).map_or_else(|| "this host".into(), |before| named(known[before].0));
    let title =
        format!("{added} of the round trip of {far} (medians) arise between {from} and {}", named(hop));
    Some(
        Finding::new("latency-from-hop", Severity::Info, None, title)
            .with("added_ns", added.0)
            .with("rtt_p50_ns", far.0)
            .with("distance_hops", hop.ttl)
            .advise(
                "A long link takes 1 ms for each 100 km there and back. If it is not that long, look for a queue there (the \
                 jitter is high) or for a detour (the AS or the names of the hops show it).",
            ),
    )
}

/// A router refused packets of full size.
pub(in super::super) fn mtu_from_hop(run: &Run) -> Option<Finding> {
    let found = found(run)?;
    let routers = found.hops.iter().flat_map(|hop| hop.routers.iter().map(move |router| (hop, router)));
    let (mtu, hop) =
        routers.filter_map(|(hop, router)| Some((router.next_mtu?, hop))).min_by_key(|least| least.0)?;
    let crossed = match found.path_mtu {
        Some(crossed) => format!("; packets of {crossed} bytes reach the far end"),
        None => String::new(),
    };
    let title = format!("Behind {} packets are at most {mtu} bytes long{crossed}", named_at(found, hop.ttl));
    let finding = Finding::new("mtu-from-hop", Severity::Info, None, title)
        .with("mtu_bytes", mtu)
        .with("distance_hops", hop.ttl)
        .with_known("path_mtu_bytes", found.path_mtu);
    let host = run.hops().map_or("HOST", |plan| plan.target.host.as_str());
    Some(finding.advise(format!(
        "Senders learn it from the router's ICMP messages. `pathmeter mtu {host}` finds the size to the byte, in both directions, and what \
         to set."
    )))
}

/// Less is not worth a word.
const LEAST: Nanos = Nanos::from_millis(5);
