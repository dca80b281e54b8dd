//! Figures of round trips: of a run, of a way by its label, and of a phase under load.

use super::super::quantity::Quantity;
use super::{Figure, Source, nanos};
use model::latency::{EgressResult, LoadPhase, OneWayDelays};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::units::Nanos;

const fn run(name: &'static str, quantity: Quantity, of: fn(&Run) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Run(of) }
}

const fn egress_figure(
    name: &'static str,
    quantity: Quantity,
    of: fn(&EgressResult) -> Option<f64>,
) -> Figure {
    Figure { name, quantity, source: Source::Labelled(of) }
}

const fn phase(name: &'static str, quantity: Quantity, of: fn(&LoadPhase) -> Option<f64>) -> Figure {
    Figure { name, quantity, source: Source::Loaded(of) }
}

/// Every figure of round trips.
pub(in super::super) static LATENCY: &[Figure] = &[
    run("late", Quantity::Count, |r| total(r, |w| w.counted.late)),
    run("reordered", Quantity::Count, |r| total(r, |w| w.counted.reordered)),
    run("duplicates", Quantity::Count, |r| total(r, |w| w.counted.duplicates)),
    run("tool_floor.min", Quantity::Time, |r| r.summary.tool_floor.map(|d| nanos(d.min))),
    run("tool_floor.p50", Quantity::Time, |r| r.summary.tool_floor.map(|d| nanos(d.p50))),
    run("tool_floor.p99", Quantity::Time, |r| r.summary.tool_floor.map(|d| nanos(d.p99))),
    run("one_way.error", Quantity::Time, |r| r.summary.one_way_delays.as_ref().map(|d| nanos(d.error))),
    run("one_way.up.min", Quantity::Time, |r| up(r, |d| d.min)),
    run("one_way.up.p50", Quantity::Time, |r| up(r, |d| d.p50)),
    run("one_way.up.max", Quantity::Time, |r| up(r, |d| d.max)),
    run("one_way.down.min", Quantity::Time, |r| down(r, |d| d.min)),
    run("one_way.down.p50", Quantity::Time, |r| down(r, |d| d.p50)),
    run("one_way.down.max", Quantity::Time, |r| down(r, |d| d.max)),
    run("steal", Quantity::Share, |r| r.summary.noise.map(|noise| noise.steal_share)),
    egress_figure("rtt.min", Quantity::Time, |w| time_of(w.rtt, 1, |d| d.least())),
    egress_figure("rtt.mean", Quantity::Time, |w| time_of(w.rtt, 1, |d| Some(d.mean))),
    egress_figure("rtt.stddev", Quantity::Time, |w| time_of(w.rtt, 2, |d| d.deviation())),
    egress_figure("rtt.p50", Quantity::Time, |w| time_of(w.rtt, 1, |d| d.median())),
    egress_figure("rtt.p90", Quantity::Time, |w| of_path(w, 90.0, |d| d.p90)),
    egress_figure("rtt.p99", Quantity::Time, |w| of_path(w, 99.0, |d| d.p99)),
    egress_figure("rtt.p999", Quantity::Time, |w| of_path(w, 99.9, |d| d.p999)),
    egress_figure("rtt.p9999", Quantity::Time, |w| of_path(w, 99.99, |d| d.p9999)),
    egress_figure("rtt.max", Quantity::Time, |w| time_of(w.rtt, 1, |d| d.longest())),
    egress_figure("sent", Quantity::Count, |w| Some(w.counted.sent as f64)),
    egress_figure("lost", Quantity::Count, |w| Some(w.counted.lost as f64)),
    egress_figure("loss", Quantity::Share, |w| share(w.counted.lost, w.counted.asked)),
    egress_figure("late", Quantity::Count, |w| Some(w.counted.late as f64)),
    egress_figure("reordered", Quantity::Count, |w| Some(w.counted.reordered as f64)),
    egress_figure("duplicates", Quantity::Count, |w| Some(w.counted.duplicates as f64)),
    egress_figure("received_rate", Quantity::Packets, |w| w.received_rate.map(|rate| rate.0 as f64)),
    phase("rtt.min", Quantity::Time, |p| time_of(p.rtt, 1, |d| d.least())),
    phase("rtt.mean", Quantity::Time, |p| time_of(p.rtt, 1, |d| Some(d.mean))),
    phase("rtt.p50", Quantity::Time, |p| time_of(p.rtt, 1, |d| d.median())),
    phase("rtt.p90", Quantity::Time, |p| carried(p.rtt, 90.0, |d| d.p90)),
    phase("rtt.p99", Quantity::Time, |p| carried(p.rtt, 99.0, |d| d.p99)),
    phase("rtt.max", Quantity::Time, |p| time_of(p.rtt, 1, |d| d.longest())),
    phase("rpm", Quantity::Count, |p| p.responsiveness.map(|figure| figure.rpm)),
    phase("lost", Quantity::Count, |p| Some(p.lost as f64)),
    phase("loss", Quantity::Share, |p| share(p.lost, p.sent)),
    phase("up", Quantity::Rate, |p| p.up.map(|rate| rate.0 as f64)),
    phase("down", Quantity::Rate, |p| p.down.map(|rate| rate.0 as f64)),
];

/// A time of so many values at least.
pub(super) fn time_of(
    rtt: Option<Distribution>,
    least: u64,
    of: fn(&Distribution) -> Option<Nanos>,
) -> Option<f64> {
    rtt.filter(|rtt| rtt.count >= least).and_then(|rtt| of(&rtt)).map(nanos)
}

/// A percentile that so many values carry, and that no message reaches that never came back.
pub(super) fn carried(
    rtt: Option<Distribution>,
    percent: f64,
    of: fn(&Distribution) -> Nanos,
) -> Option<f64> {
    rtt?.known(percent, of).map(nanos)
}

/// The same of a path, unless this host spoiled it.
pub(super) fn of_path(egress: &EgressResult, percent: f64, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    let known = egress.standing(percent) == Standing::Known;
    egress.rtt.filter(|_| known).map(|rtt| nanos(of(&rtt)))
}

/// The least that a percentile can be, of which no more is known.
pub(in super::super) fn least(rtt: Option<Distribution>, name: &str) -> Option<f64> {
    let rtt = rtt?;
    let (_, percent, of) = PERCENTILES.iter().find(|(figure, ..)| *figure == name)?;
    (rtt.standing(*percent) == Standing::AtLeast).then(|| nanos(of(&rtt)))
}

type Of = fn(&Distribution) -> Nanos;

const PERCENTILES: [(&str, f64, Of); 5] = [
    ("rtt.p50", 50.0, |rtt| rtt.p50),
    ("rtt.p90", 90.0, |rtt| rtt.p90),
    ("rtt.p99", 99.0, |rtt| rtt.p99),
    ("rtt.p999", 99.9, |rtt| rtt.p999),
    ("rtt.p9999", 99.99, |rtt| rtt.p9999),
];

/// Over all ways; nothing of a run without ways.
pub(super) fn total(run: &Run, of: fn(&EgressResult) -> u64) -> Option<f64> {
    let egress_paths = &run.summary.egress_paths;
    (!egress_paths.is_empty()).then(|| egress_paths.iter().map(|egress| of(egress) as f64).sum())
}

fn up(run: &Run, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    delays(run)?.up.map(|delay| nanos(of(&delay)))
}

fn down(run: &Run, of: fn(&Distribution) -> Nanos) -> Option<f64> {
    delays(run)?.down.map(|delay| nanos(of(&delay)))
}

fn delays(run: &Run) -> Option<&OneWayDelays> {
    run.summary.one_way_delays.as_ref()
}

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}
