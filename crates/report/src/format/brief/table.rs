//! The one table of a brief: names at the left, a column for each direction, and what is to be said beside a row.

use super::super::{Paint, Style};

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::format) struct Table {
    /// The heads of the columns.
    pub(in crate::format) heads: Vec<String>,
    /// The rows.
    pub(in crate::format) rows: Vec<Row>,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::format) struct Row {
    /// Its name.
    pub(in crate::format) name: String,
    /// It belongs to the row above.
    pub(in crate::format) below: bool,
    /// A cell for each column.
    pub(in crate::format) cells: Vec<String>,
    /// What is said beside it.
    pub(in crate::format) note: String,
}

impl Row {
    /// A row with a cell for each column; `-` where there is no value.
    pub(in crate::format) fn new(name: &str, cells: impl IntoIterator<Item = Option<String>>) -> Row {
        let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".into())).collect();
        Row { name: name.into(), cells, ..Row::default() }
    }

    /// The same as a part of the row above.
    pub(in crate::format) fn below(self) -> Row {
        Row { below: true, ..self }
    }

    /// The same with this beside it.
    pub(in crate::format) fn with_note(self, note: String) -> Row {
        Row { note, ..self }
    }

    fn label(&self) -> String {
        format!("{}{}", if self.below { "  " } else { "" }, self.name)
    }
}

impl Table {
    /// Adds a row that has a value at least.
    pub(in crate::format) fn push(&mut self, row: Row) {
        if row.cells.iter().any(|cell| cell != "-") {
            self.rows.push(row);
        }
    }

    /// The lines. A note that has no room beside its row stands below it.
    pub(in crate::format) fn text(&self, style: &Style) -> String {
        let length = |text: &str| text.chars().count();
        let names = self.rows.iter().map(|row| length(&row.label())).max().unwrap_or(0);
        let column = |index: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| length(cell));
            cells.chain(self.heads.get(index).map(|head| length(head))).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(column).collect();
        let line = |name: &str, cells: &[String]| {
            let cells =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{}{cell:>width$}", " ".repeat(GAP)));
            format!("  {name:<names$}{}", cells.collect::<String>())
        };
        let heads = line("", &self.heads);
        let mut text = match heads.trim() {
            "" => String::new(),
            _ => format!("{}\n", style.paint(Paint::Bold, heads.trim_end())),
        };
        let beside = 2 + names + widths.iter().map(|width| width + GAP).sum::<usize>() + NOTE;
        for row in &self.rows {
            let figures = line(&row.label(), &row.cells);
            let longest = row.note.split_whitespace().map(length).max().unwrap_or(0);
            let (indent, is_beside) = match style.width >= beside + LEAST.max(longest) {
                true => (beside, true),
                false => (6, false),
            };
            let notes = style.wrap(&row.note, indent);
            let mut notes = notes.iter().map(|note| style.paint(Paint::Dim, note));
            let first = if is_beside { notes.next() } else { None };
            let first = first.map(|note| format!("{}{note}", " ".repeat(NOTE))).unwrap_or_default();
            text.push_str(&format!(
                "{}{first}\n",
                if first.is_empty() { figures.trim_end() } else { &figures }
            ));
            notes.for_each(|note| text.push_str(&format!("{}{note}\n", " ".repeat(indent))));
        }
        text
    }
}

/// Columns between two columns.
const GAP: usize = 3;
/// Columns before a note.
const NOTE: usize = 3;
/// A note has this room at least, or stands below.
const LEAST: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_without_room_stands_below_its_row() {
        let row = Row::new("lost", [Some("1.4 %".into()), None])
            .below()
            .with_note("all in the receiving host".into());
        let table = Table { heads: vec!["up".into(), "down".into()], rows: vec![row] };
        let wide = table.text(&Style::default());
        assert_eq!(wide, "              up   down\n    lost   1.4 %      -   all in the receiving host\n");
        let narrow = table.text(&Style { width: 40, ..Style::default() });
        assert_eq!(
            narrow,
            "              up   down\n    lost   1.4 %      -\n      all in the receiving host\n"
        );
    }
}
