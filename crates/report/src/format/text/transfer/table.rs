//! The tables of a run of transfers: a row for each MTU and file, and its change against the baseline. A column that would
//! be empty is left out.

use super::MOST_LABEL;
use crate::document::{Cell, Table};
use crate::format::text::phrases;
use model::stats::compare::Judgement;
use model::transfer::{Gain, TransferRow};
use model::units::{BitRate, Nanos, change, change_between, grouped};

/// The figures of each row.
pub(super) fn figures(rows: &[TransferRow]) -> Option<Table> {
    Table::of_cells("", &FIGURES, rows)
}

const FIGURES: [Cell<TransferRow>; 7] = [
    Cell("what", false, |row| Some(phrases::cut(&row.label, MOST_LABEL))),
    Cell("n", true, |row| {
        Some(if row.failed > 0 {
            format!("{}/{}", row.count, row.count + row.failed)
        } else {
            grouped(row.count)
        })
    }),
    Cell("rate (median ± sd)", true, |row| row.rate.map(|rate| spread(rate.median, rate.stddev))),
    Cell("total", true, |row| row.total.map(|total| Nanos(total.median as u64).to_string())),
    Cell("segments", true, |row| row.data_segments.map(|count| grouped(count.round() as u64))),
    Cell("size", true, |row| row.mean_payload.map(|bytes| format!("{bytes:.0} B"))),
    Cell("resent", true, |row| (row.retransmits > 0).then(|| grouped(row.retransmits))),
];

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

/// The changes of the rows that have a baseline.
pub(super) fn changes(rows: &[TransferRow]) -> Option<Table> {
    let gains: Vec<Changed<'_>> = rows.iter().filter_map(|row| changed(row, rows)).collect();
    let cells: [Cell<Changed<'_>>; 7] = [
        Cell("what", false, |changed| Some(phrases::cut(&changed.row.label, MOST_LABEL))),
        Cell("against", false, |changed| Some(phrases::cut(&changed.gain.baseline, MOST_LABEL))),
        Cell("time", true, |changed| Some(change(changed.time()?))),
        Cell("rate", true, |changed| Some(change(changed.gain.comparison.shift?.percent))),
        Cell("at 95 %", true, |changed| {
            let shift = changed.gain.comparison.shift?;
            Some(change_between(shift.low?, shift.high?))
        }),
        Cell("by packet size", true, |changed| Some(change(changed.gain.expected_percent?))),
        Cell("verdict", false, |changed| Some(word(changed.gain.comparison.judgement))),
    ];
    Table::of_cells("", &cells, &gains)
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
