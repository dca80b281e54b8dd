//! Reasons behind round trips: far ones, silence, loss, disorder, this host's noise, queues under load.

mod bufferbloat;
mod disorder;
mod host;
mod loss;
mod outage;
mod outliers;
mod shift;
mod silence;
mod verdict;

pub(super) use bufferbloat::bufferbloat;
pub(super) use disorder::{duplicates, reordering};
pub(super) use host::noise;
pub(super) use loss::{behind, loss, sent_late};
pub(super) use outage::outage;
pub(super) use outliers::rtt_outliers;
pub(super) use shift::level_shift;
pub(super) use silence::no_reply;
pub(super) use verdict::verdict_of_run as verdict;

use super::Finding;
use model::latency::{EgressResult, LatencyMode};
use model::plan::Direction;
use model::run::Run;

/// A finding for every egress path, with its name.
pub(super) fn each_egress(run: &Run, find: fn(&Run, &EgressResult) -> Option<Finding>) -> Vec<Finding> {
    let named = |egress: &EgressResult| find(run, egress).map(|finding| finding.on(&egress.label));
    run.summary.egress_paths.iter().filter_map(named).collect()
}

/// Messages go one way only.
fn one_way(run: &Run) -> bool {
    run.latency().is_some_and(|plan| plan.mode == LatencyMode::Throughput)
}

/// `to HOST` for a single egress path or one with its host's name, else `by LABEL`.
fn name(run: &Run, egress: &EgressResult) -> String {
    match run.summary.egress_paths.len() == 1 || egress.label == egress.host {
        true => format!("to {}", egress.host),
        false => format!("by {}", egress.label),
    }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

/// The direction, where only one of them lost.
fn directed(finding: Finding, up: Option<u64>, down: Option<u64>) -> Finding {
    let finding = match (up, down) {
        (Some(1..), Some(0)) => finding,
        (Some(0), Some(1..)) => Finding { direction: Some(Direction::Down), ..finding },
        _ => Finding { direction: None, ..finding },
    };
    finding.with_known("lost_up_count", up).with_known("lost_down_count", down)
}
