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
use model::plan::Direction;
use std::cmp::Reverse;

/// A rule that finds one reason.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The stable name of what it finds.
    pub id: &'static str,
    find: Find,
}

/// How a rule finds its reason in a device's figures.
#[derive(Clone, Copy, Debug)]
enum Find {
    Once(fn(&DeviceReport, &Setup) -> Option<Finding>),
    InDirection(fn(&DeviceReport, Direction) -> Option<Finding>),
}

impl Rule {
    fn findings(&self, device: &DeviceReport, setup: &Setup) -> Vec<Finding> {
        match self.find {
            Find::Once(find) => find(device, setup).into_iter().collect(),
            Find::InDirection(find) => {
                Direction::BOTH.into_iter().filter_map(|direction| find(device, direction)).collect()
            }
        }
    }
}

/// Every rule; of equally bad findings the earlier comes first.
pub const RULES: &[Rule] = &[
    Rule { id: "no-forwarding", find: Find::InDirection(forwarding::no_forwarding) },
    Rule { id: "device-loses-at-low-rate", find: Find::Once(forwarding::loses_at_low_rate) },
    Rule { id: "random-loss", find: Find::Once(random::random_loss) },
    Rule { id: "service-failed", find: Find::Once(verdict::service_failed) },
    Rule { id: "host-noise", find: Find::Once(limits::host_noise) },
    Rule { id: "shares-cpu", find: Find::Once(limits::shares_cpu) },
    Rule { id: "generator-bound", find: Find::Once(limits::generator_bound) },
    Rule { id: "search-unfinished", find: Find::Once(limits::unfinished) },
    Rule { id: "overload-collapse", find: Find::Once(forwarding::overload_collapse) },
    Rule { id: "loss-inversion", find: Find::Once(forwarding::loss_inversion) },
    Rule { id: "duplicates", find: Find::Once(forwarding::duplicates) },
    Rule { id: "reordering", find: Find::InDirection(forwarding::reordering) },
    Rule { id: "direction-asymmetric", find: Find::Once(forwarding::asymmetric) },
    Rule { id: "latency-cliff", find: Find::Once(latency::cliff) },
    Rule { id: "at-line-rate", find: Find::Once(limits::at_line_rate) },
];

/// Fills in a device's findings, the worst first, and its verdict. Earlier values are replaced.
pub fn conclude(device: &mut DeviceReport, setup: &Setup) {
    kinds::fill(device, setup);
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule.findings(device, setup)).collect();
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

/// Rows of which something holds; `None` where there is no such row.
fn rows(device: &DeviceReport, holds: impl Fn(&StreamReport) -> bool) -> Option<Vec<&StreamReport>> {
    let rows: Vec<&StreamReport> = device.rows.iter().filter(|row| holds(row)).collect();
    (!rows.is_empty()).then_some(rows)
}

#[cfg(test)]
mod tests;
