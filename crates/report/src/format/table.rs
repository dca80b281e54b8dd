//! Aligned tables, from the table library, in the two looks we use.

use crate::document::Column;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Columns set apart by two spaces, each line indented by two, without trailing spaces.
pub(super) fn plain(columns: &[Column], rows: &[Vec<String>]) -> String {
    let mut table = table(columns, rows);
    table.load_preset(presets::NOTHING);
    let last = columns.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index == last { 0 } else { 2 }));
    }
    table.lines().map(|line| format!("  {}\n", line.trim_end())).collect()
}

/// A table of GitHub's Markdown; a bar inside a value is escaped.
pub(super) fn markdown(columns: &[Column], rows: &[Vec<String>]) -> String {
    let escaped = |cell: &str| cell.replace('|', "\\|");
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
        assert_eq!(plain(&columns, &rows), expected);
    }

    #[test]
    fn markdown_says_its_alignment_and_escapes_bars() {
        let (columns, rows) = sample();
        let expected = "| Test    |          Up |\n|---------|------------:|\n| TCP     | 9.41 Gbit/s |\n| UDP\\|64 |    1 Mbit/s |\n";
        assert_eq!(markdown(&columns, &rows), expected);
    }
}
