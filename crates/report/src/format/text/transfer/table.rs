//! The tables of a run of transfers: a row for each MTU and file, and its change against the baseline. A column that would
//! be empty is left out.

use crate::document::Column;
use crate::format::text::phrases;
use model::stats::compare::Judgement;
use model::transfer::{Gain, TransferRow};
use model::units::{BitRate, Nanos, change, change_between, grouped};

/// A column: its heading, and what stands in it.
type Cell = (&'static str, fn(&TransferRow) -> Option<String>);

/// Columns of figures. Those of no row are left out.
const CELLS: [Cell; 6] = [
    ("n", |row| {
        Some(if row.failed > 0 {
            format!("{}/{}", row.count, row.count + row.failed)
        } else {
            grouped(row.count)
        })
    }),
    ("rate (median ± sd)", |row| row.rate.map(|rate| spread(rate.median, rate.stddev))),
    ("total", |row| row.total.map(|total| Nanos(total.median as u64).to_string())),
    ("segments", |row| row.data_segments.map(|count| grouped(count.round() as u64))),
    ("size", |row| row.mean_payload.map(|bytes| format!("{bytes:.0} B"))),
    ("resent", |row| (row.retransmits > 0).then(|| grouped(row.retransmits))),
];

/// Headings of the columns that some row fills.
pub(super) fn columns(rows: &[TransferRow]) -> Vec<Column> {
    let figures = filled(rows).into_iter().map(|(heading, _)| Column::right(heading));
    std::iter::once(Column::left("what")).chain(figures).collect()
}

/// The rows under them.
pub(super) fn rows(rows: &[TransferRow]) -> Vec<Vec<String>> {
    let cells = filled(rows);
    let row = |row: &TransferRow| {
        let figures = cells.iter().map(|(_, cell)| cell(row).unwrap_or_default());
        std::iter::once(phrases::cut(&row.label, super::MOST_LABEL)).chain(figures).collect()
    };
    rows.iter().map(row).collect()
}

fn filled(rows: &[TransferRow]) -> Vec<Cell> {
    CELLS.into_iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some())).collect()
}

/// Both in the unit of the median: `19.1 ± 0.04 Mbit/s`.
fn spread(median: f64, stddev: f64) -> String {
    let text = BitRate(median as u64).to_string();
    let Some((number, unit)) = text.split_once(' ') else { return text };
    let factor =
        number.parse::<f64>().ok().filter(|number| *number > 0.0).map_or(1.0, |number| median / number);
    let spread = stddev / factor;
    let decimals = [10.0, 1.0].iter().filter(|least| spread < **least).count();
    format!("{number} ± {spread:.decimals$} {unit}")
}

/// A column of changes.
type Change = (&'static str, fn(&Changed<'_>) -> Option<String>);

/// A row, its change, and the row that it is compared with.
struct Changed<'a> {
    row: &'a TransferRow,
    gain: &'a Gain,
    before: Option<&'a TransferRow>,
}

impl Changed<'_> {
    /// The change of the time that a transfer took, by the two medians printed.
    fn time(&self) -> Option<f64> {
        let [now, before] = [Some(self.row), self.before].map(|row| row?.total.map(|total| total.median));
        now.zip(before).filter(|(_, before)| *before > 0.0).map(|(now, before)| (now / before - 1.0) * 100.0)
    }
}

const CHANGES: [Change; 5] = [
    ("time", |changed| Some(change(changed.time()?))),
    ("rate", |Changed { gain, .. }| Some(change(gain.comparison.shift?.percent))),
    ("at 95 %", |Changed { gain, .. }| {
        let shift = gain.comparison.shift?;
        Some(change_between(shift.low?, shift.high?))
    }),
    ("by packet size", |Changed { gain, .. }| Some(change(gain.expected_percent?))),
    ("verdict", |Changed { gain, .. }| Some(word(gain.comparison.judgement))),
];

/// The columns of the table of changes, and its rows; no rows without a baseline.
pub(super) fn changes(rows: &[TransferRow]) -> (Vec<Column>, Vec<Vec<String>>) {
    let gains: Vec<Changed<'_>> = rows.iter().filter_map(|row| changed(row, rows)).collect();
    let filled = CHANGES.iter().filter(|(_, cell)| gains.iter().any(|gain| cell(gain).is_some()));
    let filled: Vec<&Change> = filled.collect();
    let last = |heading: &str| heading == "verdict";
    let figures = filled.iter().map(|(heading, _)| match last(heading) {
        true => Column::left(*heading),
        false => Column::right(*heading),
    });
    let columns = [Column::left("what"), Column::left("against")].into_iter().chain(figures).collect();
    let row = |changed: &Changed<'_>| {
        let names =
            [&changed.row.label, &changed.gain.baseline].map(|label| phrases::cut(label, super::MOST_LABEL));
        names.into_iter().chain(filled.iter().map(|(_, cell)| cell(changed).unwrap_or_default())).collect()
    };
    (columns, gains.iter().map(row).collect())
}

fn changed<'a>(row: &'a TransferRow, rows: &'a [TransferRow]) -> Option<Changed<'a>> {
    let gain = row.gain.as_ref()?;
    Some(Changed { row, gain, before: rows.iter().find(|row| row.label == gain.baseline) })
}

fn word(judgement: Judgement) -> String {
    match judgement {
        Judgement::CannotTell { .. } => "cannot tell".into(),
        Judgement::TooFew { .. } => "too few runs".into(),
        other => other.to_string(),
    }
}
