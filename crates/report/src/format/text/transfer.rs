//! A run of transfers: its heading, a line for each transfer, the table by MTU and file, a chart, and the verdict's reasons.

mod table;

use super::super::Style;
use super::{heading, phrases};
use crate::document::{Block, Cell, Line, Paint, Part, Table, TextBar};
use model::run::Run;
use model::stats::quantile::median;
use model::transfer::{
    MtuOf, Transfer, TransferBody, TransferFile, TransferPlan, TransferResult, TransferRow, TransferStarted,
    TransferTimes, Trust,
};
use model::units::{BitRate, Bytes, Nanos, count, grouped};

/// The text on a terminal when a run of transfers begins: the heading and the head of their lines.
pub fn started(begun: &TransferStarted, style: &Style) -> String {
    let plan = &begun.plan;
    let file = |file: &TransferFile| {
        let label = if plan.files.len() > 1 { format!("{}: ", file.label) } else { String::new() };
        format!("{label}{} at {}", file.url, file.address)
    };
    let mut lines: Vec<String> = plan.files.iter().map(file).collect();
    lines.push(manner(plan));
    lines.push(format!("this end: {}", heading::host_line(&begun.host)));
    heading::join(&title(plan), &lines, style) + &super::lines::lines(&head(plan), style)
}

/// How the transfers are made.
pub(in crate::format) fn manner(plan: &TransferPlan) -> String {
    let mut how =
        vec![format!("{} of each, interleaved, each over a connection of its own", plan.repetitions)];
    match &plan.trust {
        Trust::System => {}
        Trust::File(path) => how.push(format!("trusts {path}")),
        Trust::Everybody => how.push("INSECURE: trusts everybody".into()),
    }
    how.extend(plan.mss.map(|mss| format!("MSS {mss}")));
    how.extend(plan.congestion.clone());
    how.join(", ")
}

/// The run in a line.
pub(in crate::format) fn title(plan: &TransferPlan) -> String {
    let what = match &plan.body {
        None => format!("Transfer by {}", plan.method),
        Some(TransferBody::Size(size)) => format!("Transfer by {} of {size}", plan.method),
        Some(TransferBody::File { path, size }) => format!("Transfer by {} of {path} ({size})", plan.method),
    };
    match (plan.mtus.as_slice(), &plan.mtu_of) {
        ([], _) | (_, None) => what,
        (mtus, Some(place)) => {
            let mtus = mtus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let place = match place {
                MtuOf::Interface { name, .. } => name.clone(),
                MtuOf::Route { .. } => "the route".into(),
            };
            format!("{what} at MTU {mtus} of {place}")
        }
    }
}

/// Head of the lines of single transfers.
pub(super) fn head(plan: &TransferPlan) -> Vec<Line> {
    let width = label_width(plan);
    let heads = format!(
        "  {:>4}  {:<width$}  {:>13}  {:>8}  {:>10}  {:>8}  {:>6}",
        "run", "what", "rate", "total", "first byte", "segments", "resent"
    );
    vec![Line::default(), Line::new(Paint::Plain, heads)]
}

/// The line of one transfer, as it ends.
pub fn row(transfer: &Transfer, plan: &TransferPlan) -> String {
    let label = phrases::cut(&plan.row_label(transfer.mtu, &transfer.label), label_width(plan));
    let start = format!("  {:>4}  {label:<width$}", transfer.repetition, width = label_width(plan));
    if let Some(error) = &transfer.error {
        let line = format!("{start}  failed after {}: {error}", transfer.bytes);
        return phrases::cut(&line, MOST_LINE) + "\n";
    }
    let first = transfer.times.first_byte.map(|time| time.to_string()).unwrap_or_default();
    let tcp = transfer.tcp.as_ref();
    let segments = tcp.and_then(|tcp| tcp.data_segments).map(grouped).unwrap_or_default();
    let resent = tcp.map(|tcp| grouped(tcp.retransmits)).unwrap_or_default();
    let mut line = format!(
        "{start}  {:>13}  {:>8}  {first:>10}  {segments:>8}  {resent:>6}",
        transfer.rate.to_string(),
        transfer.times.total.to_string()
    );
    line.truncate(line.trim_end().len());
    line.push('\n');
    if !transfer.redirects.is_empty() && transfer.repetition == 1 {
        line.push_str(
            &(phrases::cut(
                &format!("        redirected to {}", transfer.redirects.join(", then ")),
                MOST_LINE,
            ) + "\n"),
        );
    }
    line
}

fn label_width(plan: &TransferPlan) -> usize {
    let labels = plan.series().map(|(mtu, file)| plan.row_label(mtu, &file.label).chars().count());
    labels.max().unwrap_or(0).clamp(4, MOST_LABEL)
}

/// The table, the changes, bars, where the time went, packets, and notes.
pub(in crate::format) fn sections(run: &Run) -> Vec<Vec<Part>> {
    // Without a figure the verdict states why.
    let measured = |result: &&TransferResult| result.rows.iter().any(|row| row.count > 0);
    let Some(result) = run.summary.transfer.as_ref().filter(measured) else { return Vec::new() };
    let rows = &result.rows;
    let titled = |title: &str, table: Option<Table>| match table {
        Some(table) => vec![Block::Heading(title.into()).into(), Block::Table(table).into()],
        None => Vec::new(),
    };
    let untitled = |table: Option<Table>| table.map(|table| Block::Table(table).into()).into_iter().collect();
    let spent: Vec<Times> = rows.iter().filter_map(|row| times(result, row)).collect();
    let observed: Vec<TransferRow> = rows.iter().filter(|row| row.packets.is_some()).cloned().collect();
    let sections = [
        untitled(table::figures(rows)),
        untitled(table::changes(rows)),
        bars(rows),
        titled("Where the time goes (median)", Table::of_cells("", &TIMES, &spent)),
        titled("Packets of one transfer, captured (mean)", Table::of_cells("", &PACKETS, &observed)),
    ];
    let notes = notes(run).into_iter().map(|note| vec![Block::Paragraph(note).into()]);
    sections.into_iter().chain(notes).collect()
}

/// Bars of the rates, so that the eye can compare: on an axis that starts where the differences are. None of a single row.
fn bars(rows: &[TransferRow]) -> Vec<Part> {
    let medians: Vec<(&TransferRow, f64)> =
        rows.iter().filter_map(|row| Some((row, row.rate?.median))).collect();
    let most = medians.iter().map(|(_, median)| *median).fold(0.0, f64::max);
    if medians.len() < 2 || most <= 0.0 {
        return Vec::new();
    }
    let least = medians.iter().map(|(_, median)| *median).fold(most, f64::min);
    // Bars that differ by a hundredth look alike on an axis from zero; differences that are noise shall.
    let noise = rows.iter().filter_map(|row| Some(row.rate?.stddev)).fold(0.0, f64::max);
    let clear = least > most * 0.8 && most - least > noise;
    let from = if clear { least - (most - least).max(most * 0.005) } else { 0.0 };
    let axis = if from > 0.0 { format!(", bars from {}", BitRate(from as u64)) } else { String::new() };
    let bar = |(row, median): (&TransferRow, f64)| TextBar {
        name: phrases::cut(&row.label, MOST_LABEL),
        value: BitRate(median as u64).to_string(),
        share: (median - from) / (most - from).max(1.0),
        limit: None,
    };
    vec![Part::Bars(format!("Median rate{axis}"), medians.into_iter().map(bar).collect())]
}

/// The figures of a capture of a row's transfers.
const PACKETS: [Cell<TransferRow>; 5] = [
    Cell("what", false, |row| Some(phrases::cut(&row.label, MOST_LABEL))),
    Cell("sent", true, |row| Some(grouped(row.packets?.up.round() as u64))),
    Cell("received", true, |row| Some(grouped(row.packets?.down.round() as u64))),
    Cell("mean size", true, |row| Some(format!("{} B", grouped(row.packets?.mean.round() as u64)))),
    Cell("largest", true, |row| Some(format!("{} B", grouped(row.packets?.largest)))),
];

/// The parts of a row's time.
const TIMES: [Cell<Times>; 6] = [
    Cell("what", false, |row| Some(row.0.clone())),
    Cell("name", true, |row| row.1[0].map(|time| time.to_string())),
    Cell("connect", true, |row| row.1[1].map(|time| time.to_string())),
    Cell("TLS", true, |row| row.1[2].map(|time| time.to_string())),
    Cell("first byte", true, |row| row.1[3].map(|time| time.to_string())),
    Cell("total", true, |row| row.1[4].map(|time| time.to_string())),
];

/// A label, and the medians of the times to its parts.
type Times = (String, [Option<Nanos>; 5]);

fn times(result: &TransferResult, row: &TransferRow) -> Option<Times> {
    let median_of = |part: fn(&TransferTimes) -> Option<Nanos>| {
        let own = result.transfers.iter();
        let own = own.filter(|one| one.error.is_none() && (one.mtu, &one.label) == (row.mtu, &row.file));
        let times: Vec<f64> = own.filter_map(|one| part(&one.times)).map(|time| time.0 as f64).collect();
        median(&times).map(|time| Nanos(time as u64))
    };
    let total = median_of(|times| Some(times.total))?;
    let parts = [
        median_of(|times| times.dns),
        median_of(|times| times.connect),
        median_of(|times| times.tls),
        median_of(|times| times.first_byte),
        Some(total),
    ];
    Some((phrases::cut(&row.label, MOST_LABEL), parts))
}

/// Notes that a reader must know beside the table.
fn notes(run: &Run) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let small = run.summary.transfer.iter().flat_map(|result| result.kept_small());
    notes.extend(small.map(|(row, packet)| {
        let label = &row.label;
        format!("{label}: packets stayed at {packet} bytes, as the far end or the path takes no larger")
    }));
    let failed: Vec<&Transfer> =
        run.summary.transfer.iter().flat_map(|r| &r.transfers).filter(|one| one.error.is_some()).collect();
    if let Some(first) = failed.first() {
        let error = first.error.as_deref().unwrap_or_default();
        let came = if first.bytes > Bytes::ZERO { format!(", after {}", first.bytes) } else { String::new() };
        notes.push(format!("{} failed; the first{came}: {error}", count(failed.len() as u64, "transfer")));
    }
    notes
}

const MOST_LABEL: usize = 17;
const MOST_LINE: usize = 80;
