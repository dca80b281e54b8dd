//! A table of figures as text.

use super::super::{Paint, Style};
use crate::document::{FigureRow, FigureTable};

impl FigureTable {
    /// The same without spare rows.
    pub(super) fn least_text(&self, style: &Style) -> String {
        let mut table = self.clone();
        table.rows.retain(|row| !row.spare);
        if table.rows.is_empty() { String::new() } else { table.text(style) }
    }

    /// The same without spare rows, the last first, until it has at most this many lines.
    pub(super) fn text_within(&self, lines: usize, style: &Style) -> String {
        let mut table = self.clone();
        loop {
            let text = if table.rows.is_empty() { String::new() } else { table.text(style) };
            match table.rows.iter().rposition(|row| row.spare) {
                Some(last) if text.lines().count() > lines => drop(table.rows.remove(last)),
                _ => return text,
            }
        }
    }

    /// The lines, with those of details where the style has them. A note that has no room beside its row stands below it.
    pub(super) fn text(&self, style: &Style) -> String {
        let is_shown = |row: &&FigureRow| (style.detail || !row.detail) && (style.bars || !row.drawn);
        let rows: Vec<&FigureRow> = self.rows.iter().filter(is_shown).collect();
        let length = |text: &str| text.chars().count();
        let names = rows.iter().map(|row| length(&label(row))).max().unwrap_or(0);
        let column = |index: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| length(cell));
            cells.chain(self.heads.get(index).map(|head| length(head))).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heads.len()).map(column).collect();
        let before_note = |gap: usize| INDENT + names + widths.iter().map(|width| width + gap).sum::<usize>();
        let gap = (1..=GAP).rev().find(|gap| before_note(*gap) <= style.width).unwrap_or(1);
        let line = |name: &str, cells: &[String]| {
            let cells =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{}{cell:>width$}", " ".repeat(gap)));
            format!("  {name:<names$}{}", cells.collect::<String>())
        };
        let heads = line("", &self.heads);
        let mut text = match heads.trim() {
            "" => String::new(),
            _ => format!("{}\n", style.paint(Paint::Bold, heads.trim_end())),
        };
        let beside = before_note(gap) + NOTE;
        for row in rows {
            let figures = line(&label(row), &row.cells);
            let longest = row.note.split_whitespace().map(length).max().unwrap_or(0);
            let needed = LEAST.max(longest).min(length(&row.note));
            let (indent, is_beside) = match style.width >= beside + needed {
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

fn label(row: &FigureRow) -> String {
    format!("{}{}", if row.below { "  " } else { "" }, row.name)
}

/// Columns before a line.
const INDENT: usize = 2;
/// Columns between two columns, fewer on a narrow screen.
const GAP: usize = 3;
/// Columns before a note.
const NOTE: usize = 3;
/// A note has this room at least or as much as it needs, or stands below.
const LEAST: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_move_together_on_a_narrow_screen() {
        let row = FigureRow::new("TCP", [Some("9.41 Gbit/s".into()), Some("9.38 Gbit/s".into())]);
        let table = FigureTable { heads: vec!["up".into(), "down".into()], rows: vec![row] };
        let lines = |width| table.text(&Style { width, ..Style::default() });
        assert!(lines(33).ends_with("  TCP   9.41 Gbit/s   9.38 Gbit/s\n"), "{}", lines(33));
        assert!(lines(32).ends_with("  TCP  9.41 Gbit/s  9.38 Gbit/s\n"), "{}", lines(32));
        assert!(lines(29).ends_with("  TCP 9.41 Gbit/s 9.38 Gbit/s\n"), "{}", lines(29));
    }

    #[test]
    fn a_note_without_room_stands_below_its_row() {
        let row = FigureRow::new("lost", [Some("1.4 %".into()), None])
            .below()
            .with_note("all in the receiving host".into());
        let table = FigureTable { heads: vec!["up".into(), "down".into()], rows: vec![row] };
        let wide = table.text(&Style::default());
        assert_eq!(wide, "              up   down\n    lost   1.4 %      -   all in the receiving host\n");
        let narrow = table.text(&Style { width: 40, ..Style::default() });
        assert_eq!(
            narrow,
            "              up   down\n    lost   1.4 %      -\n      all in the receiving host\n"
        );
    }
}
