//! A table of figures as text.

use super::super::{Paint, Style};
use crate::document::{FigureRow, FigureTable};

impl FigureTable {
    /// The same without spare rows.
    pub(super) fn least_text(&self, style: &Style) -> String {
        let rows: Vec<&FigureRow> = self.rows.iter().filter(|row| !row.spare).collect();
        if rows.is_empty() { String::new() } else { self.text_of(&rows, style) }
    }

    /// The same without spare rows, the last first, until it has at most this many lines.
    pub(super) fn text_within(&self, lines: usize, style: &Style) -> String {
        let mut rows: Vec<&FigureRow> = self.rows.iter().collect();
        loop {
            let text = if rows.is_empty() { String::new() } else { self.text_of(&rows, style) };
            match rows.iter().rposition(|row| row.spare) {
                Some(last) if text.lines().count() > lines => drop(rows.remove(last)),
                _ => return text,
            }
        }
    }

    /// The lines, with those of details where the style has them. A note that has no room beside its row stands below it.
    pub(super) fn text(&self, style: &Style) -> String {
        self.text_of(&self.rows.iter().collect::<Vec<_>>(), style)
    }

    /// The same of some rows.
    fn text_of(&self, rows: &[&FigureRow], style: &Style) -> String {
        let is_shown = |row: &&FigureRow| (style.detail || !row.detail) && (style.bars || !row.drawn);
        let rows: Vec<&FigureRow> = rows.iter().copied().filter(is_shown).collect();
        let layout = Layout::of_rows(&rows, &self.heads, style);
        let heads = layout.line(["", ""], &self.heads);
        let mut text = String::with_capacity(2 * layout.before_note * (rows.len() + 1));
        if !heads.trim().is_empty() {
            text.push_str(&style.paint(Paint::Bold, heads.trim_end()));
            text.push('\n');
        }
        for row in rows {
            layout.push(row, &mut text, style);
        }
        text
    }
}

/// Where the columns of a table stand.
struct Layout {
    /// Columns of the names.
    names: usize,
    /// Those of the cells.
    widths: Vec<usize>,
    /// Those between two.
    gap: usize,
    /// Those before notes beside their rows.
    before_note: usize,
}

impl Layout {
    fn of_rows(rows: &[&FigureRow], heads: &[String], style: &Style) -> Layout {
        let names = rows.iter().map(|row| mark(row).len() + length(&row.name)).max().unwrap_or(0);
        let column = |(index, head): (usize, &String)| {
            let cells = rows.iter().filter_map(|row| row.cells.get(index)).map(|cell| length(cell));
            cells.max().unwrap_or(0).max(length(head))
        };
        let widths: Vec<usize> = heads.iter().enumerate().map(column).collect();
        let before_note = |gap: usize| INDENT + names + widths.iter().map(|width| width + gap).sum::<usize>();
        let gap = (1..=GAP).rev().find(|gap| before_note(*gap) <= style.width).unwrap_or(1);
        Layout { names, gap, before_note: before_note(gap) + NOTE, widths }
    }

    /// A name behind its mark, and its cells.
    fn line(&self, [mark, name]: [&str; 2], cells: &[String]) -> String {
        let mut line = String::with_capacity(2 * self.before_note);
        push_blanks(&mut line, INDENT);
        line.extend([mark, name]);
        push_blanks(&mut line, self.names.saturating_sub(mark.len() + length(name)));
        for (cell, width) in cells.iter().zip(&self.widths) {
            push_blanks(&mut line, self.gap + width.saturating_sub(length(cell)));
            line.push_str(cell);
        }
        line
    }

    /// Adds a row with its note.
    fn push(&self, row: &FigureRow, text: &mut String, style: &Style) {
        let figures = self.line([mark(row), &row.name], &row.cells);
        if row.note.is_empty() {
            text.push_str(figures.trim_end());
            text.push('\n');
            return;
        }
        let longest = row.note.split_whitespace().map(length).max().unwrap_or(0);
        let needed = LEAST.max(longest).min(length(&row.note));
        let (indent, is_beside) = match style.width >= self.before_note + needed {
            true => (self.before_note, true),
            false => (6, false),
        };
        let notes = style.wrap(&row.note, indent);
        let mut notes = notes.iter().map(|note| style.paint(Paint::Dim, note));
        match if is_beside { notes.next() } else { None } {
            Some(first) => {
                text.push_str(&figures);
                push_blanks(text, NOTE);
                text.push_str(&first);
            }
            None => text.push_str(figures.trim_end()),
        }
        text.push('\n');
        for note in notes {
            push_blanks(text, indent);
            text.push_str(&note);
            text.push('\n');
        }
    }
}

/// Blanks before the name of a row that belongs to the one above.
fn mark(row: &FigureRow) -> &'static str {
    if row.below { "  " } else { "" }
}

/// Columns of a text.
fn length(text: &str) -> usize {
    text.chars().count()
}

fn push_blanks(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
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
