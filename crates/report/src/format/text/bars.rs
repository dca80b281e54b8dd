//! Charts of bars on a terminal: a row for each bar, panel below panel.

use super::latency::bar;
use crate::format::{Paint, Style};
use crate::plot::{BarChart, BarRow};

/// The bars of every panel, all of one scale. Counts that differ by powers of ten are in the table.
pub(super) fn bars_text(chart: &BarChart, style: &Style) -> String {
    let rows = || chart.panels.iter().flat_map(|panel| &panel.rows);
    let most = rows().flat_map(|row| row.bars.iter().flatten()).map(|bar| bar.value).fold(0.0, f64::max);
    if chart.logarithmic || most <= 0.0 {
        return String::new();
    }
    let longest = |names: &mut dyn Iterator<Item = &String>| names.map(|name| name.chars().count()).max();
    let names = longest(&mut rows().map(|row| &row.name)).unwrap_or(0);
    let is_single = rows().all(|row| row.bars.len() < 2);
    let series = longest(&mut chart.series.iter().filter(|_| !is_single)).unwrap_or(0);
    let width = style.width.saturating_sub(names + series + VALUE + 8).clamp(10, 60);
    let lines = |row: &BarRow| {
        let bars = row.bars.iter().enumerate().filter_map(|(at, bar)| Some((at, (*bar)?)));
        let line = |(index, (at, one)): (usize, (usize, crate::plot::Bar))| {
            let name = if index == 0 { row.name.as_str() } else { "" };
            let of = chart.series.get(at).filter(|_| !is_single).map_or("", String::as_str);
            let value = chart.labels.write_with(&chart.unit, one.value);
            let bar = style.paint(Paint::Good, &bar(one.value / most, width));
            format!("  {name:<names$}  {of:<series$}  {value:>VALUE$}  {bar}\n")
        };
        bars.enumerate().map(line).collect::<String>()
    };
    let panels = chart.panels.iter().map(|panel| {
        let title = if panel.title.is_empty() { &chart.title } else { &panel.title };
        let rows: String = panel.rows.iter().map(lines).collect();
        if rows.is_empty() { rows } else { format!("\n  {}\n{rows}", style.paint(Paint::Dim, title)) }
    });
    panels.collect()
}

/// Columns of a value with its unit.
const VALUE: usize = 11;
