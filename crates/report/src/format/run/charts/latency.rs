//! Charts of round trips: percentiles, the distribution, several paths side by side, and the load's part.

use crate::document::{Block, Chart};
use crate::format::text::{latency, phrases};
use crate::plot::{Across, Bar, BarChart, BarRow, Labels, Line, LineChart, LinePanel};
use insight::figure::Quantity;
use model::latency::{EgressResult, LoadResult};
use model::stats::histogram::Histogram;
use model::stats::percentile::carries;
use model::units::Nanos;

/// Percentiles of every path, and the distribution of one or the medians of several.
pub(in crate::format::run) fn round_trips(egress_paths: &[EgressResult]) -> Vec<Block> {
    let shape = match egress_paths {
        [] => None,
        [egress] => distribution(egress),
        several => medians(several),
    };
    percentiles(egress_paths).into_iter().chain(shape).collect()
}

/// The cumulative distribution, read at percentiles that are farther apart the rarer they are, as HdrHistogram draws it.
fn percentiles(egress_paths: &[EgressResult]) -> Option<Block> {
    let drawn: Vec<(&EgressResult, Histogram)> = egress_paths
        .iter()
        .filter_map(|egress| Some((egress, Histogram::from_v2_base64(egress.histogram.as_ref()?).ok()?)))
        .filter(|(_, histogram)| histogram.count() > 1)
        .collect();
    // Powers of ten are as far apart in every unit: that of the slowest reads better than thousands of the median's.
    let slowest = drawn.iter().filter_map(|(_, histogram)| histogram.max()).max()?;
    let unit = if slowest < SLOW {
        latency::compare_unit(egress_paths)
    } else {
        latency::Unit::for_time(Nanos(slowest))
    };
    let most = drawn.iter().map(|(_, histogram)| histogram.count()).max()?;
    // The rule of the text: a high percentile takes so many round trips that it is more than one of the slowest.
    let steps: Vec<f64> = PERCENTILES.into_iter().filter(|percent| is_carried(most, *percent)).collect();
    let alone = egress_paths.len() == 1;
    let line = |(egress, histogram): &(&EgressResult, Histogram)| {
        let carried = |percent: &f64| is_carried(histogram.count(), *percent);
        let value = |percent: &f64| {
            let found = histogram.value_at_quantile(percent / 100.0).filter(|_| carried(percent))?;
            Some(unit.of_time(Nanos(found)))
        };
        let slowest = histogram.max().map(|most| unit.of_time(Nanos(most)));
        // The label of a single path may be that of the run.
        let name = if alone { &egress.host } else { &egress.label };
        Line::new(name.clone(), steps.iter().map(value).chain([slowest]).collect())
    };
    Some(Block::Chart(Chart::Lines(LineChart {
        title: "Round trips by percentile".into(),
        subtitle: "p % took at most this long; the tail is stretched".into(),
        across: Across::names(
            "Percentile",
            steps.iter().map(ToString::to_string).chain(["slowest".into()]).collect(),
        ),
        limit: None,
        panels: vec![LinePanel {
            title: "Round trip".into(),
            unit: unit.name.into(),
            lines: drawn.iter().map(line).collect(),
            across: None,
            logarithmic: true,
            ..LinePanel::default()
        }],
    })))
}

fn is_carried(count: u64, percent: f64) -> bool {
    percent < 99.0 && (1.0 - percent / 100.0) * count as f64 >= 1.0 || carries(count, percent)
}

fn distribution(egress: &EgressResult) -> Option<Block> {
    let rows = latency::histogram_rows(egress, false);
    let row = |(low, high, count, _): &(Nanos, Nanos, u64, f64)| {
        BarRow::new(
            format!("{low} to {high}"),
            vec![Some(Bar { value: *count as f64, ..Bar::default() })],
            "",
        )
    };
    (!rows.is_empty()).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "How long the round trips took".into(),
            // Its label may be that of the run.
            subtitle: format!("to {}", egress.host),
            unit: "round trips".into(),
            labels: Labels::Count,
            logarithmic: true,
            series: vec!["round trips".into()],
            ..BarChart::of_rows(rows.iter().map(row).collect())
        }))
    })
}

/// The median of each direction.
fn medians(egress_paths: &[EgressResult]) -> Option<Block> {
    let unit = latency::compare_unit(egress_paths);
    let bar = |egress: &EgressResult| {
        let rtt = egress.rtt.filter(|rtt| rtt.count > 0)?;
        let whisker = rtt.least().zip(rtt.known(90.0, |rtt| rtt.p90));
        let whisker = whisker.map(|(least, p90)| [least, p90].map(|time| unit.of_time(time)));
        Some(Bar { value: unit.of_time(rtt.median()?), whisker, mark: None })
    };
    let row = |egress: &EgressResult| BarRow::new(egress.label.clone(), vec![bar(egress)], "no reply");
    let rows: Vec<BarRow> = egress_paths.iter().map(row).collect();
    rows.iter().any(|row| row.bars.iter().any(Option::is_some)).then(|| {
        Block::Chart(Chart::Bars(BarChart {
            title: "Round trips".into(),
            subtitle: "of each path".into(),
            unit: unit.name.into(),
            series: vec!["median".into()],
            whiskers: Some("from the least to the 90th percentile".into()),
            ..BarChart::of_rows(rows)
        }))
    })
}

/// Round trips idle and under load.
pub(in crate::format::run) fn loaded(result: &LoadResult) -> Option<Block> {
    let known = || result.phases.iter().filter_map(|phase| phase.rtt);
    known().next()?;
    let (unit, scale) = Quantity::Time.axis(known().map(|rtt| rtt.p90.0 as f64));
    let value = |time: Nanos| time.0 as f64 / scale;
    let row = |phase: &model::latency::LoadPhase| BarRow {
        name: phase
            .load
            .map_or_else(|| "idle".to_owned(), |load| format!("load {}", phrases::directions(load))),
        bars: vec![phase.rtt.map(|rtt| Bar {
            value: value(rtt.p50),
            whisker: Some([value(rtt.min), value(rtt.p90)]),
            mark: None,
        })],
        missing: "no reply".into(),
    };
    Some(Block::Chart(Chart::Bars(BarChart {
        title: "Round trips under load".into(),
        subtitle: "the path idle, and while a load of TCP uses it".into(),
        unit: unit.into(),
        labels: Labels::Time(scale),
        series: vec!["median".into()],
        whiskers: Some("from the least to the 90th percentile".into()),
        ..BarChart::of_rows(result.phases.iter().map(row).collect())
    })))
}

/// Ten milliseconds.
const SLOW: u64 = 10_000_000;
const PERCENTILES: [f64; 13] =
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99, 99.999];
