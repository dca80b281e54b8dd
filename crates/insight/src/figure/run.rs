//! Figures of a run as a whole: round trips, hops, what was found, and several sessions at once.

use super::Quantity::{Count, Rate, Share, Time, Verdict};
use super::{FINDING, Figure, Get, Names, Note, Scope, Source, figure, latency, nanos, whole};
use model::finding::Severity;
use model::pairs::{PairsDirection, Together};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::units::Nanos;

const fn rtt(names: Names, get: Get<Run>, note: Note) -> Figure {
    whole(names, Time, get, note).lower().within(Scope::RoundTrips)
}

/// Every figure of a run as a whole.
#[rustfmt::skip]
pub(super) static RUN: &[Figure] = &[
    rtt(("rtt.min", "RTT, shortest"), |r| time(r, |all| all.least()), "shortest round trip"),
    rtt(("rtt.mean", "RTT, mean"), |r| time(r, |all| Some(all.mean)), "mean of the round trips"),
    rtt(("rtt.p50", "RTT"), |r| time(r, |all| all.median()), "median of the round trips").listed(7),
    rtt(("rtt.p90", "RTT, p90"), |r| percentile(r, 90.0, |all| all.p90), "90th percentile of the round trips"),
    rtt(("rtt.p99", "RTT, p99"), |r| percentile(r, 99.0, |all| all.p99), "99th percentile").listed(8),
    rtt(("rtt.p999", "RTT, p99.9"), |r| percentile(r, 99.9, |all| all.p999), "99.9th percentile, also written `rtt.p99.9`"),
    rtt(("rtt.stddev", "RTT, deviation"), |r| time(r, |all| all.deviation()), "standard deviation of the round trips"),
    rtt(("rtt.p9999", "RTT, p99.99"), |r| percentile(r, 99.99, |all| all.p9999), "99.99th percentile"),
    rtt(("rtt.max", "RTT, longest"), |r| time(r, |all| all.longest()), "longest round trip"),
    whole(("lost", "lost"), Count, lost, "messages without an answer").lower().within(Scope::RoundTrips),
    whole(("hops.count", "hops"), Count, |r| r.summary.hops.as_ref()?.far_end().map(|hop| f64::from(hop.ttl)),
        "hops to the far end").lower().within(Scope::Hops).listed(17),
    whole(("hops.loss", "lost to the far end"), Share, hop_loss,
        "share of the probes of the far end that were lost").lower().within(Scope::Hops),
    whole(("hops.rtt.p50", "RTT of the far end"), Time, |r| far_end(r, |all| all.p50),
        "median round trip of the far end").lower().within(Scope::Hops).listed(18),
    whole(("hops.rtt.p90", "RTT of the far end, p90"), Time, |r| far_end(r, |all| all.p90),
        "its 90th percentile").lower().within(Scope::Hops),
    whole(("problems", "problems"), Count, |r| findings(r, Severity::Problem), "findings that are problems").lower(),
    whole(("warnings", "warnings"), Count, |r| findings(r, Severity::Warning), "findings that are warnings").lower(),
    whole(("findings", "findings"), Count, |r| Some(r.findings.len() as f64), "findings of any severity").lower(),
    whole(("verdict", "verdict"), Verdict, |r| Some(f64::from(r.verdict.status as u8)),
        "`ok`, `degraded`, `broken`, `problem` or `void`, in this order").lower(),
    figure((FINDING, "findings of an id"), Count, Source::Finding,
        "findings of this id, such as `finding.path-loss`").lower(),
    whole(("pairs.up.goodput", "sum of the pairs, up"), Rate, |r| pairs(r, |sum| sum.up),
        "sum of the sessions, to the far end").higher().within(Scope::Pairs).listed(4),
    whole(("pairs.down.goodput", "sum of the pairs, down"), Rate, |r| pairs(r, |sum| sum.down),
        "sum of the sessions, from the far end").higher().within(Scope::Pairs).listed(5),
    whole(("pairs.overlap", "overlap of the pairs"), Share, |r| r.summary.pairs.as_ref().map(|pairs| pairs.overlap_share),
        "share of the time in which all sessions ran").within(Scope::Pairs),
];

fn far_end(run: &Run, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    run.summary.hops.as_ref()?.far_end()?.rtt.map(|rtt| nanos(of(&rtt)))
}

/// Packets to the far end that are lost; not known where its answers may be limited.
fn hop_loss(run: &Run) -> Option<f64> {
    let (counted, limited) = run.summary.hops.as_ref()?.evidence()?;
    counted.loss().filter(|_| !limited)
}

/// The sum of the pairs, one way.
fn pairs(run: &Run, direction: fn(&Together) -> Option<PairsDirection>) -> Option<f64> {
    let sum = run.summary.pairs.as_ref()?.together.as_ref()?;
    direction(sum).map(|direction| direction.goodput.0 as f64)
}

/// Lost probes, or the lost messages of all paths.
fn lost(run: &Run) -> Option<f64> {
    latency::total(run, |direction| direction.counted.lost)
        .or_else(|| run.summary.rtt.map(|_| run.summary.lost as f64))
}

fn time(run: &Run, of: fn(&Distribution) -> Option<Nanos>) -> Option<f64> {
    latency::time_of(run.summary.rtt, 0, of)
}

/// A percentile of a latency run takes so many round trips; in `measure`, which has few, the longest stands for what they cannot
/// carry. One that messages without a reply reach is a bound alone.
fn percentile(run: &Run, percent: f64, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    match run.summary.egress_paths.is_empty() {
        true => run
            .summary
            .rtt
            .filter(|rtt| rtt.count > 0)
            .filter(|rtt| matches!(rtt.standing(percent), Standing::Known | Standing::TooFew))
            .map(|rtt| nanos(of(&rtt))),
        false => match run.summary.egress_paths.as_slice() {
            [egress] => latency::of_path(egress, percent, of),
            _ => latency::carried(run.summary.rtt, percent, of),
        },
    }
}

fn findings(run: &Run, severity: Severity) -> Option<f64> {
    let count = run.findings.iter().filter(|finding| finding.severity == severity).count();
    Some(count as f64)
}
