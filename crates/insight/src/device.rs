//! Findings about a device under test, and its verdict. Pure functions of its report, one row each in [`RULES`].

mod forwarding;
mod kinds;
mod latency;
mod limits;
mod names;
mod random;
mod verdict;

use model::dut::{DeviceReport, Setup, StreamReport};
use model::finding::Finding;
use std::cmp::Reverse;

/// A rule that finds one reason.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable name of what it finds.
    pub id: &'static str,
    /// Finds it in a device's figures, at most once for each direction.
    pub find: fn(&DeviceReport, &Setup) -> Vec<Finding>,
}

/// Every rule; of equally bad findings the earlier comes first.
pub const RULES: &[Rule] = &[
    Rule { id: "no-forwarding", find: forwarding::no_forwarding },
    Rule { id: "device-loses-at-low-rate", find: forwarding::loses_at_low_rate },
    Rule { id: "random-loss", find: random::random_loss },
    Rule { id: "service-failed", find: verdict::service_failed },
    Rule { id: "host-noise", find: limits::host_noise },
    Rule { id: "shares-cpu", find: limits::shares_cpu },
    Rule { id: "generator-bound", find: limits::generator_bound },
    Rule { id: "search-unfinished", find: limits::unfinished },
    Rule { id: "overload-collapse", find: forwarding::overload_collapse },
    Rule { id: "loss-inversion", find: forwarding::loss_inversion },
    Rule { id: "duplicates", find: forwarding::duplicates },
    Rule { id: "reordering", find: forwarding::reordering },
    Rule { id: "direction-asymmetric", find: forwarding::asymmetric },
    Rule { id: "latency-cliff", find: latency::cliff },
    Rule { id: "at-line-rate", find: limits::at_line_rate },
];

/// Fills in a device's findings, the worst first, and its verdict. Earlier values are replaced.
pub fn conclude(device: &mut DeviceReport, setup: &Setup) {
    kinds::fill(device, setup);
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.find)(device, setup)).collect();
    if limits::is_spoilt(device) {
        // A disturbance of the host is not the device's fault.
        findings.retain(|finding| OF_THE_HOST.contains(&finding.id.as_str()));
    }
    if findings.iter().any(|finding| finding.id == "random-loss") {
        // Findings of this kind follow from random loss, and not from the cause that they name.
        findings.retain(|finding| !OF_CHANCE.contains(&finding.id.as_str()));
    }
    findings.sort_by_key(|finding| Reverse(finding.severity));
    device.findings = findings;
    device.verdict = verdict::device_verdict(device, setup);
}

/// Findings that hold of a device whose trials the host spoilt.
const OF_THE_HOST: [&str; 4] = ["no-forwarding", "host-noise", "shares-cpu", "search-unfinished"];

/// Findings about a search for a rate without loss, which is chance where every rate loses.
const OF_CHANCE: [&str; 4] =
    ["device-loses-at-low-rate", "generator-bound", "search-unfinished", "loss-inversion"];

/// Rows of which something holds.
fn rows(device: &DeviceReport, holds: impl Fn(&StreamReport) -> bool) -> Vec<&StreamReport> {
    device.rows.iter().filter(|row| holds(row)).collect()
}

#[cfg(test)]
mod tests;
