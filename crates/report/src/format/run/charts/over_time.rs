//! Charts of round trips over time: of each path, and beside a load with its phases and its goodput.

use super::time::{group, seconds};
use crate::document::{Block, Chart};
use crate::format::text::phrases;
use crate::plot::{Across, Line, LineChart, LinePanel};
use insight::figure::Quantity;
use model::distinct;
use model::latency::{LatencySample, LoadPoint};
use model::plan::Directions;
use model::run::Run;
use model::stats::distribution::Distribution;
use model::stats::quantile::median;
use model::units::{BitRate, Nanos};

/// Round trips over time; none of a run with hardly an interval.
pub(in crate::format::run) fn round_trips_over_time(run: &Run) -> Option<Block> {
    let panels = match &run.summary.loaded {
        Some(loaded) => beside_load(&loaded.series),
        None => of_intervals(run),
    };
    let intervals =
        run.summary.loaded.as_ref().map_or(run.latency_intervals.len(), |found| found.series.len());
    let joined = match group(intervals) {
        1 => String::new(),
        several => {
            format!("each point stands for {several} intervals: the median of their medians, the highest p99")
        }
    };
    (!panels.is_empty()).then(|| {
        Block::Chart(Chart::Lines(LineChart {
            title: "Round trips over time".into(),
            subtitle: joined,
            panels,
            ..LineChart::default()
        }))
    })
}

/// A figure of round trips, and how several of them become one point.
struct Figure {
    name: &'static str,
    value: fn(&Distribution) -> Option<Nanos>,
    joined: fn(&[f64]) -> Option<f64>,
}

const FIGURES: [Figure; 2] = [
    Figure { name: "median", value: Distribution::median, joined: median },
    Figure {
        name: "p99",
        value: |rtt| rtt.known(99.0, |rtt| rtt.p99),
        joined: |values| values.iter().copied().reduce(f64::max),
    },
];

/// One path: median and p99 in a panel. Several: a panel for each figure, with a line for each path.
fn of_intervals(run: &Run) -> Vec<LinePanel> {
    let samples = &run.latency_intervals;
    let paths: Vec<&str> = run
        .latency()
        .into_iter()
        .flat_map(|plan| &plan.egress_paths)
        .map(|path| path.label.as_str())
        .collect();
    let times = |path: usize, figure: &Figure| -> Vec<Option<Nanos>> {
        let time =
            |sample: &LatencySample| sample.egress_paths.get(path)?.rtt.as_ref().and_then(figure.value);
        samples.iter().map(time).collect()
    };
    let ends: Vec<Nanos> = samples.iter().map(|sample| sample.end).collect();
    let one_path =
        |title: &str, lines: Vec<(String, Vec<Option<Nanos>>, &Figure)>| panel(title, &ends, lines);
    match paths.as_slice() {
        [] => Vec::new(),
        // The label of a single path may be that of the run.
        [_] => {
            let lines = FIGURES.iter().map(|figure| (figure.name.to_owned(), times(0, figure), figure));
            one_path("Round trip", lines.collect()).into_iter().collect()
        }
        several => {
            let of_figure = |figure: &'static Figure| {
                let lines = several.iter().enumerate();
                let lines = lines.map(|(path, name)| ((*name).to_owned(), times(path, figure), figure));
                one_path(&format!("Round trip, {}", figure.name), lines.collect())
            };
            FIGURES.iter().filter_map(of_figure).collect()
        }
    }
}

/// The median of the round trips in a line for each load, one for all phases without any, and what the load transferred meanwhile.
fn beside_load(points: &[LoadPoint]) -> Vec<LinePanel> {
    let ends: Vec<Nanos> = points.iter().map(|point| point.at).collect();
    let phases: Vec<Option<Directions>> = distinct(points.iter().map(|point| point.load));
    let of_phase = |phase: &Option<Directions>| {
        let name =
            phase.map_or_else(|| "idle".to_owned(), |load| format!("load {}", phrases::directions(load)));
        let own = |point: &LoadPoint| point.rtt.as_ref().filter(|_| point.load == *phase)?.median();
        (name, points.iter().map(own).collect(), &FIGURES[0])
    };
    let round_trips = panel("Round trip, median", &ends, phases.iter().map(of_phase).collect());
    let rates = |of: fn(&LoadPoint) -> Option<BitRate>| -> Vec<Option<f64>> {
        points.iter().map(|point| of(point).map(|rate| rate.0 as f64)).collect()
    };
    let rates = [("up", rates(|point| point.up)), ("down", rates(|point| point.down))];
    let (unit, scale) = Quantity::Rate.axis(rates.iter().flat_map(|(_, rates)| rates).flatten().copied());
    let lines = rates.iter().filter(|(_, rates)| rates.iter().any(Option::is_some));
    let mean = |values: &[f64]| Some(values.iter().sum::<f64>() / values.len() as f64);
    let lines: Vec<Line> = lines.map(|(name, rates)| line((*name).to_owned(), rates, scale, mean)).collect();
    let goodput = LinePanel {
        title: "Goodput of the load".into(),
        unit: unit.into(),
        lines,
        across: Some(across(&ends)),
        ..LinePanel::default()
    };
    round_trips.into_iter().chain(Some(goodput).filter(|panel| !panel.lines.is_empty())).collect()
}

/// Lines of times over one axis; none without two points of one line.
fn panel(
    title: &str,
    ends: &[Nanos],
    lines: Vec<(String, Vec<Option<Nanos>>, &Figure)>,
) -> Option<LinePanel> {
    let known = lines.iter().any(|(_, times, _)| times.iter().flatten().count() > 1);
    let all = lines.iter().flat_map(|(_, times, _)| times).flatten();
    let (unit, scale) = Quantity::Time.axis(all.map(|time| time.0 as f64));
    let drawn = lines.iter().filter(|(_, times, _)| times.iter().any(Option::is_some));
    let drawn = drawn.map(|(name, times, figure)| {
        let values: Vec<Option<f64>> = times.iter().map(|time| time.map(|time| time.0 as f64)).collect();
        line(name.clone(), &values, scale, figure.joined)
    });
    known.then(|| LinePanel {
        title: title.into(),
        unit: unit.into(),
        lines: drawn.collect(),
        across: Some(across(ends)),
        ..LinePanel::default()
    })
}

/// At most so many points as can be distinguished.
fn line(name: String, values: &[Option<f64>], scale: f64, joined: impl Fn(&[f64]) -> Option<f64>) -> Line {
    let point = |values: &[Option<f64>]| {
        let known: Vec<f64> = values.iter().flatten().map(|value| value / scale).collect();
        if known.is_empty() { None } else { joined(&known) }
    };
    Line { name, values: values.chunks(group(values.len())).map(point).collect(), limit: Vec::new() }
}

fn across(ends: &[Nanos]) -> Across {
    let last = |ends: &[Nanos]| ends.last().copied().unwrap_or_default();
    seconds(&ends.chunks(group(ends.len())).map(last).collect::<Vec<_>>())
}
