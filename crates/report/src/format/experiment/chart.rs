//! The foremost figure of each row of a test as bars.

use super::tables::primary;
use crate::document::Chart;
use crate::expect::axis_unit;
use crate::plot::{Bar, BarChart, BarRow};
use model::experiment::{ExperimentRow, RowFigure};

/// The chart; absent where nothing was measured, or only one row.
pub(super) fn draw_chart(test: &str, rows: &[&ExperimentRow]) -> Option<Chart> {
    let name = rows.iter().find_map(|row| primary(row)).map(|figure| figure.name.clone())?;
    let figure = |row: &ExperimentRow| -> Option<RowFigure> {
        row.figures.iter().find(|one| one.name == name).cloned()
    };
    let medians: Vec<f64> = rows.iter().filter_map(|row| figure(row)?.runs.median).collect();
    let (unit, scale) = axis_unit(&name, medians.iter().copied().fold(0.0, f64::max));
    let row = |row: &&ExperimentRow| {
        let bar = figure(row).and_then(|figure| {
            let whisker = figure.runs.median_bounds.map(|ends| ends.map(|end| end / scale));
            Some(Bar { value: figure.runs.median? / scale, whisker, mark: None })
        });
        let missing = if row.unavailable { "cannot run here" } else { "not measured" };
        BarRow { name: row.name(), bars: vec![bar], missing: missing.into() }
    };
    let bars: Vec<BarRow> = rows.iter().map(row).collect();
    let whiskers = bars.iter().flat_map(|row| row.bars.iter().flatten()).any(|bar| bar.whisker.is_some());
    (medians.len() > 1).then(|| {
        Chart::Bars(BarChart {
            title: test.to_owned(),
            subtitle: format!("medians of {name} over the runs of each row"),
            unit: unit.into(),
            series: vec![name],
            whiskers: whiskers.then(|| "95 % confidence interval of the median".into()),
            ..BarChart::of_rows(bars)
        })
    })
}
