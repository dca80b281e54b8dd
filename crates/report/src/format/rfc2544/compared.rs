//! A device held against another, as CSIT's comparison tables do.

use super::rates::{least, mega};
use crate::document::{Cell, Table};
use model::dut::{DeviceComparison, RateChange};
use model::units::{change, difference};

/// Every figure that both have, the largest loss first.
pub(super) fn table(comparison: &DeviceComparison) -> Option<Table> {
    let title = format!("{} compared with {}, Mpps", comparison.compared, comparison.reference);
    let networks = comparison.rows.iter().any(|row| row.stream.network != comparison.rows[0].stream.network);
    let rows: Vec<ChangeRow> = comparison.rows.iter().map(|change| (change.clone(), networks)).collect();
    let table = Table::of_cells(&title, &CHANGES, &rows)?;
    let open = comparison.rows.iter().any(|row| row.reference_is_least || row.compared_is_least);
    let notes = open.then(|| {
        "≥: the generator or the link was the limit, so that the change may be larger or none.".into()
    });
    Some(table.with_notes(notes.into_iter().collect()))
}

/// A change, and whether the IP version differs among them.
type ChangeRow = (RateChange, bool);

const CHANGES: [Cell<ChangeRow>; 9] = [
    Cell("Frame", true, |(row, _)| Some(row.stream.frames.name.clone())),
    Cell("", false, |(row, networks)| networks.then(|| row.stream.network.to_string())),
    Cell("Figure", false, |(row, _)| Some(super::sentences::goal_name(&row.figure))),
    Cell("ref mean", true, |(row, _)| Some(least(mega(row.reference.mean), row.reference_is_least))),
    Cell("ref stdev", true, |(row, _)| row.reference.stddev.map(mega)),
    Cell("cmp mean", true, |(row, _)| Some(least(mega(row.compared.mean), row.compared_is_least))),
    Cell("cmp stdev", true, |(row, _)| row.compared.stddev.map(mega)),
    Cell("change", true, |(row, _)| Some(change(row.change?.percent))),
    Cell("stdev", true, |(row, _)| Some(difference(row.change?.stddev?))),
];
