//! Every site to every site: a row for each source, a column for each target.

use crate::document::{Column, Table};

/// A cell of a matrix.
pub(super) struct MatrixCell<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) text: String,
}

/// The matrix, its sites by name; a path without a cell stays empty.
pub(super) fn table(title: String, cells: &[MatrixCell<'_>]) -> Table {
    let sources = sites(cells, |cell| cell.source);
    let targets = sites(cells, |cell| cell.target);
    let text = |source: &str, target: &str| {
        let own = cells.iter().find(|cell| (cell.source, cell.target) == (source, target));
        own.map(|cell| cell.text.clone()).unwrap_or_default()
    };
    let line = |source: &&str| {
        let cells = targets.iter().map(|target| text(source, target));
        std::iter::once((*source).to_owned()).chain(cells).collect()
    };
    let columns =
        std::iter::once(Column::left("from \\ to")).chain(targets.iter().copied().map(Column::right));
    Table { title, ..Table::new(columns.collect(), sources.iter().map(line).collect()) }
}

fn sites<'a>(cells: &[MatrixCell<'a>], of: fn(&MatrixCell<'a>) -> &'a str) -> Vec<&'a str> {
    let mut names: Vec<&str> = cells.iter().map(of).collect();
    names.sort_unstable();
    names.dedup();
    names
}
