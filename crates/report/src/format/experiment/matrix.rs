//! The rows of a plan that lie between sites, as matrices.

use super::tables::primary;
use crate::document::Table;
use crate::format::matrix::{self, MatrixCell};
use model::distinct;
use model::experiment::{ExperimentRow, Setting};

/// A matrix for each combination of values, of the rows that lie between sites.
pub(super) fn matrix_tables(rows: &[&ExperimentRow]) -> Vec<Table> {
    let between = rows.iter().filter_map(|row| Some((row.settings.as_slice(), row.sites.as_ref()?.family)));
    let combinations = distinct(between);
    let own = |settings: &[Setting], family: Option<u8>| -> Vec<&ExperimentRow> {
        let is_own = |row: &&&ExperimentRow| {
            row.settings == settings && row.sites.as_ref().is_some_and(|sites| sites.family == family)
        };
        rows.iter().filter(is_own).copied().collect()
    };
    let tables =
        combinations.into_iter().map(|(settings, family)| table(&own(settings, family), settings, family));
    tables.collect()
}

fn table<'a>(rows: &[&'a ExperimentRow], settings: &[Setting], family: Option<u8>) -> Table {
    let text = |row: &ExperimentRow| match row.unavailable {
        true => "cannot run".to_owned(),
        false => primary(row).map_or_else(|| "failed".into(), |figure| figure.text.clone()),
    };
    let cell = |row: &&'a ExperimentRow| -> Option<MatrixCell<'a>> {
        let sites = row.sites.as_ref()?;
        Some(MatrixCell { source: &sites.source, target: &sites.target, text: text(row) })
    };
    let cells: Vec<MatrixCell<'_>> = rows.iter().filter_map(cell).collect();
    let name = rows.iter().find_map(|row| primary(row)).map(|figure| figure.name.as_str());
    let settings = settings.iter().map(|one| format!(", {} {}", one.name, one.value)).collect::<String>();
    let family = family.map(|family| format!(", IPv{family}")).unwrap_or_default();
    matrix::table(format!("{}{family}{settings}", name.unwrap_or("nothing was measured")), &cells)
}
