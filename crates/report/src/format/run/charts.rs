//! The charts of a run: rates over time, round trips, frame sizes, rates of transfers.

use crate::document::{Block, Chart};
use crate::format::text::{interval_rates, latency, words};
use crate::format::{frames as sweep, text::transfer};
use crate::plot::{Bar, BarChart, BarPanel, BarRow, Line, LineChart, LinePanel};
use model::latency::WayResult;
use model::plan::{Direction, Plan};
use model::run::Run;
use model::transfer::TransferRow;
use model::units::{BitRate, Nanos};

/// Goodput in each interval, a panel for each test; none of a test that has hardly any.
pub(super) fn rates(run: &Run) -> Option<Block> {
    let tests = if run.tests.is_empty() { std::slice::from_ref(run) } else { &run.tests };
    let panels: Vec<LinePanel> =
        tests.iter().filter_map(|test| over_time(test, test.plan.as_ref()?)).collect();
    (!panels.is_empty()).then(|| {
        Block::Chart(Chart::Lines(LineChart {
            title: "Goodput over time".into(),
            subtitle: "as the receiver counted it, where it told".into(),
            panels,
            ..LineChart::default()
        }))
    })
}

fn over_time(test: &Run, plan: &Plan) -> Option<LinePanel> {
    let ways: Vec<(Direction, Vec<(Nanos, BitRate)>)> = plan
        .test
        .directions
        .each()
        .map(|way| (way, grouped(&interval_rates(&test.intervals, plan, way))))
        .collect();
    let longest = ways.iter().map(|(_, rates)| rates).max_by_key(|rates| rates.len())?;
    if longest.len() < 2 {
        return None;
    }
    let (unit, scale) = unit(ways.iter().flat_map(|(_, rates)| rates).map(|(_, rate)| rate.0 as f64));
    let line = |(way, rates): &(Direction, Vec<(Nanos, BitRate)>)| Line {
        name: way.to_string(),
        values: rates.iter().map(|(_, rate)| Some(rate.0 as f64 / scale)).collect(),
        limit: Vec::new(),
    };
    let every = longest.len().div_ceil(MOST_LABELS);
    let label = |(index, (end, _)): (usize, &(Nanos, BitRate))| match index % every {
        0 => words::significant(end.as_secs_f64()),
        _ => String::new(),
    };
    Some(LinePanel {
        title: format!("{}, {unit}", words::test(&plan.test)),
        lines: ways.iter().map(line).collect(),
        across: Some(("Seconds".into(), longest.iter().enumerate().map(label).collect())),
        logarithmic: false,
    })
}

/// At most so many points as can be told apart: neighbours are joined to their mean.
fn grouped(rates: &[(Nanos, BitRate)]) -> Vec<(Nanos, BitRate)> {
    let size = rates.len().div_ceil(MOST_POINTS).max(1);
    let mean = |group: &[(Nanos, BitRate)]| {
        let sum: u64 = group.iter().fold(0, |sum, (_, rate)| sum.saturating_add(rate.0));
        let end = group.last().map(|(end, _)| *end).unwrap_or_default();
        (end, BitRate(sum / group.len().max(1) as u64))
    };
    rates.chunks(size).map(mean).collect()
}

/// The unit in which the largest of these rates is read with ease, and its size.
fn unit(rates: impl Iterator<Item = f64>) -> (&'static str, f64) {
    let most = rates.fold(0.0, f64::max);
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    units.into_iter().find(|(_, size)| most >= *size).unwrap_or(("bit/s", 1.0))
}

/// The distribution of one way, or the medians of several.
pub(super) fn round_trips(ways: &[WayResult]) -> Option<Block> {
    match ways {
        [] => None,
        [way] => distribution(way),
        several => medians(several),
    }
}

fn distribution(way: &WayResult) -> Option<Block> {
    let rows = latency::histogram_rows(way, 1);
    let row = |(low, high, count, _): &(Nanos, Nanos, u64, String)| BarRow {
        name: format!("{low} to {high}"),
        bars: vec![Some(Bar { value: *count as f64, ..Bar::default() })],
        missing: String::new(),
    };
    (!rows.is_empty()).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "How long the round trips took".into(),
            subtitle: format!("to {}", way.label),
            unit: "round trips".into(),
            series: vec!["round trips".into()],
            panels: vec![BarPanel { title: String::new(), rows: rows.iter().map(row).collect() }],
            ..BarChart::default()
        }))
    })
}

/// The median of each way.
fn medians(ways: &[WayResult]) -> Option<Block> {
    let unit = latency::compare_unit(ways);
    let bar = |way: &WayResult| {
        let rtt = way.rtt.filter(|rtt| rtt.count > 0)?;
        let whisker = [rtt.min, rtt.p90].map(|time| unit.of_time(time));
        Some(Bar { value: unit.of_time(rtt.p50), whisker: Some(whisker), mark: None })
    };
    let row = |way: &WayResult| BarRow {
        name: way.label.clone(),
        bars: vec![bar(way)],
        missing: "no reply".into(),
    };
    let rows: Vec<BarRow> = ways.iter().map(row).collect();
    rows.iter().any(|row| row.bars.iter().any(Option::is_some)).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "Round trips".into(),
            subtitle: "of each way".into(),
            unit: unit.name.into(),
            series: vec!["median".into()],
            whiskers: Some("from the least to the 90th percentile".into()),
            panels: vec![BarPanel { title: String::new(), rows }],
            ..BarChart::default()
        }))
    })
}

/// The sweep's own chart.
pub(super) fn frames(run: &Run) -> Block {
    Block::Chart(Chart::Lines(sweep::chart(run)))
}

/// The median rate of each row; none of a single one.
pub(super) fn transfers(run: &Run, rows: &[TransferRow]) -> Option<Block> {
    let known: Vec<(&TransferRow, _)> = rows.iter().filter_map(|row| Some((row, row.rate?))).collect();
    let (unit, scale) = unit(known.iter().map(|(_, rate)| rate.max));
    let row = |(row, rate): &(&TransferRow, model::transfer::Spread)| BarRow {
        name: row.label.clone(),
        bars: vec![Some(Bar {
            value: rate.median / scale,
            whisker: Some([rate.min / scale, rate.max / scale]),
            mark: None,
        })],
        missing: String::new(),
    };
    (known.len() > 1).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "Rate of the transfers".into(),
            subtitle: run.transfer.as_ref().map(transfer::title).unwrap_or_default(),
            unit: unit.into(),
            series: vec!["median".into()],
            whiskers: Some("least and most".into()),
            panels: vec![BarPanel { title: String::new(), rows: known.iter().map(row).collect() }],
            ..BarChart::default()
        }))
    })
}

/// More points than these cannot be told apart.
const MOST_POINTS: usize = 120;
/// More labels than these run into one another.
const MOST_LABELS: usize = 10;
