//! A few lines at the bottom of the terminal that are drawn anew as things happen, and are gone when the result comes.
//! Without a terminal, on one without control codes, and with `--plain`, lines are written one after the other. A closed standard error stops nothing.

use super::output::is_dumb;
use cli::Common;
use std::io::{IsTerminal, Write};

/// The lines on standard error.
pub(crate) struct Region {
    is_live: bool,
    /// How many lines it has on the screen.
    drawn: usize,
}

impl Region {
    /// Nothing is shown yet.
    pub(crate) fn new(global: &Common) -> Region {
        Region { is_live: !global.plain && !is_dumb() && std::io::stderr().is_terminal(), drawn: 0 }
    }

    /// Whether the region can be drawn anew.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Draws these lines in the place of those before; for a terminal alone.
    pub(crate) fn draw(&mut self, lines: &[String]) {
        if !self.is_live {
            return;
        }
        let (rows, columns) =
            linux::screen::size().map_or((24, 80), |(rows, columns)| (rows.into(), columns.into()));
        let text = drawn(self.drawn, lines, rows, columns);
        self.drawn = lines.len().min(usize::max(rows, 2) - 1);
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Writes lines that stay, above what is drawn.
    pub(crate) fn say(&mut self, text: &str) {
        let text = erased(self.drawn) + text;
        self.drawn = 0;
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// The line with the time that is left.
pub(crate) fn left(args: &str) -> String {
    format!("  {args} (Ctrl-C ends it with what was measured)")
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.drawn > 0 {
            let _ = std::io::stderr().write_all(erased(self.drawn).as_bytes());
        }
    }
}

/// The control codes that replace `before` lines by these, each cut to the screen's width: a line that the terminal broke
/// would be two.
fn drawn(before: usize, lines: &[String], rows: usize, columns: usize) -> String {
    let most = usize::max(rows, 2) - 1;
    let shown = &lines[lines.len().saturating_sub(most)..];
    let lines = shown.iter().map(|line| cut(line, columns.saturating_sub(1)) + "\n");
    erased(before) + &lines.collect::<String>()
}

/// The line as far as it fits: of a row whole columns, since a part of a number would be another number; of a sentence whole
/// words and an ellipsis.
fn cut(line: &str, room: usize) -> String {
    if line.chars().count() <= room {
        return line.to_owned();
    }
    let fits: String = line.chars().take(room).collect();
    let next = line.chars().nth(room);
    let is_whole = fits.ends_with("  ") || next == Some(' ') && line.chars().nth(room + 1) == Some(' ');
    match fits.trim_end().rsplit_once("  ") {
        Some((columns, _)) if !is_whole && columns.trim_end().len() > room / 2 => {
            columns.trim_end().to_owned()
        }
        _ if is_whole => fits.trim_end().to_owned(),
        _ => {
            let short: String = fits.chars().take(room.saturating_sub(1)).collect();
            let whole = short.rsplit_once(' ').map_or("", |(whole, _)| whole);
            let whole = if whole.trim().is_empty() { &short } else { whole };
            format!("{}…", whole.trim_end_matches([' ', ',', ';', ':', '(']))
        }
    }
}

/// Up so many lines, and away with all below.
fn erased(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\r\x1b[{lines}A\x1b[J") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_replace_those_before_and_fit_the_screen() {
        let lines = ["a long line".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(drawn(0, &lines[..2], 24, 80), "a long line\nb\n");
        assert_eq!(drawn(2, &lines[1..], 24, 80), "\r\x1b[2A\x1b[Jb\nc\n");
        assert_eq!(drawn(1, &lines, 3, 7), "\r\x1b[1A\x1b[Jb\nc\n", "the last lines that fit");
        assert_eq!(drawn(0, &lines[..1], 24, 9), "a long…\n");
    }

    #[test]
    fn a_row_that_is_too_wide_loses_whole_columns() {
        let row = "  0.0-1.0 s   up   1.81 Gbit/s    115   1.01 MB";
        assert_eq!(cut(row, row.len()), row);
        assert_eq!(cut(row, row.len() - 1), "  0.0-1.0 s   up   1.81 Gbit/s    115");
        assert_eq!(cut(row, 37), "  0.0-1.0 s   up   1.81 Gbit/s    115", "the next column is out of sight");
        assert_eq!(cut(row, 36), "  0.0-1.0 s   up   1.81 Gbit/s");
        assert_eq!(cut(row, 33), "  0.0-1.0 s   up   1.81 Gbit/s");
        assert_eq!(cut("a sentence of words", 12), "a sentence…");
        assert_eq!(cut("  about 23 s left (Ctrl-C ends it)", 20), "  about 23 s left…");
        assert_eq!(cut("unbreakable", 7), "unbrea…");
        assert_eq!(cut("1/5  idle round trips and sizes", 28), "1/5  idle round trips and…");
    }
}
