//! What a run measured over time, every point of it: for charts that are looked into.

use crate::format::text::{interval_rate, interval_rates, interval_senders, phrases};
use model::event::Event;
use model::latency::{EgressSample, LatencyPlan, LatencySample};
use model::plan::{Direction, Plan, Transport};
use model::run::Run;
use model::sample::IntervalSample;
use model::units::Nanos;
use serde::Serialize;

/// Lines over one axis of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// What was tested: `TCP up, 1 stream, 10 s`.
    pub title: String,
    /// What is measured: `Goodput`.
    pub figure: &'static str,
    /// The unit of the values: `bit/s`, `s` or nothing for counts.
    pub unit: &'static str,
    /// The lines.
    pub lines: Vec<SeriesLine>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesLine {
    /// What it is: `up`.
    pub name: String,
    /// Time since the begin of the test, in seconds.
    pub at: Vec<f64>,
    /// A value for each time; absent where nothing was measured.
    pub values: Vec<Option<f64>>,
}

/// A point of a line while it is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LivePoint {
    /// What is measured: `Goodput`.
    pub figure: &'static str,
    /// Its unit, as in [`Series`].
    pub unit: &'static str,
    /// The line it belongs to: `up`.
    pub line: String,
    /// Time since the begin of the test, in seconds.
    pub at: f64,
    /// The value.
    pub value: f64,
    /// The receiver counted it; where it does, what the sender reports of the same line is not shown.
    pub received: bool,
}

/// What an event adds to the chart of a running test.
#[must_use]
pub fn live_points(event: &Event) -> Vec<LivePoint> {
    match event {
        Event::Sample(sample) if !sample.omitted => of_interval(sample),
        Event::LatencySample(sample) => of_round_trips(sample),
        _ => Vec::new(),
    }
}

/// What a test does, in a line.
#[must_use]
pub fn test_title(plan: &Plan) -> String {
    phrases::test(&plan.test)
}

fn of_interval(sample: &IntervalSample) -> Vec<LivePoint> {
    let at = sample.end.as_secs_f64();
    let mut points = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let Some((rate, received, tcp)) = interval_rate(sample, direction) else { continue };
        let line = direction.to_string();
        let goodput =
            LivePoint { figure: "Goodput", unit: "bit/s", line, at, value: rate.0 as f64, received };
        let rtt = tcp.filter(|tcp| tcp.rtt > Nanos::ZERO).map(|tcp| LivePoint {
            figure: "RTT under load",
            unit: "s",
            value: tcp.rtt.as_secs_f64(),
            ..goodput.clone()
        });
        points.extend([Some(goodput), rtt].into_iter().flatten());
    }
    points
}

fn of_round_trips(sample: &LatencySample) -> Vec<LivePoint> {
    let several = sample.egress_paths.len() > 1;
    let of_way = |(index, egress): (usize, &EgressSample)| {
        let rtt = egress.rtt?;
        let name = |part: &str| if several { format!("{part}, way {}", index + 1) } else { part.to_owned() };
        let at = sample.end.as_secs_f64();
        let point = |part: &str, value: Nanos| LivePoint {
            figure: "RTT",
            unit: "s",
            line: name(part),
            at,
            value: value.as_secs_f64(),
            received: true,
        };
        Some([point("median", rtt.p50), point("p99", rtt.p99)])
    };
    sample.egress_paths.iter().enumerate().filter_map(of_way).flatten().collect()
}

/// All of a run, of its parts where it has some; nothing of one or two points.
#[must_use]
pub fn series(run: &Run) -> Vec<Series> {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { run.tests.as_slice() };
    let mut all = Vec::new();
    for test in tests {
        all.extend(test.plan.iter().flat_map(|plan| of_throughput(test, plan)));
        all.extend(test.latency.iter().flat_map(|plan| of_latency(&test.latency_intervals, plan)));
    }
    all.retain(|series| series.lines.iter().any(|line| line.at.len() > 2));
    all
}

fn of_throughput(test: &Run, plan: &Plan) -> Vec<Series> {
    let title = phrases::test(&plan.test);
    let both_directions = || plan.test.directions.each();
    let goodput = both_directions().map(|direction| {
        let rates = interval_rates(&test.intervals, plan, direction);
        line(direction, rates.into_iter().map(|(end, rate)| (end, Some(rate.0 as f64))))
    });
    let mut all =
        vec![Series { title: title.clone(), figure: "Goodput", unit: "bit/s", lines: goodput.collect() }];
    if plan.test.transport == Transport::Tcp {
        let senders: Vec<(Direction, Vec<_>)> = both_directions()
            .map(|direction| (direction, interval_senders(&test.intervals, direction)))
            .collect();
        let round_trips = senders.iter().map(|(direction, rows)| {
            let known = |rtt: Nanos| Some(rtt.as_secs_f64()).filter(|seconds| *seconds > 0.0);
            line(*direction, rows.iter().map(|(end, tcp)| (*end, known(tcp.rtt))))
        });
        all.push(Series {
            title: title.clone(),
            figure: "RTT under load",
            unit: "s",
            lines: round_trips.collect(),
        });
        let retransmits = senders.iter().map(|(direction, rows)| {
            line(*direction, rows.iter().map(|(end, tcp)| (*end, Some(tcp.retransmits as f64))))
        });
        let retransmits = Series { title, figure: "Retransmits", unit: "", lines: retransmits.collect() };
        // A line along zero says what the table says.
        let is_any = |line: &SeriesLine| line.values.iter().flatten().any(|count| *count > 0.0);
        all.extend(Some(retransmits).filter(|series| series.lines.iter().any(is_any)));
    }
    all
}

fn line(direction: Direction, points: impl Iterator<Item = (Nanos, Option<f64>)>) -> SeriesLine {
    let (at, values) = points.map(|(end, value)| (end.as_secs_f64(), value)).unzip();
    SeriesLine { name: direction.to_string(), at, values }
}

fn of_latency(samples: &[LatencySample], plan: &LatencyPlan) -> Vec<Series> {
    type Figure = fn(&EgressSample) -> Option<f64>;
    let figures: [(&str, Figure); 2] = [
        ("Median RTT", |egress| Some(egress.rtt?.median()?.as_secs_f64())),
        ("RTT, 99th percentile", |egress| Some(egress.rtt?.known(99.0, |rtt| rtt.p99)?.as_secs_f64())),
    ];
    let lines = |figure: Figure| -> Vec<SeriesLine> {
        let line = |(index, name): (usize, &String)| {
            let value = |sample: &LatencySample| sample.egress_paths.get(index).and_then(figure);
            let points = samples.iter().map(|sample| (sample.end.as_secs_f64(), value(sample)));
            let (at, values) = points.unzip();
            SeriesLine { name: name.clone(), at, values }
        };
        let names: Vec<String> = plan.egress_paths.iter().map(|egress| egress.label.clone()).collect();
        names.iter().enumerate().map(line).collect()
    };
    let series = |(figure, of): (&'static str, Figure)| Series {
        title: "Round trips".into(),
        figure,
        unit: "s",
        lines: lines(of),
    };
    figures.into_iter().map(series).collect()
}
