//! Findings about a device under test, and its verdict. Pure functions of its report, one row each in [`RULES`].

mod forwarding;
mod latency;
mod limits;
mod names;
mod verdict;

use super::{DeviceReport, LoadLimit, RateReport, Setup, StreamReport};
use crate::finding::{Finding, LINE_RATE};
use crate::search::Irregular;
use std::cmp::Reverse;

/// A way to find one reason.
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

/// Fills in a device's findings, the worst first, and its verdict. What stood there is replaced.
pub fn conclude(device: &mut DeviceReport, setup: &Setup) {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| (rule.find)(device, setup)).collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    device.findings = findings;
    device.verdict = verdict::of(device);
}

impl StreamReport {
    /// The rate that stands for this stream: RFC 2544's throughput, or else the no-drop rate, or else the first goal's.
    #[must_use]
    pub fn headline(&self) -> Option<&RateReport> {
        let named = |name: &str| self.rates.iter().find(|rate| rate.goal == name);
        named("throughput").or_else(|| named("ndr")).or_else(|| self.rates.first())
    }

    /// The rate fills the link.
    #[must_use]
    pub fn is_at_line_rate(&self, rate: &RateReport) -> bool {
        let most = self.line_rate.filter(|line| line.0 > 0.0);
        most.zip(rate.lower).is_some_and(|(line, lower)| lower.0 / line.0 >= LINE_RATE)
    }

    /// What other than the device ended the search for this rate; `None` when the device did.
    #[must_use]
    pub fn bound_by(&self, rate: &RateReport) -> Option<LoadLimit> {
        rate.lower.filter(|_| rate.is_least())?;
        let short = rate.irregular.contains(&Irregular::GeneratorLimited);
        Some(match self.limit {
            _ if self.is_at_line_rate(rate) => LoadLimit::LineRate,
            Some(limit) if !short => limit,
            _ => LoadLimit::Generator,
        })
    }

    /// Frames crossed in the flood, or at the most load.
    fn forwards(&self) -> bool {
        let flooded = self.flood.iter().any(|way| way.result.received > 0);
        flooded || self.mrr.as_ref().is_some_and(|mrr| mrr.forwarded.mean > 0.0)
    }
}

/// Rows of which something holds.
fn rows(device: &DeviceReport, holds: impl Fn(&StreamReport) -> bool) -> Vec<&StreamReport> {
    device.rows.iter().filter(|row| holds(row)).collect()
}

#[cfg(test)]
mod tests;
