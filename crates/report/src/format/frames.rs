//! A sweep over frame sizes: its table, its notes, its bars, and its chart.

use super::gather::by_key;
use crate::document::{Block, Cell, Part, Table, TextBar};
use crate::plot::{Across, Line, LineChart, LinePanel};
use model::frames::FrameRow;
use model::limit::{Limit, LimitKind};
use model::plan::Transport;
use model::run::Run;
use model::units::{percent, significant};

/// The line of a row as it ends.
#[must_use]
pub fn progress(row: &FrameRow) -> String {
    let what = format!("{:>6}  {}", row.frame, row.protocol);
    if let Some(why) = &row.skipped {
        return format!("{what}  {why}");
    }
    let packets = row.packets_per_second.map(|rate| format!("  {rate}")).unwrap_or_default();
    let share = row.share.map(|share| format!("  {} of line rate", percent(share))).unwrap_or_default();
    format!("{what}  {}{packets}{share}", row.goodput)
}

/// Throughput and packets per second over frame size, with what the link's rate allows above.
#[must_use]
pub fn chart(run: &Run) -> LineChart {
    let rows = &run.summary.rows;
    let mut sizes: Vec<u32> = rows.iter().map(|row| row.frame).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let panel = |title: &str, unit: &str, value: Value, limit: Value| {
        let line = |protocol: Transport| Line {
            name: protocol.to_string(),
            values: over(rows, &sizes, protocol, value),
            limit: over(rows, &sizes, protocol, limit),
        };
        LinePanel::new(title, unit, protocols(rows).into_iter().map(line).collect())
    };
    let known = rows.iter().any(|row| row.line_rate_pps.is_some());
    LineChart {
        title: title(run),
        subtitle: subtitle(run),
        across: Across::sizes("Ethernet frame with FCS, bytes", sizes.iter().map(u32::to_string).collect()),
        limit: known.then(|| "line rate".into()),
        panels: vec![
            panel("Goodput", "Gbit/s", goodput, goodput_limit),
            panel("Packets", "Mpps", packets, packets_limit),
        ],
    }
}

pub(super) type Value = fn(&FrameRow) -> Option<f64>;

pub(super) fn goodput(row: &FrameRow) -> Option<f64> {
    row.payload.map(|_| row.goodput.0 as f64 / 1e9)
}

pub(super) fn goodput_limit(row: &FrameRow) -> Option<f64> {
    Some(row.line_rate_pps?.0 as f64 * row.payload? * 8.0 / 1e9)
}

pub(super) fn packets(row: &FrameRow) -> Option<f64> {
    row.packets_per_second.map(|rate| rate.0 as f64 / 1e6)
}

pub(super) fn packets_limit(row: &FrameRow) -> Option<f64> {
    row.line_rate_pps.map(|rate| rate.0 as f64 / 1e6)
}

pub(super) fn over(rows: &[FrameRow], sizes: &[u32], protocol: Transport, value: Value) -> Vec<Option<f64>> {
    let value_at =
        |size: &u32| rows.iter().find(|row| row.frame == *size && row.protocol == protocol).and_then(value);
    sizes.iter().map(value_at).collect()
}

fn protocols(rows: &[FrameRow]) -> Vec<Transport> {
    let has = |protocol: &Transport| rows.iter().any(|row| row.protocol == *protocol);
    [Transport::Tcp, Transport::Udp].into_iter().filter(has).collect()
}

/// The sweep, in a line.
pub(super) fn title(run: &Run) -> String {
    let host = run.tests.iter().find_map(|test| test.throughput());
    let host = host.map(|plan| format!(" to {}", plan.target.host)).unwrap_or_default();
    let one_way = run.summary.rows.first().map(|row| format!(", {}", row.direction)).unwrap_or_default();
    format!("Frame sizes{host}{one_way}")
}

/// The link and the encapsulation.
pub(super) fn subtitle(run: &Run) -> String {
    let link = match &run.summary.link {
        Some(link) => format!("Link {} ({})", link.rate, link.source),
        None => "Link of unknown speed: no line rate".into(),
    };
    let encap = run.summary.rows.iter().find_map(|row| row.encap.clone());
    encap.map_or(link.clone(), |encap| format!("{link}, frames carried in {encap}"))
}

/// The table and its notes; with details legend and bars, of which the table has the figures, too.
pub(super) fn parts(run: &Run) -> Vec<Part> {
    let rows = &run.summary.rows;
    let legend = Part::Small(vec![LEGEND.into()]);
    let goodputs = bars("Goodput, Gbit/s", rows, goodput, goodput_limit);
    let packets = bars("Packets, Mpps", rows, packets, packets_limit);
    vec![
        Block::Table(table(rows)).into(),
        Block::list(notes(run)).into(),
        Part::Full(vec![Part::gap(), legend, goodputs, packets]),
    ]
}

/// A row for each size and transport.
pub(super) fn table(rows: &[FrameRow]) -> Table {
    Table::of_cells("", &CELLS, rows).unwrap_or_default().with_spare(&SPARE)
}

/// Columns that a narrow screen has no room for, the first ones first.
const SPARE: [&str; 4] = ["Device", "CPU", "Bytes", "Line"];

const CELLS: [Cell<FrameRow>; 10] = [
    Cell("Frame", true, |row| Some(row.frame.to_string())),
    Cell("Test", false, |row| Some(row.protocol.to_string())),
    Cell("Bytes", true, |row| or_dash(row.payload.map(|payload| format!("{payload:.0}")))),
    Cell("Gbit/s", true, |row| or_dash(goodput(row).map(significant))),
    Cell("Mpps", true, |row| or_dash(packets(row).map(significant))),
    Cell("Device", true, |row| or_dash(device(row).map(significant))),
    Cell("Line", true, |row| or_dash(packets_limit(row).map(significant))),
    Cell("Share", true, |row| or_dash(row.share.map(percent))),
    Cell("CPU", true, |row| {
        let cpu =
            |share: Option<f64>| share.map_or_else(|| "-".into(), |share| format!("{:.0}", share * 100.0));
        or_dash(row.skipped.is_none().then(|| format!("{}/{}", cpu(row.sender_cpu), cpu(row.receiver_cpu))))
    }),
    Cell("Limit", false, |row| Some(if row.skipped.is_none() { limit(row) } else { "not run".into() })),
];

/// A column that no row fills stays.
fn or_dash(cell: Option<String>) -> Option<String> {
    Some(cell.unwrap_or_else(|| "-".into()))
}

/// Mpps that the interface counted while the test ran.
fn device(row: &FrameRow) -> Option<f64> {
    let device = row.device.as_ref().filter(|device| device.packets > 0)?;
    Some(row.offered?.0 as f64 / 1e6 * device.frames as f64 / device.packets as f64)
}

/// The limit of the rate, in a word or two.
fn limit(row: &FrameRow) -> String {
    if let Some(limit) = row.limit.as_deref() {
        return short(limit);
    }
    match row.limited_by.first().map(String::as_str) {
        None => "-".into(),
        Some("at-line-rate") => "line rate".into(),
        Some("link-speed-wrong") => "link speed?".into(),
        Some("receiver-limited" | "receiver-buffer-loss") => "receiver".into(),
        Some("sender-limited") => "sender".into(),
        Some("window-limited") => "window".into(),
        Some("path-loss") => "path loss".into(),
        Some(other) => other.into(),
    }
}

/// A limit of a row: its kind, and the figure that it sets.
fn short(limit: &Limit) -> String {
    let kind = match limit.kind {
        LimitKind::LineRate => "line rate".into(),
        LimitKind::SenderCpu => "sender CPU".into(),
        LimitKind::ReceiverCpu => "receiver CPU".into(),
        kind => kind.to_string().replace('-', " "),
    };
    let figure = match (limit.packets, limit.rate) {
        (Some(packets), _) => format!(" {packets}"),
        (None, Some(rate)) if limit.kind.is_of_the_path() => format!(" {rate}"),
        _ => String::new(),
    };
    kind + &figure
}

/// The limit of the path as a note: where several rows have it, once.
fn limit_of_path(rows: &[FrameRow]) -> Option<String> {
    let of_path = |row: &&FrameRow| row.limit.as_ref().is_some_and(|limit| limit.kind.is_of_the_path());
    let limit = rows.iter().find(of_path)?.limit.as_deref()?;
    Some(format!("Limit of the path: {}.", insight::limit::sentence(limit)))
}

/// Notes that a reader must know: of the whole sweep, and of each row.
fn notes(run: &Run) -> Vec<String> {
    let warnings = run.summary.warnings.iter().map(|warning| warning.text.clone());
    warnings.chain(limit_of_path(&run.summary.rows)).chain(notes_of_rows(&run.summary.rows)).collect()
}

/// Notes of rows that a reader must know; rows with the same note are named together.
pub(super) fn notes_of_rows(rows: &[FrameRow]) -> Vec<String> {
    let noted = rows.iter().flat_map(|row| {
        let notes = row.skipped.iter().chain(&row.notes);
        notes.map(|note| ((note, row.protocol), row.frame.to_string()))
    });
    let line = |((note, test), frames): ((&String, Transport), Vec<String>)| {
        format!("{test} {}: {note}.", frames.join(", "))
    };
    by_key(noted).into_iter().map(line).collect()
}

/// Bars as long as the largest of values and limits; a stroke stands where line rate is.
fn bars(title: &str, rows: &[FrameRow], value: Value, limit: Value) -> Part {
    let known: Vec<(&FrameRow, f64, Option<f64>)> =
        rows.iter().filter_map(|row| Some((row, value(row)?, limit(row)))).collect();
    let most = known.iter().map(|(_, value, limit)| limit.unwrap_or(0.0).max(*value)).fold(0.0, f64::max);
    let most = if most > 0.0 { most } else { 1.0 };
    let marked = known.iter().any(|(.., limit)| limit.is_some());
    let title = if marked { format!("{title} (| line rate)") } else { title.to_owned() };
    let bar = |(row, value, limit): (&FrameRow, f64, Option<f64>)| TextBar {
        name: format!("{:>6} {}", row.frame, row.protocol),
        value: significant(value),
        share: value / most,
        limit: limit.map(|limit| limit / most),
    };
    Part::Bars(title, known.into_iter().map(bar).collect())
}

/// The meaning of the columns.
const LEGEND: &str = "Bytes: payload of a packet. Mpps: packets that arrived; Device: frames that this host's \
     interface counted; Line: at line rate. Share: of the link, preambles and gaps included. CPU: the busiest of the \
     sender's and of the receiver's host, percent.";
