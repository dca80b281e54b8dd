//! Aligned tables, from the table library, in the two looks we use.

use super::markdown::escaped;
use super::{Paint, Style};
use crate::document::Column;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Columns set apart by two spaces, each line indented by two, without trailing spaces. A table wider than the screen loses its
/// spare columns, which a line below it names; if that is not enough, its widest words are broken into lines, and if even
/// that does not help, each row becomes a list.
pub(super) fn plain(columns: &[Column], rows: &[Vec<String>], style: &Style) -> String {
    let room = style.width.saturating_sub(INDENT);
    let (columns, rows, left_out) = without_spare(columns, rows, room);
    let rows_in_lines = narrowed(&columns, &rows, room);
    let table = match total(&widths(&columns, &rows_in_lines)) <= room {
        true => whole(&columns, &rows_in_lines),
        false => lists(&columns, &rows, style),
    };
    let left_out =
        (!left_out.is_empty()).then(|| format!("wider screens also show: {}", left_out.join(", ")));
    let notes = left_out.iter().flat_map(|text| style.wrap(text, INDENT));
    table + &notes.map(|line| format!("  {}\n", style.paint(Paint::Dim, &line))).collect::<String>()
}

/// The table without as many of its spare columns as it takes to fit, and the headings of those that hold something.
fn without_spare(
    columns: &[Column],
    rows: &[Vec<String>],
    room: usize,
) -> (Vec<Column>, Vec<Vec<String>>, Vec<String>) {
    let widths = widths(columns, rows);
    let is_filled = |index: usize| rows.iter().any(|row| row.get(index).is_some_and(|cell| !cell.is_empty()));
    let mut spare: Vec<usize> = (0..columns.len()).filter(|index| columns[*index].spare > 0).collect();
    spare.sort_by_key(|index| (is_filled(*index), columns[*index].spare));
    let mut kept: Vec<usize> = (0..columns.len()).collect();
    let mut left_out = Vec::new();
    for index in spare {
        if total(&kept.iter().map(|index| widths[*index]).collect::<Vec<_>>()) <= room {
            break;
        }
        kept.retain(|other| *other != index);
        left_out.extend(is_filled(index).then(|| columns[index].heading.clone()));
    }
    let cell = |row: &Vec<String>, index: &usize| row.get(*index).cloned().unwrap_or_default();
    let row = |row: &Vec<String>| kept.iter().map(|index| cell(row, index)).collect();
    (kept.iter().map(|index| columns[*index].clone()).collect(), rows.iter().map(row).collect(), left_out)
}

/// Each row as a list: its first value, and below it the others, each with its heading.
fn lists(columns: &[Column], rows: &[Vec<String>], style: &Style) -> String {
    let name = columns.iter().skip(1).map(|column| length(&column.heading)).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        if let (Some(column), Some(value)) = (columns.first(), row.first()) {
            text.push_str(&format!("  {}\n", format!("{} {value}", column.heading).trim()));
        }
        for (column, value) in columns.iter().zip(row).skip(1).filter(|(_, value)| !value.is_empty()) {
            for (index, line) in style.wrap(value, 2 * INDENT + name + GAP).into_iter().enumerate() {
                let heading = if index == 0 { column.heading.as_str() } else { "" };
                text.push_str(&format!("    {heading:<name$}  {line}\n"));
            }
        }
    }
    text
}

/// Columns of a table with columns of these widths.
fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Letters of the longest line of a text.
fn length(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// How wide each column is.
fn widths(columns: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index)).map(|cell| length(cell));
    let width =
        |(index, column): (usize, &Column)| cells(index).chain([length(&column.heading)]).max().unwrap_or(0);
    columns.iter().enumerate().map(width).collect()
}

/// The rows with the words of the widest columns in as many lines as it takes for the table to fit, if that is possible.
fn narrowed(columns: &[Column], rows: &[Vec<String>], room: usize) -> Vec<Vec<String>> {
    let all = widths(columns, rows);
    let phrases: Vec<usize> = (1..columns.len()).filter(|index| !columns[*index].right).collect();
    let fits = |most: usize| {
        let width = |index: usize| all[index].min(if phrases.contains(&index) { most } else { usize::MAX });
        total(&(0..columns.len()).map(width).collect::<Vec<_>>()) <= room
    };
    let widest = phrases.iter().map(|index| all[*index]).max().unwrap_or(0);
    let most = (LEAST_WORDS..widest).rev().find(|most| fits(*most));
    let Some(most) = most.filter(|_| !fits(widest)) else { return rows.to_vec() };
    let is_wide = |index: &usize| phrases.contains(index) && all[*index] > most;
    if (0..columns.len()).filter(is_wide).any(|index| columns[index].heading.chars().count() > most) {
        return rows.to_vec();
    }
    let narrow = Style { width: most, ..Style::default() };
    let cell = |(index, cell): (usize, &String)| match is_wide(&index) {
        true => narrow.wrap(cell, 0).join("\n"),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

/// The same whole, however wide.
pub(super) fn whole(columns: &[Column], rows: &[Vec<String>]) -> String {
    let mut table = table(columns, rows);
    table.load_preset(presets::NOTHING);
    let last = columns.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
    }
    table.lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}

/// A table of GitHub's Markdown; what Markdown would read inside a value is escaped.
pub(super) fn markdown(columns: &[Column], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect();
    let columns: Vec<Column> =
        columns.iter().map(|one| Column { heading: escaped(&one.heading), ..one.clone() }).collect();
    let mut table = table(&columns, &rows);
    table.load_preset(presets::ASCII_MARKDOWN);
    let mut lines: Vec<String> = table.lines().collect();
    if let Some(rule) = lines.get_mut(1) {
        *rule = aligned_rule(rule, &columns);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Markdown states alignment with a colon in the rule: `|---:|`.
fn aligned_rule(rule: &str, columns: &[Column]) -> String {
    let cells = rule.trim_matches('|').split('|').zip(columns);
    let cells: Vec<String> = cells
        .map(|(dashes, column)| match (column.right, dashes.strip_suffix('-')) {
            (true, Some(shorter)) => format!("{shorter}:"),
            _ => dashes.to_owned(),
        })
        .collect();
    format!("|{}|", cells.join("|"))
}

fn table(columns: &[Column], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| column.heading.as_str()));
    table.add_rows(rows);
    for (column, kind) in table.column_iter_mut().zip(columns) {
        let alignment = if kind.right { CellAlignment::Right } else { CellAlignment::Left };
        column.set_cell_alignment(alignment);
    }
    table
}

/// Columns before a line, and between two columns.
const INDENT: usize = 2;
const GAP: usize = 2;
/// Words in a narrower column are hard to read.
const LEAST_WORDS: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Vec<Column>, Vec<Vec<String>>) {
        let columns = vec![Column::left("Test"), Column::right("Up")];
        let rows = vec![vec!["TCP".into(), "9.41 Gbit/s".into()], vec!["UDP|64".into(), "1 Mbit/s".into()]];
        (columns, rows)
    }

    #[test]
    fn plain_columns_are_aligned() {
        let (columns, rows) = sample();
        let expected = "  Test             Up\n  TCP     9.41 Gbit/s\n  UDP|64     1 Mbit/s\n";
        assert_eq!(plain(&columns, &rows, &Style::default()), expected);
    }

    /// The text of a table on a screen of this width, no line of which is longer.
    fn on(width: usize, columns: &[Column], rows: &[Vec<String>]) -> String {
        let text = plain(columns, rows, &Style { width, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
        text
    }

    #[test]
    fn a_narrow_screen_leaves_out_spare_columns_and_names_them() {
        let heads = ["Frame", "Rate", "Device", "CPU", "Limit"].map(Column::right).to_vec();
        let heads = Column::with_spare(heads, &["Device", "CPU"]);
        let rows = vec![["64", "9.41", "0.0284", "98/50", "line rate"].map(String::from).to_vec()];
        assert_eq!(
            on(80, &heads, &rows),
            "  Frame  Rate  Device    CPU      Limit\n     64  9.41  0.0284  98/50  line rate\n"
        );
        assert_eq!(
            on(31, &heads, &rows),
            "  Frame  Rate    CPU      Limit\n     64  9.41  98/50  line rate\n  wider screens also show:\n  Device\n"
        );
        assert!(on(30, &heads, &rows).starts_with("  Frame  Rate      Limit\n"));
    }

    #[test]
    fn words_that_are_too_wide_break_into_lines() {
        let columns = vec![Column::right("n"), Column::left("What"), Column::right("Rate")];
        let rows = vec![vec!["1".into(), "an egress path of a machine".into(), "9.41".into()]];
        assert_eq!(
            on(32, &columns, &rows),
            "  n  What                 Rate\n  1  an egress path of a  9.41\n     machine\n"
        );
        let columns = ["figure", "before", "after"].map(Column::right);
        let columns = [columns.as_slice(), &[Column::left("found")]].concat();
        let found = "cannot tell: needs at least 6 runs a side";
        let rows =
            vec![["tcp.up.loaded_rtt", "10.1 Gbit/s", "12.2 Gbit/s", found].map(String::from).to_vec()];
        let text = on(60, &columns, &rows);
        assert_eq!(found.split(' ').filter(|word| !text.contains(*word)).count(), 0, "{text}");
    }

    #[test]
    fn a_table_that_is_still_too_wide_is_a_list_for_each_row_and_not_cut_in_two() {
        let columns = ["run", "least", "median", "most"].map(Column::right);
        let rows = vec![["a", "10.1 µs", "12.2 µs", "45.0 µs"].map(String::from).to_vec()];
        assert_eq!(
            on(25, &columns, &rows),
            "  run a\n    least   10.1 µs\n    median  12.2 µs\n    most    45.0 µs\n"
        );
    }

    #[test]
    fn markdown_states_its_alignment_and_escapes_bars() {
        let (columns, rows) = sample();
        let expected = "| Test    |          Up |\n|---------|------------:|\n| TCP     | 9.41 Gbit/s |\n| UDP\\|64 |    1 Mbit/s |\n";
        assert_eq!(markdown(&columns, &rows), expected);
    }
}
