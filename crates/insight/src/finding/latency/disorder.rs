//! Replies that came out of order, or twice.

use super::super::text::{count, grouped, percent};
use super::super::{Finding, Severity};
use super::{name, share};
use model::latency::EgressResult;
use model::run::Run;

/// Replies came after replies to later messages.
pub(in super::super) fn reordering(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    let part = share(counted.reordered, counted.received);
    if counted.reordered < A_FEW || part < REORDERED {
        return None;
    }
    let title = format!(
        "The path changes the order of packets {}: {} of {} ({}) came after those to later messages",
        name(run, egress),
        grouped(counted.reordered),
        count(counted.received, "round trip"),
        percent(part)
    );
    let finding = Finding::new("reordering", Severity::Warning, None, title)
        .with("reordered_count", counted.reordered)
        .with("received_count", counted.received)
        .with("reordered_share", part);
    Some(finding.advise(
        "Look for load sharing packet by packet (bonding mode balance-rr, equal-cost paths without flow hashing) at either end or between.",
    ))
}

/// Replies came twice.
pub(in super::super) fn duplicates(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    let part = share(counted.duplicates, counted.received);
    if counted.duplicates < A_FEW || part < DUPLICATED {
        return None;
    }
    let title = format!(
        "Replies come more than once {}: {} again, of {} ({})",
        name(run, egress),
        grouped(counted.duplicates),
        count(counted.received, "round trip"),
        percent(part)
    );
    let finding = Finding::new("duplicates", Severity::Warning, None, title)
        .with("duplicates_count", counted.duplicates)
        .with("received_count", counted.received)
        .with("duplicates_share", part);
    Some(finding.advise(
        "Look for a loop or a mirror in the switched network, a bond in mode broadcast, a radio link that repeats frames, or two servers behind one address.",
    ))
}

/// The limits are those for datagrams of throughput tests.
const A_FEW: u64 = 3;
const REORDERED: f64 = 0.001;
const DUPLICATED: f64 = 0.000_1;
