//! The hops of a path: what of a trace is the path's, and what a router's own.

mod answers;
mod delay;
mod loss;
mod route;
mod verdict;

pub(super) use answers::{answered_on_path, quotes_untranslated, ttl_rewritten};
pub(super) use delay::{latency_from_hop, mtu_from_hop};
pub(super) use loss::{loss_from_hop, rate_limited};
pub(super) use route::{addresses_alternate, changed, circle, dead_flows, paths_differ};
pub(super) use verdict::verdict_of_run as verdict;

use super::{Finding, Severity, lower};
use model::hops::{Hop, HopsResult};
use model::plan::Direction;
use model::run::Run;

/// The trace of a run, where there is one.
fn found(run: &Run) -> Option<&HopsResult> {
    run.summary.hops.as_deref()
}

/// One direction of what was found.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    found: &'a HopsResult,
    direction: Direction,
    /// The far end's trace of the return path.
    back: Option<&'a HopsResult>,
    /// Probes of each hop, as requested.
    probes: Option<u32>,
}

/// The findings of the forward path, and of the return path where the far end traced it.
pub(super) fn each(run: &Run, rule: fn(Look<'_>) -> Option<Finding>) -> Vec<Finding> {
    let Some(found) = found(run) else { return Vec::new() };
    let (back, probes) = (found.back.as_deref(), run.hops().map(|plan| plan.probes));
    let there = Look { found, direction: Direction::Up, back, probes };
    let here = back.map(|found| Look { found, direction: Direction::Down, back: None, probes });
    [there].into_iter().chain(here).filter_map(rule).collect()
}

impl Look<'_> {
    /// A finding of this direction.
    fn finding(&self, id: &'static str, severity: Severity, title: String) -> Finding {
        match self.direction {
            Direction::Up => Finding::new(id, severity, None, title),
            Direction::Down => {
                let title = format!("On the return path, {}", lower(&title));
                Finding::new(id, severity, Direction::Down, title)
            }
        }
    }

    /// The end that its probes go to.
    fn far_end(&self) -> &'static str {
        if self.direction == Direction::Up { "the far end" } else { "this host" }
    }
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
