//! A run of transfers: its heading, a line for each transfer, the table by MTU and file, a chart, and the verdict's reasons.

mod chart;
mod table;

pub(in crate::format) use table::{changes, columns, rows};

use super::super::table::plain;
use super::super::{Paint, Style};
use super::{heading, phrases};
use crate::document::Column;
use model::run::Run;
use model::stats::quantile::median;
use model::transfer::{
    MtuOf, Transfer, TransferBody, TransferFile, TransferPlan, TransferRow, TransferStarted, TransferTimes,
    Trust,
};
use model::units::{Bytes, Nanos, count, grouped};

/// The heading of a run that begins.
pub(super) fn started(begun: &TransferStarted, style: &Style) -> String {
    let plan = &begun.plan;
    let file = |file: &TransferFile| {
        let label = if plan.files.len() > 1 { format!("{}: ", file.label) } else { String::new() };
        format!("{label}{} at {}", file.url, file.address)
    };
    let mut lines: Vec<String> = plan.files.iter().map(file).collect();
    lines.push(manner(plan));
    lines.push(format!("this end: {}", heading::host_line(&begun.host)));
    heading::join(&title(plan), &lines, style) + &head(plan)
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
        (mtus, Some(of)) => {
            let mtus = mtus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let of = match of {
                MtuOf::Interface { name, .. } => name.clone(),
                MtuOf::Route { .. } => "the route".into(),
            };
            format!("{what} at MTU {mtus} of {of}")
        }
    }
}

/// Head of the lines of single transfers.
pub(super) fn head(plan: &TransferPlan) -> String {
    let width = label_width(plan);
    format!(
        "\n  {:>4}  {:<width$}  {:>13}  {:>8}  {:>10}  {:>8}  {:>6}\n",
        "run", "what", "rate", "total", "first byte", "segments", "resent"
    )
}

/// The line of one transfer, as it ends.
pub(super) fn row(transfer: &Transfer, plan: &TransferPlan) -> String {
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

/// The text below the lines: the table, the chart, where the time went, errors.
pub(in crate::format) fn transfer_text(run: &Run, style: &Style) -> String {
    let Some(result) = &run.summary.transfer else { return String::new() };
    if result.rows.iter().all(|row| row.count == 0) {
        // There is no figure; the verdict says why.
        return String::new();
    }
    let mut text = format!("\n{}", plain(&columns(&result.rows), &rows(&result.rows), style));
    let (columns, changes) = changes(&result.rows);
    if !changes.is_empty() {
        text.push_str(&format!("\n{}", plain(&columns, &changes, style)));
    }
    text.push_str(&chart::draw_chart(&result.rows, style));
    text.push_str(&times(run, &result.rows, style));
    let packets = packets(&result.rows);
    if !packets.is_empty() {
        let title = style.paint(Paint::Bold, "Packets of one transfer, captured (mean)");
        let columns = ["sent", "received", "mean size", "largest"].map(Column::right);
        let columns = [vec![Column::left("what")], columns.to_vec()].concat();
        text.push_str(&format!("\n{title}\n{}", plain(&columns, &packets, style)));
    }
    for note in notes(run) {
        let lines = style.wrap(&note, 2);
        text.push('\n');
        text.extend(lines.iter().map(|line| format!("  {line}\n")));
    }
    text
}

/// The figures of a capture of each row's transfers.
fn packets(rows: &[TransferRow]) -> Vec<Vec<String>> {
    let row = |row: &TransferRow| {
        let observed = row.packets?;
        Some(vec![
            phrases::cut(&row.label, MOST_LABEL),
            grouped(observed.up.round() as u64),
            grouped(observed.down.round() as u64),
            format!("{} B", grouped(observed.mean.round() as u64)),
            format!("{} B", grouped(observed.largest)),
        ])
    };
    rows.iter().filter_map(row).collect()
}

/// Where the time goes: the parts of each row's transfers.
fn times(run: &Run, rows: &[TransferRow], style: &Style) -> String {
    let parts = rows.iter().filter_map(|row| parts(run, row));
    let rows: Vec<Vec<String>> = parts.map(Vec::from).collect();
    let filled: Vec<usize> =
        (0..PARTS.len()).filter(|part| rows.iter().any(|row| !row[*part].is_empty())).collect();
    let columns: Vec<Column> = filled
        .iter()
        .map(|part| if *part == 0 { Column::left(PARTS[0]) } else { Column::right(PARTS[*part]) })
        .collect();
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| filled.iter().map(|part| row[*part].clone()).collect()).collect();
    let title = style.paint(Paint::Bold, "Where the time goes (median)");
    format!("\n{title}\n{}", plain(&columns, &rows, style))
}

const PARTS: [&str; 6] = ["what", "name", "connect", "TLS", "first byte", "total"];

/// The parts of a row's time, as its columns.
fn parts(run: &Run, row: &TransferRow) -> Option<[String; PARTS.len()]> {
    let of = |part: fn(&TransferTimes) -> Option<Nanos>| {
        let own = run.summary.transfer.iter().flat_map(|result| &result.transfers);
        let own = own.filter(|one| one.error.is_none() && (one.mtu, &one.label) == (row.mtu, &row.file));
        let times: Vec<f64> = own.filter_map(|one| part(&one.times)).map(|time| time.0 as f64).collect();
        median(&times).map(|time| Nanos(time as u64))
    };
    let total = of(|times| Some(times.total))?;
    let times = [
        of(|times| times.dns),
        of(|times| times.connect),
        of(|times| times.tls),
        of(|times| times.first_byte),
    ];
    let [dns, connect, tls, first] = times.map(|time| time.map(|time| time.to_string()).unwrap_or_default());
    Some([phrases::cut(&row.label, MOST_LABEL), dns, connect, tls, first, total.to_string()])
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
