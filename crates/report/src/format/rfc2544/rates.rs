//! The rates that searches found: RFC 2544's throughput, and NDR, PDR and MRR as CSIT shows them.

use super::head::{Head, frames, network};
use super::sentences::goal_name;
use crate::document::{Cell, Column, Table};
use crate::format::gather::by_key;
use model::dut::{DeviceReport, LoadLimit, RateReport, Stream, StreamReport};
use model::framing::WIRE_OVERHEAD;
use model::search::Irregular;
use model::units::{percent, significant};

/// A rate of a stream: of each direction, or of both together.
#[derive(Clone)]
struct Rate {
    head: Option<Head>,
    directions: Option<&'static str>,
    line: Option<f64>,
    pps: Option<f64>,
    least: bool,
    share: Option<f64>,
    bits: Option<[f64; 2]>,
    remark: String,
}

/// RFC 2544 section 26.1's table.
pub(super) fn throughput(device: &DeviceReport) -> Option<Table> {
    let rows: Vec<Rate> = device.rows.iter().flat_map(|row| of_row(device, row)).collect();
    let table = Table::of_cells("Throughput (RFC 2544 section 26.1)", &THROUGHPUT, &rows)?;
    Some(table.with_notes(vec![LAYERS.to_owned()]))
}

fn of_row(device: &DeviceReport, row: &StreamReport) -> Vec<Rate> {
    let Some(found) = row.rates.iter().find(|rate| rate.goal == "throughput") else { return Vec::new() };
    let count = row.stream.direction_count();
    let single = of_rate(device, row, found);
    if count == 1 {
        return vec![single];
    }
    let both = Rate {
        head: None,
        directions: Some("sum"),
        line: single.line.map(|line| line * 2.0),
        pps: single.pps.map(|pps| pps * 2.0),
        bits: single.bits.map(|bits| bits.map(|bits| bits * 2.0)),
        remark: String::new(),
        ..single.clone()
    };
    vec![Rate { directions: Some("each"), ..single }, both]
}

fn of_rate(device: &DeviceReport, row: &StreamReport, found: &RateReport) -> Rate {
    let line = row.line_rate.map(|line| line.0);
    let pps = found.lower.map(|load| load.0);
    Rate {
        head: Some(Head::from_row(device, row)),
        directions: None,
        line,
        pps,
        least: is_least(row, found),
        share: pps.zip(line).filter(|(_, line)| *line > 0.0).map(|(pps, line)| pps / line),
        bits: pps.map(|pps| bits(&row.stream, pps)),
        remark: remark(row, found),
    }
}

const THROUGHPUT: [Cell<Rate>; 9] = [
    Cell("Frame", true, |rate| rate.head.as_ref()?.frame()),
    Cell("", false, |rate| rate.head.as_ref()?.network()),
    Cell("Directions", false, |rate| rate.directions.map(str::to_owned)),
    Cell("Line Mpps", true, |rate| rate.line.map(mega)),
    Cell("Mpps", true, |rate| Some(least(mega(rate.pps?), rate.least))),
    Cell("of line", true, |rate| rate.share.map(percent)),
    Cell("Gbit/s L2", true, |rate| rate.bits.map(|[l2, _]| giga(l2))),
    Cell("Gbit/s L1", true, |rate| rate.bits.map(|[_, l1]| giga(l1))),
    Cell("", false, |rate| Some(rate.remark.clone()).filter(|remark| !remark.is_empty())),
];

/// NDR, PDR and MRR, as CSIT shows them: all directions together.
pub(super) fn csit(device: &DeviceReport) -> Option<Table> {
    let goals: Vec<&str> = GOALS.into_iter().filter(|goal| has(device, goal)).collect();
    let with_mrr = device.rows.iter().any(|row| row.mrr.is_some());
    let shown =
        |row: &&StreamReport| row.mrr.is_some() || row.rates.iter().any(|rate| rate.goal != "throughput");
    let rows: Vec<&StreamReport> = device.rows.iter().filter(shown).collect();
    let mut names: Vec<String> = goals.iter().map(|goal| goal_name(goal)).collect();
    names.extend(with_mrr.then(|| "MRR".into()));
    if rows.is_empty() || names.is_empty() {
        return None;
    }
    let mut columns = vec![Column::right("Frame")];
    let networked = rows.iter().any(|row| network(device, &row.stream).is_some());
    columns.extend(networked.then(|| Column::left("")));
    for name in names.iter().take(goals.len()) {
        columns.extend([format!("{name} Mpps"), "L2".into(), "L1".into()].map(Column::right));
    }
    if with_mrr {
        columns.extend(["MRR Mpps", "±", "lost"].map(Column::right));
    }
    let row = |row: &&StreamReport| {
        let mut cells = vec![row.stream.frames.name.clone()];
        cells.extend(networked.then(|| row.stream.network.to_string()));
        cells.extend(goals.iter().flat_map(|goal| goal_cells(row, goal)));
        cells.extend(with_mrr.then(|| mrr_cells(row)).into_iter().flatten());
        cells
    };
    let title =
        format!("{}: frames, and Gbit/s of layers 2 and 1, all directions together", names.join(", "));
    let table = Table::new(columns, rows.iter().map(row).collect());
    Some(Table { title, notes: remarks(device, &rows, &goals), ..table })
}

fn goal_cells(row: &StreamReport, goal: &str) -> [String; 3] {
    let Some(found) = row.rates.iter().find(|rate| rate.goal == goal) else {
        return [const { String::new() }; 3];
    };
    let Some(lower) = found.lower else { return ["none".into(), String::new(), String::new()] };
    let pps = lower.0 * row.stream.direction_count() as f64;
    let [l2, l1] = bits(&row.stream, pps);
    [least(mega(pps), is_least(row, found)), giga(l2), giga(l1)]
}

fn mrr_cells(row: &StreamReport) -> [String; 3] {
    let Some(mrr) = &row.mrr else { return [const { String::new() }; 3] };
    let spread = mrr.forwarded.stddev.map(mega).unwrap_or_default();
    [mega(mrr.forwarded.mean), spread, percent(mrr.loss_ratio)]
}

fn has(device: &DeviceReport, goal: &str) -> bool {
    device.rows.iter().any(|row| row.rates.iter().any(|rate| rate.goal == goal))
}

/// Remarks on these rates, those with the same one together.
fn remarks(device: &DeviceReport, rows: &[&StreamReport], goals: &[&str]) -> Vec<String> {
    let of_goal = |goal: &&str| {
        let remarked = |row: &&StreamReport| {
            let remark = remark(row, row.rates.iter().find(|rate| rate.goal == *goal)?);
            let place = || format!("{} of {}", goal_name(goal), frames(device, &row.stream));
            (!remark.is_empty()).then(|| (remark, place()))
        };
        rows.iter().filter_map(remarked).collect::<Vec<_>>()
    };
    let groups = by_key(goals.iter().flat_map(of_goal)).into_iter();
    groups.map(|(remark, places)| format!("{}: {remark}.", places.join(", "))).collect()
}

/// Bits per second of layer 2 (frames with FCS) and layer 1 (with preamble and gap).
pub(super) fn bits(stream: &Stream, pps: f64) -> [f64; 2] {
    [0, WIRE_OVERHEAD.0].map(|more| pps * (stream.frames.mean() + more as f64) * 8.0)
}

/// The remarks on a rate, in words.
pub(super) fn remark(row: &StreamReport, rate: &RateReport) -> String {
    let limit = row.bound_by(rate).map(|limit| match limit {
        LoadLimit::LineRate => "line rate",
        LoadLimit::Asked => "the most load asked for",
        LoadLimit::Generator => "generator-bound",
    });
    let phrases = rate.irregular.iter().filter_map(|word| match word {
        Irregular::NoUpperBound | Irregular::GeneratorLimited => None,
        Irregular::NoLowerBound => Some("none: the least load failed"),
        Irregular::Unfinished => Some("search unfinished"),
        Irregular::LossInversion => Some("loss inversion"),
        Irregular::Duplicates => Some("duplicates"),
    });
    limit.into_iter().chain(phrases).collect::<Vec<_>>().join(", ")
}

pub(super) fn is_least(row: &StreamReport, rate: &RateReport) -> bool {
    matches!(row.bound_by(rate), Some(LoadLimit::Asked | LoadLimit::Generator))
}

pub(super) fn least(value: String, least: bool) -> String {
    if least { format!("≥ {value}") } else { value }
}

pub(super) fn mega(pps: f64) -> String {
    significant(pps / 1e6)
}

pub(super) fn giga(bits: f64) -> String {
    significant(bits / 1e9)
}

const LAYERS: &str = "Rates are of each direction unless stated otherwise. L2: frames with their FCS; L1: with preamble and gap too.";
/// In the order of the columns; the throughput has a table of its own.
const GOALS: [&str; 2] = ["ndr", "pdr"];
