//! The hops of a path: what of a trace is the path's, and what a router's own.

mod delay;
mod loss;
mod route;
mod verdict;

pub(super) use delay::{latency_from_hop, mtu_from_hop};
pub(super) use loss::{loss_from_hop, rate_limited};
pub(super) use route::{changed, circle, paths_differ};
pub(super) use verdict::of as verdict;

use model::hops::{Hop, HopsResult};
use model::run::Run;

/// What was found of the hops, where that was looked at.
fn found(run: &Run) -> Option<&HopsResult> {
    run.summary.hops.as_deref()
}

/// A hop in words: `hop 3 (192.0.2.1)`; of several routers the one that answers most.
fn named(hop: &Hop) -> String {
    match hop.routers.as_slice() {
        [] => format!("hop {}", hop.ttl),
        [router] => format!("hop {} ({})", hop.ttl, router.address),
        [router, more @ ..] => format!("hop {} ({} and {} more)", hop.ttl, router.address, more.len()),
    }
}

/// The same of a TTL.
fn named_at(found: &HopsResult, ttl: u8) -> String {
    found.hops.iter().find(|hop| hop.ttl == ttl).map_or_else(|| format!("hop {ttl}"), named)
}
