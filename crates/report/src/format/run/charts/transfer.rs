//! Charts of transfers: rate and time of each, the rows side by side, the parts of their time, and the size of their packets.

use crate::document::{Block, Chart};
use crate::format::text::transfer;
use crate::plot::{Across, Bar, BarChart, BarPanel, BarRow, Labels, Line, LineChart, LinePanel};
use insight::figure::Quantity;
use model::run::Run;
use model::stats::quantile::median;
use model::transfer::{Spread, Transfer, TransferResult, TransferRow, TransferTimes};
use model::units::Nanos;

/// All of them that have something to show.
pub(in crate::format::run) fn transfers(run: &Run, result: &TransferResult) -> Vec<Block> {
    let subtitle = run.transfer().map(transfer::title).unwrap_or_default();
    let charts = [
        side_by_side(&result.rows, &subtitle).map(Chart::Bars),
        one_by_one(result, &subtitle).map(Chart::Lines),
        parts(result).map(Chart::Bars),
        packets(&result.rows).map(Chart::Bars),
    ];
    charts.into_iter().flatten().map(Block::Chart).collect()
}

/// The median rate of each row; none of a single one.
fn side_by_side(rows: &[TransferRow], subtitle: &str) -> Option<BarChart> {
    let known: Vec<(&TransferRow, Spread)> = rows.iter().filter_map(|row| Some((row, row.rate?))).collect();
    let (unit, scale) = Quantity::Rate.axis(known.iter().map(|(_, rate)| rate.max));
    let row = |(row, rate): &(&TransferRow, Spread)| BarRow {
        name: row.label.clone(),
        bars: vec![Some(Bar {
            value: rate.median / scale,
            whisker: Some([rate.min / scale, rate.max / scale]),
            mark: None,
        })],
        missing: String::new(),
    };
    (known.len() > 1).then(|| BarChart {
        title: "Rate of the transfers".into(),
        subtitle: subtitle.into(),
        unit: unit.into(),
        labels: Labels::Rate(scale),
        series: vec!["median".into()],
        whiskers: Some("min and max".into()),
        ..BarChart::of_rows(known.iter().map(row).collect())
    })
}

/// Rate and whole time of every transfer, a line for each row; where one failed there is a gap.
fn one_by_one(result: &TransferResult, subtitle: &str) -> Option<LineChart> {
    let whole = || result.transfers.iter().filter(|one| one.error.is_none());
    let last = whole().map(|one| one.repetition).max()?;
    let (unit, scale) = Quantity::Rate.axis(whole().map(|one| one.rate.0 as f64));
    let (time_unit, time_scale) = Quantity::Time.axis(whole().map(|one| one.times.total.0 as f64));
    let lines = |value: &dyn Fn(&Transfer) -> f64| {
        let line = |row: &TransferRow| {
            let at = |repetition: u32| own(result, row).find(|one| one.repetition == repetition).map(value);
            Line::new(row.label.clone(), (1..=last).map(at).collect())
        };
        result.rows.iter().filter(|row| row.count > 0).map(line).collect()
    };
    let panel = |title: &str, unit: &str, lines: Vec<Line>| LinePanel::new(title, unit, lines);
    Some(LineChart {
        title: "Each transfer".into(),
        subtitle: subtitle.into(),
        across: Across::names("Transfer", (1..=last).map(|number| number.to_string()).collect()),
        limit: None,
        panels: vec![
            panel("Rate", unit, lines(&|one| one.rate.0 as f64 / scale)),
            panel("Total time", time_unit, lines(&|one| one.times.total.0 as f64 / time_scale)),
        ],
    })
}

/// The parts of the time of each row: a panel for each, bars for the parts.
fn parts(result: &TransferResult) -> Option<BarChart> {
    let known: Vec<&TransferRow> = result.rows.iter().filter(|row| row.count > 0).take(MOST_ROWS).collect();
    let has = |part: &&Part| known.iter().any(|row| times(result, row, part.1).is_some());
    let shown: Vec<&Part> = PARTS.iter().filter(has).collect();
    let all = known.iter().flat_map(|row| shown.iter().filter_map(|part| times(result, row, part.1)));
    let (unit, scale) = Quantity::Time.axis(all.map(|[_, _, most]| most));
    let bar = |[least, middle, most]: [f64; 3]| Bar {
        value: middle / scale,
        whisker: (most > least).then_some([least / scale, most / scale]),
        mark: None,
    };
    let row = |row: &TransferRow, part: &Part| {
        BarRow::new(part.0, vec![times(result, row, part.1).map(bar)], "none")
    };
    let panel = |of: &&TransferRow| BarPanel {
        title: if known.len() > 1 { of.label.clone() } else { String::new() },
        rows: shown.iter().map(|part| row(of, part)).collect(),
    };
    (!known.is_empty()).then(|| BarChart {
        title: "Where the time goes".into(),
        subtitle: "the parts follow one another; after the first byte comes the rest of the body".into(),
        unit: unit.into(),
        labels: Labels::Time(scale),
        series: vec!["median".into()],
        whiskers: Some("min and max".into()),
        panels: known.iter().map(panel).collect(),
        ..BarChart::default()
    })
}

/// Payload of a segment, on the mean; of captured packets their sizes.
fn packets(rows: &[TransferRow]) -> Option<BarChart> {
    let mean = |row: &TransferRow| row.packets.map(|packets| packets.mean).or(row.mean_payload);
    let is_captured = rows.iter().any(|row| row.packets.is_some());
    let largest = |row: &TransferRow| match row.packets {
        Some(packets) => Some(packets.largest as f64),
        None => row.mss.map(f64::from),
    };
    let known: Vec<(&TransferRow, f64)> = rows.iter().filter_map(|row| Some((row, mean(row)?))).collect();
    let row = |(row, mean): &(&TransferRow, f64)| {
        BarRow::new(
            row.label.clone(),
            vec![Some(Bar { value: *mean, whisker: None, mark: largest(row) })],
            "",
        )
    };
    let (title, mark) = match is_captured {
        true => ("Size of the packets, captured", "the largest, and the share of it"),
        false => ("Payload of the segments", "the largest (MSS), and the share of it"),
    };
    (!known.is_empty()).then(|| BarChart {
        title: title.into(),
        subtitle: "the nearer to the largest, the fewer packets carry the same".into(),
        unit: "bytes".into(),
        series: vec!["mean".into()],
        mark: Some(mark.into()),
        is_reference: true,
        ..BarChart::of_rows(known.iter().map(row).collect())
    })
}

/// The whole transfers of a row.
fn own<'a>(result: &'a TransferResult, row: &'a TransferRow) -> impl Iterator<Item = &'a Transfer> {
    let is_own = |one: &&Transfer| one.error.is_none() && (one.mtu, &one.label) == (row.mtu, &row.file);
    result.transfers.iter().filter(is_own)
}

/// The least, the median and the most of a part of the time, in nanoseconds.
fn times(result: &TransferResult, row: &TransferRow, part: Time) -> Option<[f64; 3]> {
    let all: Vec<f64> =
        own(result, row).filter_map(|one| part(&one.times)).map(|time| time.0 as f64).collect();
    let ends =
        all.iter().fold([f64::INFINITY, 0.0], |[least, most], time| [least.min(*time), most.max(*time)]);
    Some([ends[0], median(&all)?, ends[1]])
}

type Time = fn(&TransferTimes) -> Option<Nanos>;
type Part = (&'static str, Time);

const PARTS: [Part; 5] = [
    ("name lookup", |times| times.dns),
    ("connect", |times| times.connect),
    ("TLS", |times| times.tls),
    ("first byte", |times| times.first_byte),
    ("total", |times| Some(times.total)),
];
/// More panels of parts are not looked at.
const MOST_ROWS: usize = 6;
