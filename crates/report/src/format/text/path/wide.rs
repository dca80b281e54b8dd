//! A table of names and one or two columns of words, which are wrapped in their columns.

use super::super::super::{Paint, Style};

/// A row: its name, and a cell for each column.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
}

/// The rows under the headings; a row with a word too long for its column has its cells below one another.
pub(super) fn table(headings: &[&str], rows: &[Row], style: &Style) -> String {
    let name_width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0) + 2;
    let columns = headings.len().max(1);
    let room = style.width.max(LEAST).saturating_sub(2 + name_width).saturating_sub(2 * (columns - 1));
    let column = (room / columns).min(MOST);
    let mut text = format!("  {}", " ".repeat(name_width));
    let heads: Vec<String> = headings.iter().map(|head| pad(head, column)).collect();
    text.push_str(style.paint(Paint::Bold, heads.join("  ").trim_end()).as_str());
    text.push('\n');
    for row in rows {
        let name = style.paint(Paint::Dim, &pad(&row.name, name_width));
        let fits = row.cells.iter().all(|cell| cell.split(' ').all(|word| word.chars().count() <= column));
        text.push_str(&match fits {
            true => beside(&name, name_width, row, column),
            false => below(&name, name_width, row, headings, style),
        });
    }
    text
}

fn beside(name: &str, name_width: usize, row: &Row, column: usize) -> String {
    let narrow = Style { width: column, ..Style::default() };
    let cells: Vec<Vec<String>> = row.cells.iter().map(|cell| narrow.wrap(cell, 0)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let line = |index: usize| {
        let parts: Vec<String> =
            cells.iter().map(|cell| pad(cell.get(index).map_or("", String::as_str), column)).collect();
        let name = if index == 0 { name.to_owned() } else { " ".repeat(name_width) };
        format!("  {name}{}\n", parts.join("  ").trim_end())
    };
    (0..height).map(line).collect()
}

fn below(name: &str, name_width: usize, row: &Row, headings: &[&str], style: &Style) -> String {
    let mut text = String::new();
    for (cell, heading) in row.cells.iter().zip(headings) {
        let sentence = match row.cells.len() {
            1 => cell.clone(),
            _ => format!("{}: {cell}", heading.to_lowercase()),
        };
        for line in style.wrap(&sentence, 2 + name_width) {
            let name = if text.is_empty() { name.to_owned() } else { " ".repeat(name_width) };
            text.push_str(&format!("  {name}{line}\n"));
        }
    }
    text
}

fn pad(text: &str, width: usize) -> String {
    format!("{text:<width$}")
}

/// Narrower columns cannot be read.
const LEAST: usize = 60;
/// Wider columns are hard to follow.
const MOST: usize = 44;
