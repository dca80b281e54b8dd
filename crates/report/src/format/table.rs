//! Aligned tables, from the table library, in the two looks we use.

use super::Style;
use super::markdown::escaped;
use crate::document::Column;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Columns set apart by two spaces, each line indented by two, without trailing spaces. A table wider than the screen has its
/// widest words broken into lines, and if that is not enough it goes on below, with its first column again.
pub(super) fn plain(columns: &[Column], rows: &[Vec<String>], style: &Style) -> String {
    let room = style.width.saturating_sub(INDENT);
    let rows = narrowed(columns, rows, room);
    let mut text = String::new();
    for part in parts(&widths(columns, &rows), room) {
        let columns: Vec<Column> = part.iter().map(|index| columns[*index].clone()).collect();
        let cell = |row: &Vec<String>, index: &usize| row.get(*index).cloned().unwrap_or_default();
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| part.iter().map(|index| cell(row, index)).collect()).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        // One of the parts may have the wide words alone.
        text.push_str(&whole(&columns, &narrowed(&columns, &rows, room)));
    }
    text
}

/// A table without the dispensable columns, as many of them as it takes to fit the width.
pub(super) fn without(
    mut columns: Vec<Column>,
    mut rows: Vec<Vec<String>>,
    dispensable: &[&str],
    width: usize,
) -> (Vec<Column>, Vec<Vec<String>>) {
    for heading in dispensable {
        if whole(&columns, &rows).lines().all(|line| line.chars().count() <= width) {
            break;
        }
        if let Some(at) = columns.iter().position(|column| column.heading == *heading) {
            columns.remove(at);
            rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    (columns, rows)
}

/// How wide each column is.
fn widths(columns: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let cells = |index: usize| rows.iter().filter_map(move |row| row.get(index)).map(|cell| longest(cell));
    let width =
        |(index, column): (usize, &Column)| cells(index).chain([longest(&column.heading)]).max().unwrap_or(0);
    columns.iter().enumerate().map(width).collect()
}

/// The rows with the words of the widest columns in as many lines as it takes for the table to fit, if that is possible.
fn narrowed(columns: &[Column], rows: &[Vec<String>], room: usize) -> Vec<Vec<String>> {
    let all = widths(columns, rows);
    let phrases: Vec<usize> = (1..columns.len()).filter(|index| !columns[*index].right).collect();
    let total = |most: usize| {
        let width = |index: usize| all[index].min(if phrases.contains(&index) { most } else { usize::MAX });
        (0..columns.len()).map(width).sum::<usize>() + GAP * columns.len().saturating_sub(1)
    };
    let widest = phrases.iter().map(|index| all[*index]).max().unwrap_or(0);
    let most = (LEAST_WORDS..widest).rev().find(|most| total(*most) <= room);
    let Some(most) = most.filter(|_| total(widest) > room) else { return rows.to_vec() };
    let is_wide = |index: &usize| phrases.contains(index) && all[*index] > most;
    if (0..columns.len()).filter(is_wide).any(|index| columns[index].heading.chars().count() > most) {
        return rows.to_vec();
    }
    let narrow = Style { colour: false, width: most, detail: false };
    let cell = |(index, cell): (usize, &String)| match is_wide(&index) {
        true => narrow.wrap(cell, 0).join("\n"),
        false => cell.clone(),
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

/// The columns that stand side by side: all, or as many as fit, and below them the others with the first column again.
fn parts(widths: &[usize], room: usize) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
    let mut used = 0;
    for (index, width) in widths.iter().enumerate() {
        let is_full = used + width > room && parts.last().is_some_and(|part| part.len() > 1);
        if is_full {
            parts.push(vec![0]);
            used = widths[0] + GAP;
        }
        if let Some(part) = parts.last_mut() {
            part.push(index);
        }
        used += width + GAP;
    }
    parts
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
        columns.iter().map(|one| Column { heading: escaped(&one.heading), right: one.right }).collect();
    let mut table = table(&columns, &rows);
    table.load_preset(presets::ASCII_MARKDOWN);
    let mut lines: Vec<String> = table.lines().collect();
    if let Some(rule) = lines.get_mut(1) {
        *rule = aligned_rule(rule, &columns);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Markdown says alignment with a colon in the rule: `|---:|`.
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

    #[test]
    fn a_narrow_screen_leaves_out_columns_and_cuts_no_table_in_two() {
        let heads = ["Frame", "Rate", "Device", "CPU", "Limit"].map(Column::right).to_vec();
        let rows = vec![["64", "9.41", "0.0284", "98/50", "line rate"].map(String::from).to_vec()];
        let headings = |width| {
            let (columns, rows) = without(heads.clone(), rows.clone(), &["Device", "CPU"], width);
            assert_eq!(columns.len(), rows[0].len());
            columns.into_iter().map(|column| column.heading).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(headings(80), "Frame Rate Device CPU Limit");
        assert_eq!(headings(32), "Frame Rate CPU Limit");
        assert_eq!(headings(10), "Frame Rate Limit");
    }

    #[test]
    fn a_table_that_is_too_wide_breaks_between_words_and_then_goes_on_below() {
        let style = |width| Style { width, ..Style::default() };
        let columns = vec![Column::right("n"), Column::left("What"), Column::right("Rate")];
        let rows = vec![vec!["1".into(), "an egress path of a machine".into(), "9.41".into()]];
        assert_eq!(
            plain(&columns, &rows, &style(32)),
            "  n  What                 Rate\n  1  an egress path of a  9.41\n     machine\n"
        );
        let columns = ["run", "least", "median", "most"].map(Column::right);
        let rows = vec![["a", "10.1 µs", "12.2 µs", "45.0 µs"].map(String::from).to_vec()];
        assert_eq!(
            plain(&columns, &rows, &style(25)),
            "  run    least   median\n    a  10.1 µs  12.2 µs\n\n  run     most\n    a  45.0 µs\n"
        );
    }

    #[test]
    fn words_that_are_too_wide_break_in_the_part_that_has_them() {
        let columns = vec![
            Column::left("figure"),
            Column::right("before"),
            Column::right("after"),
            Column::left("found"),
        ];
        let found = "cannot tell: needs at least 6 runs a side";
        let rows =
            vec![["tcp.up.loaded_rtt", "10.1 Gbit/s", "12.2 Gbit/s", found].map(String::from).to_vec()];
        let text = plain(&columns, &rows, &Style { width: 60, ..Style::default() });
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        let words = |text: &str| text.split_whitespace().filter(|word| found.contains(*word)).count();
        assert!(words(&text) >= found.split_whitespace().count(), "{text}");
    }

    #[test]
    fn markdown_says_its_alignment_and_escapes_bars() {
        let (columns, rows) = sample();
        let expected = "| Test    |          Up |\n|---------|------------:|\n| TCP     | 9.41 Gbit/s |\n| UDP\\|64 |    1 Mbit/s |\n";
        assert_eq!(markdown(&columns, &rows), expected);
    }
}
