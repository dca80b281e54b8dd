//! The figures of a stream, of a service and of hops, one by one.

use super::field;
use model::dut::{
    BackToBackReport, HopDrops, LatencyReport, MrrReport, RateReport, ServiceReport, StreamReport, Test,
};
use model::plan::Direction;
use model::search::{Irregular, Load};
use model::stats::rfc8219::OverRuns;
use model::units::Nanos;
use serde::Serialize;

/// One figure.
#[derive(Clone, Default, Serialize)]
pub(super) struct Figure {
    /// The name as in the JSON, or `hops`.
    test: String,
    figure: String,
    /// The direction of the figure; empty: rates are then of each direction, MRR, loss and bursts of all together.
    direction: Option<Direction>,
    /// Counts from 1 the runs of recovery and reset, and the steps of a service.
    repetition: Option<usize>,
    /// The load of the throughput for latency, the most load for frame loss.
    load_percent: Option<f64>,
    load_pps: Option<f64>,
    value: f64,
    unit: &'static str,
    /// Irregularities of a result, separated by spaces.
    remarks: String,
}

impl Figure {
    fn from_test(test: Test) -> Figure {
        Figure { test: field(&test), ..Figure::default() }
    }

    fn at_load(test: Test, load: Load) -> Figure {
        Figure { load_pps: Some(load.0), ..Figure::from_test(test) }
    }

    /// The same circumstances with another figure.
    fn with(&self, name: impl Into<String>, value: f64, unit: &'static str) -> Figure {
        Figure { figure: name.into(), value, unit, ..self.clone() }
    }

    fn time(&self, name: impl Into<String>, time: Nanos) -> Figure {
        self.with(name, time.0 as f64, "ns")
    }

    /// Median, first and 99th percentile over the runs.
    fn over_runs(&self, name: &str, runs: OverRuns) -> Vec<Figure> {
        let parts = [("median", runs.median), ("p1", runs.p1), ("p99", runs.p99)];
        parts.map(|(part, value)| self.with(format!("{name}.{part}"), value, "ns")).into()
    }
}

pub(super) fn of_row(row: &StreamReport) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let limits = [("line_rate", row.line_rate), ("ceiling", row.ceiling), ("most", row.most)];
    let known = limits.into_iter().filter_map(|(name, load)| Some((name, load?)));
    figures.extend(known.map(|(name, load)| Figure::default().with(name, load.0, FRAMES)));
    figures.extend(row.rates.iter().flat_map(rate));
    figures.extend(row.mrr.iter().flat_map(mrr));
    figures.extend(row.latency.iter().flat_map(latency));
    for step in row.loss.iter().flat_map(|loss| &loss.rows) {
        let at = Figure {
            load_percent: Some(step.offered_percent),
            ..Figure::at_load(Test::FrameLoss, step.load)
        };
        figures.push(at.with("loss", step.loss_percent, "%"));
    }
    figures.extend(row.back_to_back.iter().flat_map(bursts));
    figures.extend(interruptions(row));
    if let Some(report) = &row.delay_variation {
        for one_way in &report.directions {
            let at = Figure {
                direction: Some(one_way.direction),
                ..Figure::at_load(Test::DelayVariation, report.load)
            };
            figures.extend(at.over_runs("pdv", one_way.packet));
            let parts = one_way
                .inter_packet
                .map(|of| [("min", of.min_ns), ("median", of.median_ns), ("max", of.max_ns)]);
            let parts = parts.into_iter().flatten();
            figures.extend(parts.map(|(part, value)| at.with(format!("ipdv.{part}"), value as f64, "ns")));
        }
    }
    figures
}

fn rate(rate: &RateReport) -> Vec<Figure> {
    let at = Figure { remarks: remarks(&rate.irregular), ..Figure::from_test(Test::Throughput) };
    let loads =
        [("", rate.lower), (".upper", rate.upper), (".conditional_throughput", rate.conditional_throughput)];
    let known = loads.into_iter().filter_map(|(part, load)| Some((part, load?)));
    let mut figures: Vec<Figure> =
        known.map(|(part, load)| at.with(format!("{}{part}", rate.goal), load.0, FRAMES)).collect();
    if let Some(repeats) = rate.repeats {
        figures.push(at.with(format!("{}.mean", rate.goal), repeats.mean, FRAMES));
        figures.extend(repeats.stddev.map(|stddev| at.with(format!("{}.stddev", rate.goal), stddev, FRAMES)));
    }
    // A search that found nothing is reported, too.
    if figures.is_empty() {
        figures.push(at.with(rate.goal.clone(), 0.0, FRAMES));
    }
    figures
}

fn mrr(mrr: &MrrReport) -> Vec<Figure> {
    let at = Figure::at_load(Test::Mrr, mrr.offered);
    let spread = mrr.forwarded.stddev.map(|stddev| at.with("mrr.stddev", stddev, FRAMES));
    let mean = at.with("mrr", mrr.forwarded.mean, FRAMES);
    [Some(mean), spread, Some(at.with("mrr.loss", mrr.loss_ratio, "share"))].into_iter().flatten().collect()
}

fn latency(report: &LatencyReport) -> Vec<Figure> {
    let load = Figure {
        load_percent: Some(f64::from(report.percent)),
        ..Figure::at_load(Test::Latency, report.load)
    };
    let mut figures = Vec::new();
    for one_way in &report.directions {
        let at = Figure { direction: Some(one_way.direction), ..load.clone() };
        let delays = &one_way.delays;
        if delays.count > 0 {
            let times = [
                ("min", delays.min),
                ("mean", delays.mean),
                ("stddev", delays.stddev),
                ("p50", delays.p50),
                ("p90", delays.p90),
                ("p99", delays.p99),
                ("p999", delays.p999),
                ("max", delays.max),
            ];
            figures.extend(times.map(|(name, time)| at.time(name, time)));
        }
        figures.extend(one_way.typical.into_iter().flat_map(|runs| at.over_runs("typical", runs)));
        figures.extend(one_way.worst_case.into_iter().flat_map(|runs| at.over_runs("worst_case", runs)));
        figures.extend(one_way.store_and_forward.map(|time| at.time("store_and_forward", time)));
        figures.extend(one_way.bit_forwarding.map(|time| at.time("bit_forwarding", time)));
        figures.push(at.with("lost", one_way.lost as f64, "frames"));
    }
    figures
}

fn bursts(report: &BackToBackReport) -> Vec<Figure> {
    let outcome = &report.outcome;
    let at =
        Figure { remarks: remarks(&outcome.irregular), ..Figure::at_load(Test::BackToBack, report.rate) };
    let whole = |frames: Option<u64>| frames.map(|frames| frames as f64);
    let counts = [
        ("mean", outcome.mean),
        ("least", whole(outcome.least)),
        ("most", whole(outcome.most)),
        ("stddev", outcome.stddev),
    ];
    let known = counts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let mut figures: Vec<Figure> = known.map(|(name, value)| at.with(name, value, "frames")).collect();
    if let Some(buffer) = report.buffer {
        figures.push(at.with("buffer.implied", buffer.implied, "s"));
        figures.push(at.with("buffer.corrected", buffer.corrected, "s"));
    }
    figures
}

/// Recovery and reset.
fn interruptions(row: &StreamReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    if let Some(report) = &row.recovery {
        let at = Figure::at_load(Test::Recovery, report.loads.overload);
        let runs = report.times.iter().enumerate();
        figures.extend(
            runs.map(|(run, time)| Figure { repetition: Some(run + 1), ..at.time("recovery", *time) }),
        );
    }
    if let Some(report) = &row.reset {
        for (run, reset) in report.runs.iter().enumerate() {
            let at = Figure { repetition: Some(run + 1), ..Figure::at_load(Test::Reset, report.load) };
            figures.extend(reset.by_time.map(|time| at.time("by_time", time)));
            figures.extend(reset.by_loss.map(|time| at.time("by_loss", time)));
        }
    }
    figures
}

pub(super) fn of_service(service: &ServiceReport) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (run, step) in service.steps.iter().chain(&service.performance).enumerate() {
        let at = Figure { repetition: Some(run + 1), ..Figure::from_test(Test::Service) };
        let observed = &step.observed;
        figures.push(at.with("offered", step.step.offered.0 as f64, "bit/s"));
        figures.push(at.with("received", observed.received.0 as f64, "bit/s"));
        figures.push(at.with("loss", observed.loss, "share"));
        figures.extend(observed.delay.map(|time| at.time("delay", time)));
        figures.extend(observed.variation.map(|time| at.time("variation", time)));
        figures.push(at.with("broken", step.misses.len() as f64, "promises"));
    }
    let available = service
        .availability
        .map(|share| Figure::from_test(Test::Service).with("availability", share, "share"));
    figures.extend(available);
    figures
}

pub(super) fn of_hop(hop: &HopDrops) -> Vec<Figure> {
    let at = Figure { test: "hops".into(), ..Figure::default() };
    let counts = [("received", hop.received), ("sent", hop.sent)].into_iter();
    let drops = hop.drops.iter().map(|(counter, count)| (counter.as_str(), *count));
    let name = |what: &str| format!("{}:{}.{what}", hop.node, hop.interface);
    counts.chain(drops).map(|(what, count)| at.with(name(what), count as f64, "frames")).collect()
}

fn remarks(irregular: &[Irregular]) -> String {
    irregular.iter().map(field).collect::<Vec<_>>().join(" ")
}

const FRAMES: &str = "frames/s";
