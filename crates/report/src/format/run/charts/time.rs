//! Charts of throughput: the rates of each test, and rate, RTT and loss over time.

use crate::document::{Block, Chart};
use crate::format::text::intervals::{self, Gauges, whole};
use crate::format::text::phrases;
use crate::plot::{Across, Bar, BarChart, BarRow, Labels, Line, LineChart, LinePanel};
use insight::figure::{Figure, Quantity, stream_figure};
use model::plan::{Direction, Plan, Transport};
use model::run::Run;
use model::units::{BitRate, Nanos};

/// The goodput of each test that has one, up and down; a test of one direction stands beside that of the other.
pub(in crate::format::run) fn totals(run: &Run) -> Option<Block> {
    let known: Vec<(&Run, &Plan)> =
        tests(run).filter(|(test, _)| goodput(test).iter().any(Option::is_some)).collect();
    let (unit, scale) = Quantity::Rate.axis(known.iter().flat_map(|(test, _)| goodput(test)).flatten());
    let paired = run.summary.pairs.is_some();
    let mut rows: Vec<(Transport, [Option<f64>; 2])> = Vec::new();
    for (test, plan) in &known {
        let (transport, rates) = (plan.test.transport, goodput(test));
        let fits = |row: &&mut (Transport, [Option<f64>; 2])| {
            !paired
                && row.0 == transport
                && row.1.iter().zip(rates).all(|(there, new)| there.is_none() || new.is_none())
        };
        match rows.iter_mut().find(fits) {
            Some((_, there)) => *there = [there[0].or(rates[0]), there[1].or(rates[1])],
            None => rows.push((transport, rates)),
        }
    }
    let is_known = |index: &usize| rows.iter().any(|(_, rates)| rates[*index].is_some());
    let directions: Vec<usize> = (0..Direction::BOTH.len()).filter(is_known).collect();
    let bar = |rate: Option<f64>| rate.map(|rate| Bar { value: rate / scale, ..Bar::default() });
    let row = |(index, (transport, rates)): (usize, &(Transport, [Option<f64>; 2]))| BarRow {
        name: if paired { format!("pair {}, {transport}", index + 1) } else { transport.to_string() },
        bars: directions.iter().map(|direction| bar(rates[*direction])).collect(),
        missing: "not measured".into(),
    };
    (!known.is_empty()).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "Goodput".into(),
            subtitle: subtitle(run),
            unit: unit.into(),
            labels: Labels::Rate(scale),
            series: directions
                .iter()
                .map(|direction| phrases::direction_word(Direction::BOTH[*direction]).to_owned())
                .collect(),
            ..BarChart::of_rows(rows.iter().enumerate().map(row).collect())
        }))
    })
}

fn goodput(test: &Run) -> [Option<f64>; 2] {
    let goodput = stream_figure("goodput");
    Direction::BOTH.map(|one_way| test.summary.direction(one_way).and_then(|one| goodput.in_direction(one)))
}

fn subtitle(run: &Run) -> String {
    let host = tests(run).next().map(|(_, plan)| format!("to {}", plan.target.host));
    host.unwrap_or_default()
}

/// Goodput in each interval, a panel for each test, and of a single test what else the intervals have; none of a test that
/// has hardly any.
pub(in crate::format::run) fn rates(run: &Run) -> Option<Block> {
    let shown: Vec<(&Run, &Plan)> =
        tests(run).filter(|(test, plan)| series(test, plan).iter().any(long)).collect();
    let all = shown.iter().flat_map(|(test, plan)| series(test, plan));
    let (unit, scale) = Quantity::Rate.axis(all.flat_map(|(_, rates)| rates).map(|(_, rate)| rate.0 as f64));
    let alone = shown.len() == 1;
    let title = |index: usize, plan: &Plan| match run.summary.pairs {
        _ if alone => phrases::test(&plan.test),
        Some(_) => format!("Pair {}, {}", index + 1, kind(plan)),
        None => kind(plan),
    };
    let panel = |(index, (test, plan)): (usize, &(&Run, &Plan))| LinePanel {
        title: title(index, plan),
        ..over_time(test, plan, unit, scale)
    };
    let mut panels: Vec<LinePanel> = shown.iter().enumerate().map(panel).collect();
    // The rule of the bars: the download has the second colour where there is an upload.
    let goes_up =
        |(_, plan): &(&Run, &Plan)| plan.test.directions.each().any(|direction| direction == Direction::Up);
    if shown.iter().any(goes_up) {
        for (panel, shown) in panels.iter_mut().zip(&shown) {
            panel.passed = usize::from(!goes_up(shown));
        }
    }
    if let [(test, plan)] = shown.as_slice() {
        panels.extend(MORE.iter().filter_map(|gauge| gauge_over_time(test, plan, gauge)));
    }
    (!panels.is_empty()).then(|| {
        Block::Chart(Chart::Lines(LineChart {
            title: "Goodput over time".into(),
            subtitle: "as the receiver counted it, where it reported".into(),
            panels,
            ..LineChart::default()
        }))
    })
}

/// The tests of a run, or the one that it is, with their plans.
fn tests(run: &Run) -> impl Iterator<Item = (&Run, &Plan)> {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    tests.iter().filter_map(|test| Some((test, test.throughput()?)))
}

type Rates = (Direction, Vec<(Nanos, BitRate)>);

fn series(test: &Run, plan: &Plan) -> Vec<Rates> {
    let rates = |direction| (direction, whole(intervals::rates(&test.intervals, direction)));
    plan.test.directions.each().map(rates).collect()
}

/// `TCP up`.
fn kind(plan: &Plan) -> String {
    format!("{} {}", plan.test.transport, phrases::directions(plan.test.directions))
}

/// There is a line in it.
fn long(series: &Rates) -> bool {
    series.1.len() > 1
}

fn over_time(test: &Run, plan: &Plan, unit: &str, scale: f64) -> LinePanel {
    let grouped: Vec<Rates> =
        series(test, plan).into_iter().map(|(direction, rates)| (direction, means(&rates))).collect();
    let line = |(direction, rates): &Rates| {
        Line::new(direction.to_string(), rates.iter().map(|(_, rate)| Some(rate.0 as f64 / scale)).collect())
    };
    let ends = grouped.iter().max_by_key(|(_, rates)| rates.len());
    let ends: Vec<Nanos> = ends.iter().flat_map(|(_, rates)| rates).map(|(end, _)| *end).collect();
    LinePanel {
        unit: unit.into(),
        lines: grouped.iter().map(line).collect(),
        across: Some(seconds(&ends)),
        ..LinePanel::default()
    }
}

/// The axis below a panel over time.
pub(super) fn seconds(ends: &[Nanos]) -> Across {
    Across::seconds(&ends.iter().map(|end| end.as_secs_f64()).collect::<Vec<f64>>())
}

/// At most so many points as can be distinguished: neighbours are joined to their mean.
fn means(rates: &[(Nanos, BitRate)]) -> Vec<(Nanos, BitRate)> {
    let mean = |group: &[(Nanos, BitRate)]| {
        let sum: u64 = group.iter().fold(0, |sum, (_, rate)| sum.saturating_add(rate.0));
        let end = group.last().map(|(end, _)| *end).unwrap_or_default();
        (end, BitRate(sum / group.len().max(1) as u64))
    };
    rates.chunks(group(rates.len())).map(mean).collect()
}

/// How many intervals one point stands for.
pub(super) fn group(intervals: usize) -> usize {
    intervals.div_ceil(MOST_POINTS).max(1)
}

/// A further figure of the intervals, by its name in the table of figures; of several that a point stands for it shows the largest.
struct Gauge {
    figure: &'static str,
    /// Counted are these.
    things: &'static str,
    value: fn(&Gauges) -> Option<f64>,
}

fn gauge_over_time(test: &Run, plan: &Plan, gauge: &Gauge) -> Option<LinePanel> {
    let Figure { label, quantity, transport, .. } = stream_figure(gauge.figure);
    if transport.is_some_and(|only| only != plan.test.transport) {
        return None;
    }
    let mut ends = Vec::new();
    let line = |direction: Direction| {
        let all = whole(intervals::gauges(&test.intervals, plan, direction));
        let groups = all.chunks(group(all.len()));
        let known: Vec<(Nanos, Option<f64>)> = groups
            .map(|group| {
                let most = group.iter().filter_map(|(_, gauges)| (gauge.value)(gauges)).reduce(f64::max);
                (group.last().map(|(end, _)| *end).unwrap_or_default(), most)
            })
            .collect();
        if known.len() > ends.len() {
            ends = known.iter().map(|(end, _)| *end).collect();
        }
        let values = known.into_iter().map(|(_, value)| value).collect();
        Line::new(direction.to_string(), values)
    };
    let mut lines: Vec<Line> = plan.test.directions.each().map(line).collect();
    let known: Vec<f64> = lines.iter().flat_map(|line| &line.values).flatten().copied().collect();
    let title = insight::finding::capital(label);
    let (title, unit, scale) = match (gauge.things, quantity.axis(known.iter().copied())) {
        ("", (unit, scale)) => (title, unit, scale),
        (things, _) => (format!("{title} per interval"), things, 1.0),
    };
    lines.iter_mut().flat_map(|line| &mut line.values).flatten().for_each(|value| *value /= scale);
    (!known.is_empty()).then(|| LinePanel {
        title,
        unit: unit.into(),
        lines,
        across: Some(seconds(&ends)),
        ..LinePanel::default()
    })
}

const MORE: [Gauge; 3] = [
    Gauge { figure: "loaded_rtt", things: "", value: |gauges| Some(gauges.rtt?.0 as f64) },
    Gauge { figure: "retransmits", things: "segments", value: |gauges| Some(gauges.retransmits? as f64) },
    Gauge { figure: "loss", things: "datagrams", value: |gauges| Some(gauges.lost? as f64) },
];
/// More points than these cannot be distinguished.
const MOST_POINTS: usize = 120;
