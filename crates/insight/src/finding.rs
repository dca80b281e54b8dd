//! Findings: the reason behind a number, with its evidence and the way out. Pure functions, one row each in [`RULES`].

mod contradiction;
mod cpu;
mod fragments;
mod frames;
mod hops;
mod latency;
mod loss;
mod measured;
mod noise;
mod one_way;
mod outage;
mod path;
mod ramp_up;
mod reach;
mod text;
mod transfer;
mod verdict;
mod window;

pub use outage::is_lasting;
pub use text::{capital, grouped, significant};
pub(crate) use text::{lower, percent};
pub use verdict::first_sentence;
pub(crate) use verdict::status;

use model::finding::{Finding, Severity, Status, Verdict};
use model::run::Run;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A way to find one reason.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable name of what it finds.
    pub id: &'static str,
    /// Finds it in the figures of a run, at most once for each direction and way.
    pub find: fn(&Run) -> Vec<Finding>,
}

/// Every rule; of equally bad findings the earlier comes first.
pub const RULES: &[Rule] = &[
    Rule { id: "contradictory-figures", find: contradiction::contradictory },
    Rule { id: "link-speed-wrong", find: window::link_speed_wrong },
    Rule { id: "neighbour-failed", find: reach::neighbour_failed },
    Rule { id: "one-way-reachable", find: one_way::one_way_reachable },
    Rule { id: "udp-unreachable", find: contradiction::udp_unreachable },
    Rule { id: "no-reply", find: latency::no_reply },
    Rule { id: "one-family-only", find: reach::one_family_only },
    Rule { id: "routing-loop", find: hops::circle },
    Rule { id: "mtu-black-hole", find: path::black_hole },
    Rule { id: "tcp-blackhole", find: path::tcp_black_hole },
    Rule { id: "mtu-discovery-wrong", find: path::wrong },
    Rule { id: "paths-differ", find: paths_differ },
    Rule { id: "fragments-dropped", find: fragments::fragments_dropped },
    Rule { id: "udp-fragmented", find: fragments::udp_fragmented },
    Rule { id: "service-limit", find: path::service_limit },
    Rule { id: "outage", find: outages },
    Rule { id: "receiver-buffer-loss", find: loss::receiver_buffer_loss },
    Rule { id: "path-loss", find: loss::path_loss },
    Rule { id: "loss-from-hop", find: hops::loss_from_hop },
    Rule { id: "route-changed", find: hops::changed },
    Rule { id: "size-dependent-loss", find: path::size_dependent_loss },
    Rule { id: "path-changed", find: path::changed },
    Rule { id: "mss-clamped", find: path::clamped },
    Rule { id: "stale-path-mtu", find: path::stale },
    Rule { id: "mtu-asymmetric", find: path::asymmetric },
    Rule { id: "mtu-reduced", find: path::reduced },
    Rule { id: "mtu-from-hop", find: hops::mtu_from_hop },
    Rule { id: "latency-from-hop", find: hops::latency_from_hop },
    Rule { id: "icmp-rate-limited", find: hops::rate_limited },
    Rule { id: "ramp-up", find: ramp_up::ramp_up },
    Rule { id: "window-limited", find: window::window_limited },
    Rule { id: "receiver-limited", find: cpu::receiver_limited },
    Rule { id: "sender-limited", find: cpu::sender_limited },
    Rule { id: "at-line-rate", find: window::at_line_rate },
    Rule { id: "reordering", find: loss::reordering },
    Rule { id: "duplicates", find: loss::duplicates },
    Rule { id: "level-shift", find: latency::level_shift },
    Rule { id: "rtt-outliers", find: latency::rtt_outliers },
    Rule { id: "bufferbloat", find: latency::bufferbloat },
    Rule { id: "host-noise", find: noise::host_noise },
];

/// Flows take paths of different size, or through different routers.
fn paths_differ(run: &Run) -> Vec<Finding> {
    [path::paths_differ(run), hops::paths_differ(run)].concat()
}

/// Nothing came for a while: of data, or of replies.
fn outages(run: &Run) -> Vec<Finding> {
    [outage::outage(run), latency::outage(run)].concat()
}

/// All findings of a run and of its tests, worst first, each id, direction and way once.
pub fn findings_of_run(run: &Run) -> Vec<Finding> {
    let own = RULES.iter().flat_map(|rule| (rule.find)(run));
    let of_tests = run.tests.iter().flat_map(|test| test.findings.iter().cloned());
    let mut found: Vec<Finding> = own.chain(of_tests).collect();
    let place = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.id);
    found.sort_by_key(|finding| (Reverse(finding.severity), place(finding), finding.direction));
    let mut observed = BTreeSet::new();
    found.retain(|finding| observed.insert((finding.id.clone(), finding.direction, finding.egress.clone())));
    found
}

/// The conclusion of a run, from its figures and its findings.
pub fn verdict(run: &Run) -> Verdict {
    verdict::verdict_of_run(run)
}
