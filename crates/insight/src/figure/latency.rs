//! Figures of round trips: of a run, of a path by its label, and of a phase under load.

use super::Quantity::{self, Count, Packets, Rate, Share, Time};
use super::{Figure, Get, Names, Note, Scope, Source, figure, nanos, whole};
use model::latency::{EgressResult, LoadPhase, OneWayDelays};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::percentile::Standing;
use model::units::Nanos;

const fn trips(names: Names, quantity: Quantity, get: Get<Run>, note: Note) -> Figure {
    whole(names, quantity, get, note).lower().within(Scope::Latency)
}

const fn egress(names: Names, quantity: Quantity, get: Get<EgressResult>, note: Note) -> Figure {
    figure(names, quantity, Source::Labelled(get), note).within(Scope::Egress)
}

const fn phase(names: Names, quantity: Quantity, get: Get<LoadPhase>, note: Note) -> Figure {
    figure(names, quantity, Source::Loaded(get), note).within(Scope::Load)
}

/// Every figure of round trips.
#[rustfmt::skip]
pub(super) static LATENCY: &[Figure] = &[
    trips(("late", "late"), Count, |r| total(r, |e| e.counted.late), "replies that came too late to be measured"),
    trips(("reordered", "reordered"), Count, |r| total(r, |e| e.counted.reordered),
        "replies that came after one to a later message"),
    trips(("duplicates", "duplicates"), Count, |r| total(r, |e| e.counted.duplicates), "replies that had come before"),
    trips(("tool_floor.min", "tool's floor, shortest"), Time, |r| r.summary.tool_floor.map(|all| nanos(all.min)),
        "shortest round trip of this program with itself, over loopback"),
    trips(("tool_floor.p50", "tool's floor"), Time, |r| r.summary.tool_floor.map(|all| nanos(all.p50)), "median of these"),
    trips(("tool_floor.p99", "tool's floor, p99"), Time, |r| r.summary.tool_floor.map(|all| nanos(all.p99)),
        "99th percentile of these"),
    trips(("one_way.error", "error of one-way delays"), Time, |r| r.summary.one_way_delays.as_ref().map(|all| nanos(all.error)),
        "bound of the clocks' error"),
    trips(("one_way.up.min", "one-way delay up, shortest"), Time, |r| up(r, |all| all.min),
        "shortest one-way delay to the far end"),
    trips(("one_way.up.p50", "one-way delay up"), Time, |r| up(r, |all| all.p50), "median of these"),
    trips(("one_way.up.max", "one-way delay up, longest"), Time, |r| up(r, |all| all.max), "longest of these"),
    trips(("one_way.down.min", "one-way delay down, shortest"), Time, |r| down(r, |all| all.min),
        "shortest one-way delay from the far end"),
    trips(("one_way.down.p50", "one-way delay down"), Time, |r| down(r, |all| all.p50), "median of these"),
    trips(("one_way.down.max", "one-way delay down, longest"), Time, |r| down(r, |all| all.max), "longest of these"),
    trips(("steal", "CPU steal"), Share, |r| r.summary.noise.map(|noise| noise.steal_share),
        "share of the CPUs' time that the hypervisor gave to others"),
    egress(("rtt.min", "RTT, shortest"), Time, |e| time_of(e.rtt, 1, |all| all.least()), "shortest round trip").lower(),
    egress(("rtt.mean", "RTT, mean"), Time, |e| time_of(e.rtt, 1, |all| Some(all.mean)), "mean of the round trips").lower(),
    egress(("rtt.stddev", "RTT, deviation"), Time, |e| time_of(e.rtt, 2, |all| all.deviation()),
        "standard deviation of the round trips").lower(),
    egress(("rtt.p50", "RTT"), Time, |e| time_of(e.rtt, 1, |all| all.median()), "median of the round trips").lower().listed(1),
    egress(("rtt.p90", "RTT, p90"), Time, |e| of_path(e, 90.0, |all| all.p90), "90th percentile of the round trips").lower(),
    egress(("rtt.p99", "RTT, p99"), Time, |e| of_path(e, 99.0, |all| all.p99), "99th percentile").lower().listed(2),
    egress(("rtt.p999", "RTT, p99.9"), Time, |e| of_path(e, 99.9, |all| all.p999), "99.9th percentile").lower(),
    egress(("rtt.p9999", "RTT, p99.99"), Time, |e| of_path(e, 99.99, |all| all.p9999), "99.99th percentile").lower(),
    egress(("rtt.max", "RTT, longest"), Time, |e| time_of(e.rtt, 1, |all| all.longest()), "longest round trip").lower(),
    egress(("sent", "sent"), Count, |e| Some(e.counted.sent as f64), "messages sent"),
    egress(("lost", "lost"), Count, |e| Some(e.counted.lost as f64), "messages without a reply").lower(),
    egress(("loss", "lost"), Share, |e| share(e.counted.lost, e.counted.asked),
        "the same as a share of the messages that requested a reply").lower(),
    egress(("late", "late"), Count, |e| Some(e.counted.late as f64), "replies that came too late to be measured").lower(),
    egress(("reordered", "reordered"), Count, |e| Some(e.counted.reordered as f64),
        "replies that came after one to a later message").lower(),
    egress(("duplicates", "duplicates"), Count, |e| Some(e.counted.duplicates as f64), "replies that had come before").lower(),
    egress(("received_rate", "received"), Packets, |e| e.received_rate.map(|rate| rate.0 as f64),
        "messages per second that the far end received (`--mode throughput`)").higher(),
    phase(("rtt.min", "RTT, shortest"), Time, |p| time_of(p.rtt, 1, |all| all.least()),
        "shortest round trip in the phase").lower(),
    phase(("rtt.mean", "RTT, mean"), Time, |p| time_of(p.rtt, 1, |all| Some(all.mean)),
        "mean of the round trips in the phase").lower(),
    phase(("rtt.p50", "RTT"), Time, |p| time_of(p.rtt, 1, |all| all.median()), "median of these").lower(),
    phase(("rtt.p90", "RTT, p90"), Time, |p| carried(p.rtt, 90.0, |all| all.p90), "90th percentile of these").lower(),
    phase(("rtt.p99", "RTT, p99"), Time, |p| carried(p.rtt, 99.0, |all| all.p99), "99th percentile of these").lower(),
    phase(("rtt.max", "RTT, longest"), Time, |p| time_of(p.rtt, 1, |all| all.longest()), "longest of these").lower(),
    phase(("rpm", "responsiveness"), Count, |p| p.responsiveness.map(|figure| figure.rpm), "round trips per minute").higher(),
    phase(("lost", "lost"), Count, |p| Some(p.lost as f64), "messages without a reply in time").lower(),
    phase(("loss", "lost"), Share, |p| share(p.lost, p.sent), "the same as a share of the messages sent").lower(),
    phase(("up", "load up"), Rate, |p| p.up.map(|rate| rate.0 as f64),
        "payload of the load that arrived at the far end, per second").higher(),
    phase(("down", "load down"), Rate, |p| p.down.map(|rate| rate.0 as f64),
        "payload of the load that arrived here, per second").higher(),
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
pub(super) fn least(rtt: Option<Distribution>, name: &str) -> Option<f64> {
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

/// The sum over all paths; absent in a run without paths.
pub(super) fn total(run: &Run, of: fn(&EgressResult) -> u64) -> Option<f64> {
    let paths = &run.summary.egress_paths;
    (!paths.is_empty()).then(|| paths.iter().map(|path| of(path) as f64).sum())
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
