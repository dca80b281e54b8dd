//! Each site of a mesh as two bars: what goes out of it, and what comes in.

use super::Group;
use crate::document::Chart;
use crate::expect::axis_unit;
use crate::plot::{Bar, BarChart, BarRow};
use model::stats::quantile::median;

/// The chart; absent where fewer than two paths were measured.
pub(super) fn draw_chart(group: &Group<'_>) -> Option<Chart> {
    let name = group.figure()?;
    let all = group.values(|_| true);
    let (unit, scale) = axis_unit(name, all.iter().copied().fold(0.0, f64::max));
    let bar = |values: Vec<f64>| {
        let whisker = Some([values.first()? / scale, values.last()? / scale]);
        Some(Bar { value: median(&values)? / scale, whisker, mark: None })
    };
    let row = |site: &str| {
        BarRow::new(
            site,
            vec![bar(group.values(|cell| cell.from == site)), bar(group.values(|cell| cell.to == site))],
            "not measured",
        )
    };
    let rows: Vec<BarRow> = group.sites().into_iter().map(row).collect();
    (all.len() > 1).then(|| {
        Chart::Bars(BarChart {
            title: format!("Mesh: {} of each host", group.title()),
            subtitle: "medians of its paths to and from the others".into(),
            unit: unit.into(),
            series: vec!["to the others".into(), "from the others".into()],
            whiskers: Some("least and most of its paths".into()),
            ..BarChart::of_rows(rows)
        })
    })
}
