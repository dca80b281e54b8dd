//! Whether a topology showed what it expects.

use super::path::{has_jitter, place, shaped};
use super::testbed::Testbed;
use lab::topology::Topology;
use model::framing::Network;
use model::lab::{Expectation, LabTest, Series, Variant};
use model::plan::Direction;
use model::stats::quantile::median;
use model::units::{BitRate, Nanos};

/// Every expectation of the topology and the measured value; `complete`: whether findings of every kind of test were possible.
pub(super) fn judge(topology: &Topology, testbed: &Testbed, complete: bool) -> Vec<Expectation> {
    if testbed.lab.is_none() {
        return Vec::new();
    }
    let mut all = reachable(topology, testbed);
    all.extend(path_mtu(topology, &testbed.variant));
    all.extend(rate(topology, &testbed.variant));
    all.extend(delay(topology, &testbed.variant));
    all.extend(loss(topology, &testbed.variant));
    all.extend(findings(topology, &testbed.variant, complete));
    all
}

fn reachable(topology: &Topology, testbed: &Testbed) -> Vec<Expectation> {
    let families = FAMILIES.into_iter().zip(topology.expect.reachable).zip(testbed.answered);
    families
        .filter_map(|((family, expected), answered)| {
            let word = |answers: bool| if answers { "answers" } else { "does not answer" };
            let answered = answered?;
            Some(Expectation {
                what: format!("the far end, {family}"),
                expected: word(expected).into(),
                found: word(answered).into(),
                held: Some(answered == expected),
            })
        })
        .collect()
}

fn path_mtu(topology: &Topology, variant: &Variant) -> Vec<Expectation> {
    let mut all = Vec::new();
    for (family, expected) in FAMILIES.into_iter().zip(topology.expect.path_mtu) {
        for direction in Direction::BOTH {
            let Some(expected) = expected.map(|both| both[place(direction)]) else { continue };
            let Some(series) = series(variant, family, LabTest::Mtu, direction) else { continue };
            let found = series.runs.iter().rev().find_map(|run| run.path_mtu);
            all.push(Expectation {
                what: format!("path MTU {direction}, {family}"),
                expected: expected.to_string(),
                found: found.map_or_else(|| "unknown".into(), |mtu| mtu.to_string()),
                held: Some(found == Some(expected)),
            });
        }
    }
    all
}

/// The frames on the shaped link while UDP filled it; TCP, which takes its time to, only where there was no UDP.
fn rate(topology: &Topology, variant: &Variant) -> Vec<Expectation> {
    let Some(rates) = topology.expect.rate else { return Vec::new() };
    let mut all = Vec::new();
    let has_udp = variant.series.iter().any(|one| one.test == LabTest::Udp);
    let fills = if has_udp { LabTest::Udp } else { LabTest::Tcp };
    for one_way in Direction::BOTH {
        let expected = rates[place(one_way)];
        let counted = shaped(topology)[place(one_way)].is_some();
        for series in variant.series.iter().filter(|one| one.direction == Some(one_way) && one.test == fills)
        {
            let found: Vec<f64> =
                series.runs.iter().filter_map(|run| run.shaped).map(|rate| rate.0 as f64).collect();
            let found = median(&found);
            let off = found.map(|found| found / expected.0 as f64 - 1.0);
            all.push(Expectation {
                what: format!("{RATE_OF_LINK} {one_way}, {} over {}", series.test, series.family),
                expected: format!("{expected} ± 3 %"),
                found: found.map_or_else(|| "not counted".into(), |rate| BitRate(rate as u64).to_string()),
                held: off.filter(|_| counted).map(|off| off.abs() <= RATE),
            });
        }
    }
    all
}

/// The delay that the links add to the round trip: the least one without jitter, the median with it. The hosts' own part is within
/// the tolerance.
fn delay(topology: &Topology, variant: &Variant) -> Vec<Expectation> {
    let Some(expected) = topology.expect.delay else { return Vec::new() };
    let jitter = has_jitter(topology);
    let trips = variant.series.iter().filter(|one| one.test == LabTest::Latency && one.direction.is_none());
    trips
        .map(|series| {
            let trip = |run: &model::lab::Repetition| if jitter { run.rtt_p50 } else { run.rtt_min };
            let found = series.runs.iter().filter_map(trip).min();
            let off = found.map(|found| found.0.abs_diff(expected.0));
            Expectation {
                what: format!("{DELAY_ADDED}, {}", series.family),
                expected: format!("{expected} ± 0.2 ms"),
                found: found.map_or_else(|| "not measured".into(), |time| time.to_string()),
                held: off.map(|off| Nanos(off) <= DELAY),
            }
        })
        .collect()
}

/// Datagrams that the path itself lost, with what chance allows: a binomial count strays so far once in 10,000 times.
fn loss(topology: &Topology, variant: &Variant) -> Vec<Expectation> {
    let Some(shares) = topology.expect.loss else { return Vec::new() };
    let mut all = Vec::new();
    for series in variant.series.iter().filter(|one| one.test == LabTest::Loss) {
        let Some(one_way) = series.direction else { continue };
        let share = shares[place(one_way)];
        let sent: u64 = series.runs.iter().filter_map(|run| run.sent).sum();
        let lost: u64 = series.runs.iter().filter_map(|run| run.lost).sum();
        let stray = stray(share, sent);
        let found = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
        all.push(Expectation {
            what: format!("loss {one_way}, {}", series.family),
            expected: format!("{:.2} % ± {:.2} %", share * 100.0, stray * 100.0),
            found: format!("{:.2} % of {sent}", found * 100.0),
            held: (sent > 0).then_some((found - share).abs() <= stray),
        });
    }
    all
}

/// The deviation of the share of a binomial count, plus half a count for rounding.
fn stray(share: f64, count: u64) -> f64 {
    let count = (count as f64).max(1.0);
    DEVIATIONS * (share * (1.0 - share) / count).sqrt() + 0.5 / count
}

fn findings(topology: &Topology, variant: &Variant, complete: bool) -> Vec<Expectation> {
    let raised = |id: &str| variant.findings.iter().any(|one| one.finding.id == id);
    let word = |raised: bool| if raised { "raised" } else { "not raised" };
    let wanted = topology.expect.findings.iter().map(|id| (id, true));
    let unwanted = topology.expect.absent.iter().map(|id| (id, false));
    wanted
        .chain(unwanted)
        .map(|(id, expected)| {
            let found = raised(id);
            // A finding that was not looked for cannot be missing; one that was found counts.
            let is_known = complete || found;
            Expectation {
                what: format!("finding {id}"),
                expected: word(expected).into(),
                found: if is_known { word(found) } else { "not measured" }.into(),
                held: is_known.then_some(found == expected),
            }
        })
        .collect()
}

fn series(variant: &Variant, family: Network, test: LabTest, one_way: Direction) -> Option<&Series> {
    variant.series.iter().find(|one| (one.family, one.test, one.direction) == (family, test, Some(one_way)))
}

/// Beginning of expectations of a rate.
pub(super) const RATE_OF_LINK: &str = "rate of the link";
/// Beginning of expectations of a delay.
pub(super) const DELAY_ADDED: &str = "delay";
const FAMILIES: [Network; 2] = [Network::V4, Network::V6];
const RATE: f64 = 0.03;
const DELAY: Nanos = Nanos::from_micros(200);
/// Standard deviations of a normal distribution, in both directions.
const DEVIATIONS: f64 = 3.9;

#[cfg(test)]
mod tests;
