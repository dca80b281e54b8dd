//! The tables of a plan that was carried out.

use crate::document::{Block, Column, Csv, Table};
use crate::format::analysis::sections;
use model::distinct;
use model::experiment::{Experiment, ExperimentRow, RowFigure};
use model::stats::compare::Judgement;
use model::stats::distribution::Distribution;
use model::units::{Nanos, grouped};
use std::cmp::Ordering;

/// The rows of a test, the worst last: those that others are held against come first, and at the end stands what could not be
/// measured.
pub(super) fn sorted<'a>(report: &'a Experiment, test: &str) -> Vec<&'a ExperimentRow> {
    let mut rows: Vec<&ExperimentRow> = report.rows.iter().filter(|row| row.test == test).collect();
    let rank = |row: &ExperimentRow| match row.judgement() {
        _ if row.is_empty() => 3,
        _ if row.is_broken() => 2,
        Some(Judgement::Worse) => 1,
        _ => 0,
    };
    let far = |row: &ExperimentRow| {
        primary(row).and_then(|figure| Some(figure.comparison.as_ref()?.shift?.percent.abs()))
    };
    rows.sort_by(|one, other| {
        let by_distance = match rank(one) {
            1 | 2 => far(one).unwrap_or(0.0).total_cmp(&far(other).unwrap_or(0.0)),
            _ => Ordering::Equal,
        };
        rank(one).cmp(&rank(other)).then(by_distance)
    });
    rows
}

/// The figure that stands for a row.
pub(super) fn primary(row: &ExperimentRow) -> Option<&RowFigure> {
    row.figures.first()
}

/// The names of variables of these rows.
fn variables(rows: &[&ExperimentRow]) -> Vec<String> {
    rows.first().map(|row| row.settings.iter().map(|one| one.name.clone()).collect()).unwrap_or_default()
}

/// The medians of each row's foremost figures, and how the first compares.
pub(super) fn medians(rows: &[&ExperimentRow]) -> Table {
    let names = shown(rows);
    let mut columns = vec![Column::left("path")];
    columns.extend(variables(rows).into_iter().map(Column::right));
    columns.push(Column::right("runs"));
    columns.extend(names.iter().map(Column::right));
    columns.extend([Column::right("shift"), Column::right("at 95 %"), Column::left("verdict")]);
    let row = |row: &&ExperimentRow| {
        let mut cells = vec![row.path.clone()];
        cells.extend(row.settings.iter().map(|one| one.value.clone()));
        cells.push(row.counted().count().to_string());
        cells.extend(names.iter().map(|name| median(row, name)));
        let comparison = primary(row).and_then(|figure| figure.comparison.as_ref());
        cells.push(comparison.and_then(sections::shift).unwrap_or_else(|| "-".into()));
        cells.push(comparison.and_then(sections::bounds).unwrap_or_else(|| "-".into()));
        cells.push(word(row));
        cells
    };
    let mut notes = Vec::new();
    if let Some(first) = names.first().filter(|_| rows.iter().any(|row| row.against.is_some())) {
        notes.push(format!("Medians of runs; the shift is that of {first}, against: {}.", against(rows)));
    }
    Table::new(columns, rows.iter().map(row).collect()).with_notes(notes)
}

/// The rows that these are compared with.
fn against(rows: &[&ExperimentRow]) -> String {
    let mut names: Vec<&str> = rows.iter().filter_map(|row| row.against.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    names.join("; ")
}

/// The foremost figures of any row.
fn shown(rows: &[&ExperimentRow]) -> Vec<String> {
    let names = distinct(rows.iter().flat_map(|row| &row.figures).map(|figure| &figure.name));
    names.into_iter().take(MOST_FIGURES).cloned().collect()
}

fn median(row: &ExperimentRow, name: &str) -> String {
    let figure = row.figures.iter().find(|figure| figure.name == name);
    figure.map_or_else(|| "-".into(), |figure| figure.text.clone())
}

/// The word for a row: the worst of its figures, with the figure where it is not the foremost.
fn word(row: &ExperimentRow) -> String {
    if row.is_empty() {
        return if row.unavailable { "cannot run here" } else { "not measured" }.into();
    }
    let Some(judgement) = row.judgement() else {
        return if row.is_broken() { "broken" } else { "-" }.into();
    };
    let word = match judgement {
        Judgement::Better => "better",
        Judgement::Worse => "worse",
        Judgement::Same => "same",
        Judgement::CannotTell { .. } | Judgement::TooFew { .. } | Judgement::NoPercentage => "cannot tell",
    };
    let is_judged =
        |figure: &&RowFigure| figure.comparison.as_ref().is_some_and(|one| one.judgement == judgement);
    let first = row.figures.iter().find(is_judged).map(|figure| figure.name.as_str());
    let is_primary = first == primary(row).map(|figure| figure.name.as_str());
    let is_sure = matches!(judgement, Judgement::Better | Judgement::Worse);
    let named = first.filter(|_| !is_primary && is_sure).map(|name| format!(" in {name}"));
    let broken = if row.is_broken() { ", broken" } else { "" };
    format!("{word}{}{broken}", named.unwrap_or_default())
}

/// The round trips of all runs of each row together.
pub(super) fn round_trips(rows: &[&ExperimentRow]) -> Option<Table> {
    let right = ["count", "least", "median", "90 %", "99 %", "99.9 %", "longest"].map(Column::right);
    let columns = std::iter::once(Column::left("all round trips")).chain(right);
    let row = |row: &&ExperimentRow| {
        let all = row.round_trips?;
        let known = |percent, of: fn(&Distribution) -> Nanos| all.known(percent, of);
        let far = [known(99.0, |all| all.p99), known(99.9, |all| all.p999)];
        let times = [all.least(), all.median(), known(90.0, |all| all.p90), far[0], far[1], all.longest()];
        let times = times.map(|time| time.map_or_else(|| "-".into(), |time| time.to_string()));
        Some([vec![row.name(), grouped(all.count)], times.into()].concat())
    };
    let rows: Vec<Vec<String>> = rows.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table::new(columns.collect(), rows))
}

/// Every figure of every row, with its comparison in full.
pub(super) fn figures(rows: &[&ExperimentRow]) -> Vec<Block> {
    let columns = [
        Column::left("row"),
        Column::left("figure"),
        Column::right("runs"),
        Column::right("median"),
        Column::left("against"),
        Column::right("shift"),
        Column::right("at 95 %"),
        Column::left("verdict"),
    ];
    let cells = |row: &&ExperimentRow| -> Vec<Vec<String>> {
        let row_cells = |figure: &RowFigure| {
            let comparison = figure.comparison.as_ref();
            vec![
                row.name(),
                figure.name.clone(),
                figure.runs.runs.to_string(),
                figure.text.clone(),
                row.against.clone().filter(|_| comparison.is_some()).unwrap_or_default(),
                comparison.and_then(sections::shift).unwrap_or_default(),
                comparison.and_then(sections::bounds).unwrap_or_default(),
                comparison.map(|one| one.judgement.to_string()).unwrap_or_default(),
            ]
        };
        row.figures.iter().map(row_cells).collect()
    };
    vec![Block::Table(Table::new(columns.into(), rows.iter().flat_map(cells).collect()))]
}

/// A row for each figure of each run; of a run without figures one.
pub(super) fn csv(report: &Experiment) -> Csv {
    let mut lines = Vec::new();
    for row in &report.rows {
        let settings = row.settings.iter().map(|one| format!("{}={}", one.name, one.value));
        let settings = settings.collect::<Vec<_>>().join(" ");
        let line =
            |round: String, run: &str, at: String, status: &str, figure: &str, value: String, why: &str| {
                let fixed = [row.path.clone(), row.test.clone(), settings.clone(), round, run.to_owned(), at];
                [fixed.as_slice(), &[status.to_owned(), figure.to_owned(), value, why.to_owned()]].concat()
            };
        for run in &row.runs {
            let at = run.started.map(|at| at.to_string()).unwrap_or_default();
            let (round, why) = (run.round.to_string(), run.error.clone().unwrap_or_default());
            let status = run.status.map(|status| status.word()).unwrap_or_default();
            let figure_line = |figure: &str, value: String| {
                line(round.clone(), &run.id, at.clone(), status, figure, value, &why)
            };
            if run.figures.is_empty() {
                lines.push(figure_line("", String::new()));
            }
            lines
                .extend(run.figures.iter().map(|figure| figure_line(&figure.name, figure.value.to_string())));
        }
        if let Some(why) = row.reason.as_ref().filter(|_| row.runs.is_empty()) {
            lines.push(line(String::new(), "", String::new(), "", "", String::new(), why));
        }
    }
    Csv::new(CSV, lines)
}

const CSV: [&str; 10] =
    ["path", "test", "settings", "round", "run", "started", "status", "figure", "value", "error"];
/// Figures of a table: more do not fit.
const MOST_FIGURES: usize = 3;
