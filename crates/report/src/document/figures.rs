//! A table of figures: names at the left, a column for each direction, and what is to be noted beside a row.

use super::{Column, Table};

/// A table of figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureTable {
    /// The heads of the columns.
    pub heads: Vec<String>,
    /// The rows.
    pub rows: Vec<FigureRow>,
}

/// A figure in each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureRow {
    /// Its name.
    pub name: String,
    /// Whether it belongs to the row above.
    pub below: bool,
    /// A cell for each column.
    pub cells: Vec<String>,
    /// The note beside it.
    pub note: String,
    /// Whether it is for those who look for details: text has it with `-v`.
    pub detail: bool,
    /// Whether it is left out where a screen has no room for all rows.
    pub spare: bool,
    /// Whether its cells are bars of block characters, for screens that draw these.
    pub drawn: bool,
}

impl FigureTable {
    /// Adds a row that has a value at least.
    pub fn push(&mut self, row: FigureRow) {
        if row.cells.iter().any(|cell| cell != NONE) {
            self.rows.push(row);
        }
    }

    /// All of it as a plain table, for formats in which no row is indented.
    pub fn plain(&self) -> Table {
        let heads = self.heads.iter().map(|head| Column::right(head.clone()));
        let rows = || self.rows.iter().filter(|row| !row.drawn);
        let has_notes = rows().any(|row| !row.note.is_empty());
        let note = has_notes.then(|| Column::left("Note"));
        let columns = std::iter::once(Column::left("Figure")).chain(heads).chain(note).collect();
        let row = |row: &FigureRow| {
            let name = if row.below { format!("– {}", row.name) } else { row.name.clone() };
            let note = has_notes.then(|| row.note.clone());
            std::iter::once(name).chain(row.cells.iter().cloned()).chain(note).collect()
        };
        Table::new(columns, rows().map(row).collect())
    }
}

impl FigureRow {
    /// A row with a cell for each column; `-` where there is no value.
    pub fn new(name: &str, cells: impl IntoIterator<Item = Option<String>>) -> FigureRow {
        let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| NONE.into())).collect();
        FigureRow { name: name.into(), cells, ..FigureRow::default() }
    }

    /// The same as a part of the row above.
    #[must_use]
    pub fn below(self) -> FigureRow {
        FigureRow { below: true, ..self }
    }

    /// The same with this beside it.
    #[must_use]
    pub fn with_note(self, note: String) -> FigureRow {
        FigureRow { note, ..self }
    }
}

/// The cell of no value.
const NONE: &str = "-";
