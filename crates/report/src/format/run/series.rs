//! The figures of a run over time, every point of them: for charts that can be zoomed.

use crate::format::text::{intervals, phrases};
use model::event::Event;
use model::latency::{EgressSample, LatencyPlan, LatencySample, LoadPoint, LoadResult};
use model::plan::{Direction, Plan, Transport};
use model::run::Run;
use model::sample::IntervalSample;
use model::units::Nanos;
use serde::Serialize;

/// Lines over one axis of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The test: `TCP up, 1 stream, 10 s`.
    pub title: String,
    /// The figure: `Goodput`.
    pub figure: &'static str,
    /// The unit of the values: `bit/s`, `s` or nothing for counts.
    pub unit: &'static str,
    /// The lines.
    pub lines: Vec<SeriesLine>,
    /// The begins of its parts: tests of a run, phases of a load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<SeriesMark>,
}

/// A moment at which something else is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesMark {
    /// Time since the begin, in seconds.
    pub at: f64,
    /// The part that begins: `TCP up`.
    pub name: String,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeriesLine {
    /// The name: `up`.
    pub name: String,
    /// Ends of the intervals, since the begin of the run, in seconds. A part of a run that begins later has a time without a
    /// value before its first one.
    pub at: Vec<f64>,
    /// A value for each time; absent where nothing was measured.
    pub values: Vec<Option<f64>>,
}

/// A point of a line while it is measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LivePoint {
    /// The figure: `Goodput`.
    pub figure: &'static str,
    /// Its unit, as in [`Series`].
    pub unit: &'static str,
    /// The line it belongs to: `up`.
    pub line: String,
    /// Time since the begin of the test, in seconds.
    pub at: f64,
    /// When its part of the run began, likewise.
    pub begin: f64,
    /// The value.
    pub value: f64,
    /// The receiver counted it; where it does, what the sender reports of the same line is not shown.
    pub received: bool,
}

/// The points that an event adds to the chart of a running test.
#[must_use]
pub fn live_points(event: &Event) -> Vec<LivePoint> {
    match event {
        Event::Sample(sample) if !sample.omitted => of_interval(sample),
        Event::LatencySample(sample) => of_round_trips(sample),
        _ => Vec::new(),
    }
}

/// A test in a line.
#[must_use]
pub fn test_title(plan: &Plan) -> String {
    phrases::test(&plan.test)
}

fn of_interval(sample: &IntervalSample) -> Vec<LivePoint> {
    let at = sample.end.as_secs_f64();
    let mut points = Vec::new();
    for direction in Direction::BOTH {
        let Some((rate, received, tcp)) = intervals::rate(sample, direction) else { continue };
        let line = direction.to_string();
        let goodput = LivePoint {
            figure: "Goodput",
            unit: "bit/s",
            line,
            at,
            begin: 0.0,
            value: rate.0 as f64,
            received,
        };
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
    let in_direction = |(index, egress): (usize, &EgressSample)| {
        let rtt = egress.rtt?;
        let name = |part: &str| if several { format!("{part}, path {}", index + 1) } else { part.to_owned() };
        let at = sample.end.as_secs_f64();
        let point = |part: &str, value: Nanos| LivePoint {
            figure: "RTT",
            unit: "s",
            line: name(part),
            at,
            begin: 0.0,
            value: value.as_secs_f64(),
            received: true,
        };
        Some([point("median", rtt.p50), point("p99", rtt.p99)])
    };
    sample.egress_paths.iter().enumerate().filter_map(in_direction).flatten().collect()
}

/// All of a run, its parts on one axis; nothing that has a single point.
#[must_use]
pub fn series(run: &Run) -> Vec<Series> {
    let mut all = match (&run.summary.loaded, run.tests.as_slice()) {
        (Some(loaded), []) => of_load(loaded),
        (_, []) => of_test(run),
        (_, [test]) => of_test(test),
        (_, tests) => of_parts(run, tests),
    };
    for series in &mut all {
        // The direction of a load that is not asked for, a percentile that so few round trips have not.
        series.lines.retain(|line| line.values.iter().any(Option::is_some));
    }
    all.retain(|series| series.lines.iter().any(|line| line.values.iter().flatten().count() > 1));
    all
}

fn of_test(test: &Run) -> Vec<Series> {
    let throughput = test.throughput().into_iter().flat_map(|plan| of_throughput(test, plan));
    let latency = test.latency().into_iter().flat_map(|plan| of_latency(&test.latency_intervals, plan));
    throughput.chain(latency).collect()
}

/// The parts of a run, each figure in one chart: what one saw while it ran.
fn of_parts(run: &Run, tests: &[Run]) -> Vec<Series> {
    let begin = run.started.or_else(|| tests.iter().filter_map(|test| test.started).min());
    let mut all: Vec<Series> = Vec::new();
    for test in tests {
        let Some((began, begin)) = test.started.zip(begin) else { continue };
        let offset = began.0.saturating_sub(begin.0) as f64 / 1e9;
        let mark = SeriesMark { at: offset, name: part_name(run, test) };
        let prefix = test.throughput().map(|plan| format!("{} ", plan.test.transport)).unwrap_or_default();
        for part in of_test(test) {
            let place = all.iter().position(|one| one.figure == part.figure).unwrap_or_else(|| {
                all.push(Series { title: "All parts of the run".into(), lines: Vec::new(), ..part.clone() });
                all.len() - 1
            });
            all[place].marks.push(mark.clone());
            for line in part.lines {
                append(&mut all[place].lines, &format!("{prefix}{}", line.name), offset, &line);
            }
        }
    }
    all
}

/// Puts a part's line behind what the line of this name has.
fn append(lines: &mut Vec<SeriesLine>, name: &str, offset: f64, part: &SeriesLine) {
    let place = lines.iter().position(|line| line.name == name).unwrap_or_else(|| {
        lines.push(SeriesLine { name: name.to_owned(), at: Vec::new(), values: Vec::new() });
        lines.len() - 1
    });
    let line = &mut lines[place];
    // Two parts that follow at once share no time.
    let begin = line.at.last().map_or(offset, |last| offset.max(last + 1e-6));
    line.at.push(begin);
    line.values.push(None);
    line.at.extend(part.at.iter().map(|at| at + offset));
    line.values.extend(&part.values);
}

/// A part of a run in few words; of a sweep with its frame size.
fn part_name(run: &Run, test: &Run) -> String {
    let Some(plan) = test.throughput() else { return "round trips".into() };
    let transport = plan.test.transport;
    let place = run.tests.iter().position(|other| std::ptr::eq(other, test));
    let rows = || run.summary.rows.iter().filter(|row| row.skipped.is_none());
    let row = place.and_then(|place| rows().nth(place)).filter(|row| row.protocol == transport);
    match row.filter(|_| rows().count() == run.tests.len()) {
        Some(row) => format!("{transport} {}", row.frame),
        None => {
            let directions: Vec<String> = plan.test.directions.each().map(|one| one.to_string()).collect();
            format!("{transport} {}", directions.join(" and "))
        }
    }
}

/// Round trips and goodput beside each other while the load changes.
fn of_load(loaded: &LoadResult) -> Vec<Series> {
    type Figure = fn(&LoadPoint) -> Option<f64>;
    let points = &loaded.series;
    let line = |(name, of): &(&str, Figure)| SeriesLine {
        name: (*name).to_owned(),
        at: points.iter().map(|point| point.at.as_secs_f64()).collect(),
        values: points.iter().map(of).collect(),
    };
    let mut marks: Vec<SeriesMark> = Vec::new();
    let mut begin = 0.0;
    for (index, point) in points.iter().enumerate() {
        let is_new = index == 0 || points[index - 1].load != point.load;
        let word = phrases::load(point.load);
        let name = if point.load.is_some() { format!("load {word}") } else { word.into() };
        marks.extend(is_new.then_some(SeriesMark { at: begin, name }));
        begin = point.at.as_secs_f64();
    }
    let rtt: [(&str, Figure); 2] = [
        ("median", |point| Some(point.rtt?.median()?.as_secs_f64())),
        ("p99", |point| Some(point.rtt?.known(99.0, |rtt| rtt.p99)?.as_secs_f64())),
    ];
    let goodput: [(&str, Figure); 2] = [
        ("up", |point| point.up.map(|rate| rate.0 as f64)),
        ("down", |point| point.down.map(|rate| rate.0 as f64)),
    ];
    let series = |figure, unit, lines: &[(&str, Figure)]| Series {
        title: "Round trips under load".into(),
        figure,
        unit,
        lines: lines.iter().map(line).collect(),
        marks: marks.clone(),
    };
    vec![series("RTT", "s", &rtt), series("Goodput", "bit/s", &goodput)]
}

fn of_throughput(test: &Run, plan: &Plan) -> Vec<Series> {
    let title = phrases::test(&plan.test);
    let both_directions = || plan.test.directions.each();
    let goodput = both_directions().map(|direction| {
        let rates = intervals::rates(&test.intervals, direction);
        line(direction, rates.into_iter().map(|(end, rate)| (end, Some(rate.0 as f64))))
    });
    let series =
        |figure, unit, lines| Series { title: title.clone(), figure, unit, lines, marks: Vec::new() };
    let mut all = vec![series("Goodput", "bit/s", goodput.collect())];
    if plan.test.transport == Transport::Tcp {
        let senders: Vec<(Direction, Vec<_>)> = both_directions()
            .map(|direction| (direction, intervals::senders(&test.intervals, direction)))
            .collect();
        let round_trips = senders.iter().map(|(direction, rows)| {
            let known = |rtt: Nanos| Some(rtt.as_secs_f64()).filter(|seconds| *seconds > 0.0);
            line(*direction, rows.iter().map(|(end, tcp)| (*end, known(tcp.rtt))))
        });
        all.push(series("RTT under load", "s", round_trips.collect()));
        let retransmits = senders.iter().map(|(direction, rows)| {
            line(*direction, rows.iter().map(|(end, tcp)| (*end, Some(tcp.retransmits as f64))))
        });
        let retransmits = series("Retransmits", "", retransmits.collect());
        // A line along zero states what the table states.
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
        ("median", |egress| Some(egress.rtt?.median()?.as_secs_f64())),
        ("p99", |egress| Some(egress.rtt?.known(99.0, |rtt| rtt.p99)?.as_secs_f64())),
    ];
    let line = |index: usize, name: &str, figure: Figure| {
        let value = |sample: &LatencySample| sample.egress_paths.get(index).and_then(figure);
        let (at, values) = samples.iter().map(|sample| (sample.end.as_secs_f64(), value(sample))).unzip();
        SeriesLine { name: name.to_owned(), at, values }
    };
    let series =
        |figure, lines| Series { title: "Round trips".into(), figure, unit: "s", lines, marks: Vec::new() };
    // The label of a single path may be that of the run.
    if let [_] = plan.egress_paths.as_slice() {
        return vec![series("RTT", figures.map(|(name, figure)| line(0, name, figure)).into())];
    }
    let names = || plan.egress_paths.iter().map(|egress| egress.label.as_str()).enumerate();
    let each = |figure: Figure| names().map(|(index, name)| line(index, name, figure)).collect();
    vec![series("Median RTT", each(figures[0].1)), series("RTT, 99th percentile", each(figures[1].1))]
}
