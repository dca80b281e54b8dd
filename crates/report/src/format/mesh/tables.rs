//! The tables of a mesh.

use super::{Group, age};
use crate::document::{Cell, Column, Csv, CsvCell, Table, or_empty};
use crate::expect::printed;
use crate::format::matrix::{self, MatrixCell};
use model::finding::Status;
use model::mesh::{MeshCell, MeshReport};
use model::stats::quantile::median;

/// Senders in rows, receivers in columns.
pub(super) fn matrix(group: &Group<'_>) -> Table {
    let cell = |cell: &&'_ MeshCell| -> String {
        let text = cell.measured().map_or(cell.state.word(), |figure| figure.text.as_str());
        let limit = cell.limit.as_ref().map(|limit| format!(" ({})", limit.text)).unwrap_or_default();
        format!("{text}{limit}{}", age(cell))
    };
    let cells: Vec<MatrixCell<'_>> = group
        .cells
        .iter()
        .map(|one| MatrixCell { source: &one.from, target: &one.to, text: cell(one) })
        .collect();
    matrix::table(title(group), &cells)
}

/// A row for each site: what goes out of it, what comes in, and with whom it is worst.
pub(super) fn sites(group: &Group<'_>) -> Table {
    let columns = [
        Column::left("site"),
        Column::right("out"),
        Column::left("worst to"),
        Column::right("in"),
        Column::left("worst from"),
        Column::right("missing"),
    ];
    let row = |site: &str| {
        let (out, worst_to) = side(group, |cell| (&cell.from, &cell.to), site);
        let (into, worst_from) = side(group, |cell| (&cell.to, &cell.from), site);
        let without = group
            .cells
            .iter()
            .filter(|cell| [&cell.from, &cell.to].contains(&&site.to_owned()) && cell.measured().is_none());
        vec![site.to_owned(), out, worst_to, into, worst_from, without.count().to_string()]
    };
    let rows = group.sites().into_iter().map(row).collect();
    let table = Table { title: title(group), ..Table::new(columns.into(), rows) };
    table.with_notes(vec!["Medians of a site's paths.".into()])
}

/// The median of the paths of a site at one end, and the worst of them.
fn side(group: &Group<'_>, ends: fn(&MeshCell) -> (&String, &String), site: &str) -> (String, String) {
    let own = group.cells.iter().filter(|cell| ends(cell).0 == site);
    let mut measured: Vec<(&str, &str, f64)> = own
        .filter_map(|cell| {
            let figure = cell.measured()?;
            Some((ends(cell).1.as_str(), figure.name.as_str(), figure.value))
        })
        .collect();
    measured.sort_by(|one, other| one.2.total_cmp(&other.2));
    let worst = if group.higher_is_better() { measured.first() } else { measured.last() };
    let values: Vec<f64> = measured.iter().map(|(_, _, value)| *value).collect();
    let name = measured.first().map_or("", |(_, name, _)| name);
    let middle = median(&values).map_or_else(|| "-".into(), |value| printed(name, value));
    let worst = worst.map(|(other, name, value)| format!("{other} {}", printed(name, *value)));
    (middle, worst.unwrap_or_else(|| "-".into()))
}

/// A row for each path.
pub(super) fn paths(group: &Group<'_>) -> Table {
    let cells: [Cell<&MeshCell>; 10] = [
        Cell("from", false, |cell| Some(cell.from.clone())),
        Cell("to", false, |cell| Some(cell.to.clone())),
        Cell("state", false, |cell| Some(cell.state.word().to_owned())),
        Cell("figure", false, |cell| Some(or_empty(cell.figure.as_ref().map(|figure| &figure.name)))),
        Cell("value", true, |cell| {
            Some(or_empty(cell.figure.as_ref().map(|figure| format!("{}{}", figure.text, age(cell)))))
        }),
        Cell("limit", false, |cell| Some(or_empty(cell.limit.as_ref().map(|limit| &limit.text)))),
        Cell("verdict", false, |cell| Some(or_empty(cell.status.map(Status::word)))),
        Cell("run", false, |cell| Some(cell.run.chars().take(8).collect())),
        Cell("attempt", false, |cell| Some(cell.attempt.max(1).to_string())),
        Cell("reason", false, |cell| Some(or_empty(cell.reason.as_ref()))),
    ];
    let table = Table::of_cells("", &cells, &group.cells).unwrap_or_default();
    table.with_spare(&["attempt", "run", "limit", "verdict", "figure"])
}

fn title(group: &Group<'_>) -> String {
    group.figure().map_or_else(|| group.title(), |figure| format!("{}: {}", group.title(), measure(figure)))
}

/// The figure without its direction: the cell states that.
fn measure(figure: &str) -> String {
    figure.split('.').filter(|part| !["up", "down"].contains(part)).collect::<Vec<_>>().join(".")
}

/// A row for each cell.
pub(super) fn csv(report: &MeshReport) -> Csv {
    Csv::of_cells(&CSV, &report.cells)
}

const CSV: [CsvCell<MeshCell>; 16] = [
    CsvCell("test", |cell| cell.test.clone()),
    CsvCell("family", |cell| or_empty(cell.family)),
    CsvCell("from", |cell| cell.from.clone()),
    CsvCell("to", |cell| cell.to.clone()),
    CsvCell("state", |cell| cell.state.word().to_owned()),
    CsvCell("figure", |cell| or_empty(cell.figure.as_ref().map(|figure| &figure.name))),
    CsvCell("value", |cell| or_empty(cell.figure.as_ref().map(|figure| figure.value))),
    CsvCell("status", |cell| or_empty(cell.status.map(Status::word))),
    CsvCell("run", |cell| cell.run.clone()),
    CsvCell("started", |cell| or_empty(cell.started)),
    CsvCell("token", |cell| cell.token.to_string()),
    CsvCell("reason", |cell| or_empty(cell.reason.as_ref())),
    CsvCell("age_ns", |cell| or_empty(cell.age_ns.map(|age| age.0))),
    CsvCell("limit", |cell| or_empty(cell.limit.as_ref().map(|limit| limit.kind))),
    CsvCell("limit_bps", |cell| {
        or_empty(cell.limit.as_ref().and_then(|limit| limit.rate).map(|rate| rate.0))
    }),
    CsvCell("attempt", |cell| cell.attempt.max(1).to_string()),
];
