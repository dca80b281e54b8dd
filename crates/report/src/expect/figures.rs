//! The figures an expectation can name: one row each.

mod frames;
pub(super) mod latency;
mod path;
mod transfer;

use super::quantity::Quantity;
use model::finding::Severity;
use model::latency::{EgressResult, LoadPhase};
use model::limit::LimitKind;
use model::pairs::{PairsDirection, Together};
use model::path::PathDirection;
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::summary::DirectionSummary;
use model::units::Nanos;

/// A figure.
#[derive(Debug)]
pub(super) struct Figure {
    /// Its name, without `up.` and `down.`.
    pub(super) name: &'static str,
    /// What it counts.
    pub(super) quantity: Quantity,
    /// Where it stands.
    pub(super) source: Source,
}

/// Where a figure stands in a run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// In the summary of a direction.
    Direction(fn(&DirectionSummary) -> Option<f64>),
    /// In the packet sizes of a direction.
    Path(fn(&PathDirection) -> Option<f64>),
    /// In the run as a whole.
    Run(fn(&Run) -> Option<f64>),
    /// In a way of a latency run, which is named by its label.
    Labelled(fn(&EgressResult) -> Option<f64>),
    /// In a phase of a run under load.
    Loaded(fn(&LoadPhase) -> Option<f64>),
    /// How often a finding was raised, which is named by its id.
    Finding,
}

impl Figure {
    /// It is named with `up.` or `down.` before it.
    pub(super) fn is_of_a_way(&self) -> bool {
        matches!(self.source, Source::Direction(_) | Source::Path(_))
    }

    /// It is named with `way.` and a label before it.
    pub(super) fn is_labelled(&self) -> bool {
        matches!(self.source, Source::Labelled(_))
    }
}

const fn direction_figure(
    name: &'static str,
    quantity: Quantity,
    of: fn(&DirectionSummary) -> Option<f64>,
) -> Figure {
    Figure { name, quantity, source: Source::Direction(of) }
}

const fn run(name: &'static str, quantity: Quantity, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Run(of) }
}

/// Every figure.
pub(super) fn every_figure() -> impl Iterator<Item = &'static Figure> {
    let kinds = [latency::LATENCY, path::PATH, transfer::TRANSFER, frames::FRAMES];
    FIGURES.iter().chain(kinds.into_iter().flatten())
}

/// Those of streams and probes.
static FIGURES: &[Figure] = &[
    direction_figure("goodput", Quantity::Rate, |w| w.is_arrived_known().then_some(w.goodput.0 as f64)),
    direction_figure("wire", Quantity::Rate, |w| w.wire.rate.map(|rate| rate.0 as f64)),
    direction_figure("packets_per_second", Quantity::Packets, |w| {
        w.wire.packets_per_second.map(|rate| rate.0 as f64)
    }),
    direction_figure("line_rate_share", Quantity::Share, |w| w.wire.line_rate_share),
    direction_figure("bytes", Quantity::Size, |w| w.is_arrived_known().then_some(w.received.bytes.0 as f64)),
    direction_figure("loss", Quantity::Share, |w| w.loss.map(|loss| loss.share)),
    direction_figure("loss.path", Quantity::Count, |w| w.loss.map(|loss| loss.path as f64)),
    direction_figure("loss.receiver", Quantity::Count, |w| w.loss.map(|loss| loss.receiver as f64)),
    direction_figure("loss.sender", Quantity::Count, |w| w.loss.map(|loss| loss.sender as f64)),
    direction_figure("reordered", Quantity::Count, |w| w.reordered.map(|count| count as f64)),
    direction_figure("duplicates", Quantity::Count, |w| w.duplicates.map(|count| count as f64)),
    direction_figure("jitter", Quantity::Time, |w| w.jitter.map(|jitter| nanos(jitter.rfc3550))),
    direction_figure("jitter.p50", Quantity::Time, |w| jitter(w, |d| d.p50)),
    direction_figure("jitter.p99", Quantity::Time, |w| jitter(w, |d| d.p99)),
    direction_figure("jitter.max", Quantity::Time, |w| jitter(w, |d| d.max)),
    direction_figure("one_way.min", Quantity::Time, |w| w.one_way.map(|delay| nanos(delay.min))),
    direction_figure("one_way.mean", Quantity::Time, |w| w.one_way.map(|delay| nanos(delay.mean))),
    direction_figure("one_way.max", Quantity::Time, |w| w.one_way.map(|delay| nanos(delay.max))),
    direction_figure("retransmits", Quantity::Count, |w| w.retransmits.map(|count| count as f64)),
    direction_figure("loaded_rtt", Quantity::Time, |w| w.loaded_rtt.map(nanos)),
    direction_figure("mss", Quantity::Size, |w| w.mss.map(f64::from)),
    direction_figure("limit", Quantity::Limit, limit_kind),
    direction_figure("limit.kind", Quantity::Limit, limit_kind),
    direction_figure("limit.rate", Quantity::Rate, |w| Some(w.limit.as_ref()?.rate?.0 as f64)),
    direction_figure("limit.packets", Quantity::Packets, |w| Some(w.limit.as_ref()?.packets?.0 as f64)),
    direction_figure("limit.queue", Quantity::Time, |w| Some(nanos(w.limit.as_ref()?.queue?))),
    direction_figure("limit.burst", Quantity::Size, |w| Some(w.limit.as_ref()?.burst?.0 as f64)),
    direction_figure("limit.hop", Quantity::Count, |w| w.limit.as_ref()?.place?.link().map(f64::from)),
    direction_figure("limit.per_flow", Quantity::Count, |w| {
        w.limit.as_ref()?.per_flow.map(|each| f64::from(u8::from(each)))
    }),
    direction_figure("limit.confidence", Quantity::Confidence, |w| {
        Some(f64::from(w.limit.as_ref()?.confidence as u8))
    }),
    direction_figure("cpu.sender", Quantity::Share, |w| w.cpu.sender.as_ref().map(|cpu| cpu.process)),
    direction_figure("cpu.receiver", Quantity::Share, |w| w.cpu.receiver.as_ref().map(|cpu| cpu.process)),
    run("rtt.min", Quantity::Time, |r| rtt(r, |d| d.least())),
    run("rtt.mean", Quantity::Time, |r| rtt(r, |d| Some(d.mean))),
    run("rtt.p50", Quantity::Time, |r| rtt(r, |d| d.median())),
    run("rtt.p90", Quantity::Time, |r| percentile(r, 90.0, |d| d.p90)),
    run("rtt.p99", Quantity::Time, |r| percentile(r, 99.0, |d| d.p99)),
    run("rtt.p999", Quantity::Time, |r| percentile(r, 99.9, |d| d.p999)),
    run("rtt.stddev", Quantity::Time, |r| rtt(r, |d| d.deviation())),
    run("rtt.p9999", Quantity::Time, |r| percentile(r, 99.99, |d| d.p9999)),
    run("rtt.max", Quantity::Time, |r| rtt(r, |d| d.longest())),
    run("lost", Quantity::Count, lost),
    run("hops.count", Quantity::Count, |r| r.summary.hops.as_ref()?.far_end().map(|hop| f64::from(hop.ttl))),
    run("hops.loss", Quantity::Share, hop_loss),
    run("hops.rtt.p50", Quantity::Time, |r| {
        r.summary.hops.as_ref()?.far_end()?.rtt.map(|rtt| nanos(rtt.p50))
    }),
    run("hops.rtt.p90", Quantity::Time, |r| {
        r.summary.hops.as_ref()?.far_end()?.rtt.map(|rtt| nanos(rtt.p90))
    }),
    run("problems", Quantity::Count, |r| findings(r, Severity::Problem)),
    run("warnings", Quantity::Count, |r| findings(r, Severity::Warning)),
    run("findings", Quantity::Count, |r| Some(r.findings.len() as f64)),
    run("verdict", Quantity::Verdict, |r| Some(f64::from(r.verdict.status as u8))),
    Figure { name: super::scope::FINDING, quantity: Quantity::Count, source: Source::Finding },
    run("pairs.up.goodput", Quantity::Rate, |r| pairs(r, |sum| sum.up)),
    run("pairs.down.goodput", Quantity::Rate, |r| pairs(r, |sum| sum.down)),
    run("pairs.overlap", Quantity::Share, |r| r.summary.pairs.as_ref().map(|pairs| pairs.overlap_share)),
];

/// The kind of the limit, by its place among all.
fn limit_kind(direction: &DirectionSummary) -> Option<f64> {
    let kind = direction.limit.as_ref()?.kind;
    LimitKind::ALL.iter().position(|one| *one == kind).map(|place| place as f64)
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

fn nanos(time: Nanos) -> f64 {
    time.0 as f64
}

fn jitter(direction: &DirectionSummary, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    direction.jitter?.distribution.map(|distribution| nanos(of(&distribution)))
}

/// Of probes, or of all ways.
fn lost(run: &Run) -> Option<f64> {
    latency::total(run, |direction| direction.counted.lost)
        .or_else(|| run.summary.rtt.map(|_| run.summary.lost as f64))
}

fn rtt(run: &Run, of: fn(&Distribution) -> Option<Nanos>) -> Option<f64> {
    latency::time_of(run.summary.rtt, 0, of)
}

/// Of a latency run, whose percentiles take so many round trips; of `measure`, which has few, the longest is taken for what
/// they cannot carry.
fn percentile(run: &Run, percent: f64, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    match run.summary.egress_paths.is_empty() {
        true => run
            .summary
            .rtt
            .filter(|rtt| rtt.count > 0 && rtt.standing(percent) != Standing::NotGiven)
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

#[cfg(test)]
mod tests;
