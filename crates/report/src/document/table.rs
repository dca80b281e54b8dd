//! Tables of documents.

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Table {
    /// The title; empty where a heading has it.
    pub title: String,
    /// Whether it is beside the parts of the document and belongs to none of them.
    pub apart: bool,
    /// The head.
    pub columns: Vec<Column>,
    /// Rows of as many cells.
    pub rows: Vec<Vec<String>>,
    /// The notes below it.
    pub notes: Vec<String>,
}

/// A column: its heading and where its values stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The text of the head.
    pub heading: String,
    /// Its values are numbers, which stand at the right.
    pub right: bool,
    /// The place among those that a narrow screen leaves out, from 1; 0: it always stays.
    pub spare: usize,
}

impl Column {
    /// Words.
    pub fn left(heading: impl Into<String>) -> Column {
        Column { heading: heading.into(), right: false, spare: 0 }
    }

    /// Numbers.
    pub fn right(heading: impl Into<String>) -> Column {
        Column { heading: heading.into(), right: true, spare: 0 }
    }

    /// The columns, of which a narrow screen leaves out those with these headings, the first ones first.
    pub(crate) fn with_spare(columns: Vec<Column>, headings: &[&str]) -> Vec<Column> {
        let place = |column: &Column| headings.iter().position(|heading| *heading == column.heading);
        columns
            .into_iter()
            .map(|column| Column { spare: place(&column).map_or(0, |at| at + 1), ..column })
            .collect()
    }
}

impl Table {
    /// A table without a title.
    pub fn new(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Table {
        Table { columns, rows, ..Table::default() }
    }

    /// A row for each thing; a column that no row fills is left out, and so is a table without rows.
    pub(crate) fn of_cells<T>(title: &str, cells: &[Cell<T>], of: &[T]) -> Option<Table> {
        let filled: Vec<&Cell<T>> =
            cells.iter().filter(|cell| of.iter().any(|one| (cell.2)(one).is_some())).collect();
        let column = |cell: &&Cell<T>| if cell.1 { Column::right(cell.0) } else { Column::left(cell.0) };
        let row = |one: &T| filled.iter().map(|cell| (cell.2)(one).unwrap_or_default()).collect();
        let columns = filled.iter().map(column).collect();
        let rows = of.iter().map(row).collect();
        (!of.is_empty()).then(|| Table { title: title.into(), ..Table::new(columns, rows) })
    }

    /// The same, of which a narrow screen leaves out the columns with these headings, the first ones first.
    pub fn with_spare(self, headings: &[&str]) -> Table {
        Table { columns: Column::with_spare(self.columns, headings), ..self }
    }

    /// The same with these notes below it.
    pub fn with_notes(self, notes: Vec<String>) -> Table {
        Table { notes, ..self }
    }
}

/// A column: its heading, whether it holds numbers, and what stands in it.
pub(crate) struct Cell<T>(pub(crate) &'static str, pub(crate) bool, pub(crate) fn(&T) -> Option<String>);
