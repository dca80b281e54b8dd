//! Bars on a terminal: a row for each, lying or side by side over time.

use super::lines::{fact, heading};
use crate::document::TextBar;
use crate::document::{Spark, Style};
use crate::format::Paint;
use crate::plot::{Bar, BarChart, BarRow};

/// The bars of every panel of a chart, all of one scale. Counts that differ by powers of ten are in the table.
pub(super) fn chart(chart: &BarChart, style: &Style) -> String {
    let rows = || chart.panels.iter().flat_map(|panel| &panel.rows);
    let most = rows().flat_map(|row| row.bars.iter().flatten()).map(|bar| bar.value).fold(0.0, f64::max);
    if chart.logarithmic || most <= 0.0 {
        return String::new();
    }
    let names = rows().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let is_single = rows().all(|row| row.bars.len() < 2);
    let bars_of = |row: &BarRow| {
        let known = row.bars.iter().enumerate().filter_map(|(at, bar)| Some((at, (*bar)?)));
        let line = |(index, (at, one)): (usize, (usize, Bar))| {
            let name = if index == 0 { row.name.as_str() } else { "" };
            let series = chart.series.get(at).filter(|_| !is_single);
            TextBar {
                name: series.map_or_else(|| name.to_owned(), |series| format!("{name:<names$}  {series}")),
                value: chart.labels.write_with(&chart.unit, one.value),
                share: one.value / most,
                limit: None,
            }
        };
        known.enumerate().map(line).collect::<Vec<_>>()
    };
    let panels = chart.panels.iter().map(|panel| {
        let title = if panel.title.is_empty() { &chart.title } else { &panel.title };
        let rows: Vec<TextBar> = panel.rows.iter().flat_map(bars_of).collect();
        if rows.is_empty() {
            return String::new();
        }
        format!("\n  {}\n{}", style.paint(Paint::Dim, title), bars(&rows, style))
    });
    panels.collect()
}

/// Bars, each beside its name and its value.
pub(super) fn bars(rows: &[TextBar], style: &Style) -> String {
    let names = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let width = style.width.saturating_sub(names + VALUE + 8).clamp(10, 60);
    let line = |row: &TextBar| {
        let mut drawn: Vec<char> = bar(row.share, width).chars().collect();
        if let Some(limit) = row.limit {
            let place = ((limit * width as f64).round() as usize).min(width);
            drawn.resize(drawn.len().max(place + 1), ' ');
            drawn[place] = '|';
        }
        let drawn: String = drawn.into_iter().collect();
        let drawn = style.paint(Paint::Good, drawn.trim_end());
        format!("  {:<names$}  {:>VALUE$}  {drawn}\n", row.name, row.value)
    };
    rows.iter().map(line).collect()
}

/// Bars between the least value of each and its count.
pub(super) fn histogram(rows: &[TextBar], style: &Style) -> String {
    let room = style.width.saturating_sub(BESIDE_COUNTS).clamp(10, 40);
    let line = |row: &TextBar| {
        let bar = style.paint(Paint::Good, &format!("{:<room$}", bar(row.share, room)));
        format!("  {:>8} ▕{bar}{:>12}\n", row.name, row.value)
    };
    if style.bars { rows.iter().map(line).collect() } else { String::new() }
}

/// A line of bars side by side for each series that is more than zeros.
pub(super) fn over_time(title: &str, rows: &[Spark], style: &Style) -> String {
    if !style.bars || rows.is_empty() {
        return String::new();
    }
    let line = |row: &Spark| match row.note.as_str() {
        _ if !row.values.iter().flatten().any(|value| *value > 0) => String::new(),
        "" => {
            let bars = standing(&row.values, row.most, style.width.clamp(60, 120) - BESIDE_NAMED);
            // No line is broken at Braille blanks.
            fact(&row.name, &bars.replace(' ', "\u{2800}"), NAME, style)
        }
        note => {
            let width = style.width.saturating_sub(BESIDE_NOTED).clamp(10, 40);
            format!("  {} ▕{}▏{note}\n", row.name, standing(&row.values, row.most, width))
        }
    };
    let title = if title.is_empty() { String::new() } else { heading(title, style) };
    title + &rows.iter().map(line).collect::<String>()
}

/// Values over time as bars side by side, the largest at full height.
pub fn sparkline(values: &[u64], width: usize) -> String {
    let bars: Vec<Option<u64>> = values.iter().copied().map(Some).collect();
    standing(&bars, values.iter().copied().max().unwrap_or(0), width)
}

/// A horizontal bar of eighths; anything above nothing shows.
fn bar(share: f64, width: usize) -> String {
    let eighths = (share * (width * 8) as f64).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    bar.extend(LYING.get((eighths % 8).wrapping_sub(1)));
    bar
}

/// Bars side by side over time, of `most` at full height; a blank where there is no value. Neighbours are joined, the
/// largest of them shown, when there are more than `width`.
fn standing(values: &[Option<u64>], most: u64, width: usize) -> String {
    let group = values.len().div_ceil(width.max(1)).max(1);
    let column = |values: &[Option<u64>]| match values.iter().flatten().max() {
        None => ' ',
        Some(value) => {
            let height = (*value as f64 / most.max(1) as f64 * 7.0).round() as usize;
            STANDING[height.min(7)]
        }
    };
    values.chunks(group).map(column).collect()
}

/// Columns of a value with its unit.
const VALUE: usize = 12;
/// Columns of a name.
const NAME: usize = 16;
/// Columns beside bars: counts, names, a name with a note.
const BESIDE_COUNTS: usize = 26;
const BESIDE_NAMED: usize = 20;
const BESIDE_NOTED: usize = 40;
const LYING: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const STANDING: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stand_and_lie() {
        assert_eq!(bar(1.0, 3), "███");
        assert_eq!(bar(0.5, 3), "█▌");
        assert_eq!(bar(0.000_1, 3), "▏");
        assert_eq!(bar(0.0, 3), "");
        assert_eq!(standing(&[Some(0), None, Some(7), Some(14)], 14, 10), "▁ ▅█");
        assert_eq!(standing(&[Some(1), Some(14), None, Some(0)], 14, 2), "█▁");
        assert_eq!(standing(&[], 14, 2), "");
    }
}
