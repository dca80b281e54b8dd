//! The rows of a plan: their figures over the runs that count, and each row against another.
//!
//! A run is one value (`docs/methods/comparison.md`).

use crate::plan::{Against, Test};
use insight::matrix::{self, Cell};
use model::distinct;
use model::experiment::{ExperimentRow, MatrixFinding, RowFigure, RowFinding, Setting};
use model::finding::Finding;
use model::stats::compare::{Case, Comparison, Group, Rules, table};
use model::stats::histogram::Histogram;
use report::expect::{higher_is_better, printed};

/// Fills in the figures of every row, and its comparison.
pub(crate) fn judge(rows: &mut [ExperimentRow], tests: &[Test]) {
    for row in rows.iter_mut() {
        row.figures = figures(row);
    }
    let pairs: Vec<(usize, usize)> =
        (0..rows.len()).filter_map(|row| Some((row, baseline(rows, row, tests)?))).collect();
    let mut places = Vec::new();
    let mut values = Vec::new();
    for (row, base) in pairs {
        rows[row].against = Some(rows[base].name());
        for (at, figure) in rows[row].figures.iter().enumerate() {
            let Some(higher) = higher_is_better(&figure.name) else { continue };
            let (base, other) = (values_of(&rows[base], &figure.name), values_of(&rows[row], &figure.name));
            if !base.is_empty() {
                places.push((row, at));
                values.push((figure.name.clone(), base, other, Rules::new(higher)));
            }
        }
    }
    for ((row, at), comparison) in places.into_iter().zip(compared(&values)) {
        rows[row].figures[at].comparison = Some(comparison);
    }
}

/// All of one table, so that chance has no better hand in a larger plan. Rates, times and shares can all be compared.
fn compared(values: &[(String, Vec<f64>, Vec<f64>, Rules)]) -> Vec<Comparison> {
    let cases: Vec<Case<'_>> =
        values.iter().map(|(name, base, other, rules)| Case { name, base, other, rules: *rules }).collect();
    table(&cases).unwrap_or_default()
}

fn values_of(row: &ExperimentRow, name: &str) -> Vec<f64> {
    let value_of = |run: &model::experiment::RowRun| {
        run.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    };
    row.counted().filter_map(value_of).collect()
}

/// The row that this one is compared with.
fn baseline(rows: &[ExperimentRow], at: usize, tests: &[Test]) -> Option<usize> {
    let row = &rows[at];
    let by_values = tests.iter().any(|test| test.name == row.test && test.against == Against::Values);
    let path = base_path(rows, &row.test)?;
    let base = match by_values || row.path == path {
        true => rows.iter().position(|one| (&one.test, &one.path) == (&row.test, &row.path))?,
        false => rows.iter().position(|one| {
            (&one.test, one.path.as_str(), &one.settings) == (&row.test, path, &row.settings)
        })?,
    };
    (base != at && !row.is_empty() && !rows[base].is_empty()).then_some(base)
}

/// The path that the others of a test are held against: of round trips the one with the lowest median, else the first.
fn base_path<'a>(rows: &'a [ExperimentRow], test: &str) -> Option<&'a str> {
    let first = rows.iter().find(|one| one.test == test)?;
    let median = |row: &&'a ExperimentRow| {
        let figure = row.figures.iter().find(|figure| figure.name == MEDIAN_RTT)?;
        figure.runs.median.map(|median| (row.path.as_str(), median))
    };
    let alike = rows.iter().filter(|row| row.test == test && row.settings == first.settings);
    let lowest = alike.filter_map(|row| median(&row)).min_by(|one, other| one.1.total_cmp(&other.1));
    Some(lowest.map_or(first.path.as_str(), |(path, _)| path))
}

/// The figure of round trips that paths are ordered by.
const MEDIAN_RTT: &str = "rtt.p50";

/// The figures of a row, the foremost first.
fn figures(row: &ExperimentRow) -> Vec<RowFigure> {
    let all = row.counted().flat_map(|run| &run.figures).map(|figure| &figure.name);
    // The one way of a latency run is the run.
    let names = distinct(all.filter(|name| !name.starts_with("way.")));
    let figure = |name: &String| {
        let runs = Group::from_values(&values_of(row, name));
        let text = runs.median.map(|median| printed(name, median)).unwrap_or_default();
        RowFigure { name: name.clone(), runs, text, comparison: None }
    };
    names.into_iter().map(figure).collect()
}

/// Findings from the rows between sites together: for each test with one combination of values, by its first figure.
pub(crate) fn together(rows: &[ExperimentRow]) -> Vec<MatrixFinding> {
    let between = rows.iter().filter(|row| row.sites.is_some());
    let matrices = distinct(between.map(|row| (row.test.as_str(), row.settings.as_slice())));
    let findings_of = |(test, settings): (&str, &[Setting])| {
        let own = || rows.iter().filter(move |row| row.test == test && row.settings == settings);
        let name = own().find_map(|row| row.figures.first()).map(|figure| figure.name.clone());
        let Some((name, higher)) = name.and_then(|name| higher_is_better(&name).map(|higher| (name, higher)))
        else {
            return Vec::new();
        };
        let cell = |row: &ExperimentRow| {
            let sites = row.sites.clone().filter(|_| !row.unavailable)?;
            let figure = row.figures.iter().find(|figure| figure.name == name);
            let value = figure.and_then(|figure| figure.runs.median);
            Some(Cell { source: sites.source, target: sites.target, family: sites.family, value })
        };
        matrix::findings(test, &own().filter_map(cell).collect::<Vec<_>>(), higher)
    };
    matrices.into_iter().flat_map(findings_of).collect()
}

/// The findings of a row's runs, each once, the worst first.
pub(crate) fn findings<'a>(runs: impl Iterator<Item = &'a [Finding]>) -> Vec<RowFinding> {
    let mut all: Vec<RowFinding> = Vec::new();
    for findings in runs {
        let mut reported: Vec<&str> = Vec::new();
        for finding in findings {
            if reported.contains(&finding.id.as_str()) {
                continue;
            }
            reported.push(&finding.id);
            match all.iter_mut().find(|known| known.id == finding.id) {
                Some(known) => known.runs += 1,
                None => all.push(RowFinding {
                    id: finding.id.clone(),
                    severity: finding.severity,
                    title: finding.title.clone(),
                    advice: finding.advice.clone(),
                    runs: 1,
                }),
            }
        }
    }
    all.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    all
}

/// The round trips of these runs together. One of another precision cannot be merged, and is left out.
pub(crate) fn merged<'a>(all: impl Iterator<Item = &'a Histogram>) -> Option<Histogram> {
    let mut sum: Option<Histogram> = None;
    for counted in all {
        match &mut sum {
            Some(sum) => drop(sum.merge(counted)),
            None => sum = Some(counted.clone()),
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::experiment::{RowRun, Setting, Sites};
    use model::finding::{Severity, Status};
    use model::history::Headline;
    use model::plan::Direction;
    use model::stats::compare::Judgement;

    fn row(path: &str, mtu: &str, rates: &[f64]) -> ExperimentRow {
        let run = |(round, rate): (usize, &f64)| RowRun {
            id: "run".into(),
            round: round as u32 + 1,
            status: Some(Status::Ok),
            figures: vec![Headline { name: "tcp.up.goodput".into(), value: *rate, text: String::new() }],
            ..RowRun::default()
        };
        let settings = vec![Setting { name: "mtu".into(), value: mtu.into() }];
        let runs = rates.iter().enumerate().map(run).collect();
        ExperimentRow {
            path: path.into(),
            test: "throughput".into(),
            settings,
            runs,
            ..ExperimentRow::default()
        }
    }

    /// Eight rates around this one.
    fn around(rate: f64) -> Vec<f64> {
        (0..8).map(|step| rate * (1.0 + f64::from(step) / 1000.0)).collect()
    }

    #[test]
    fn a_row_is_held_against_the_first_path_or_the_first_value() {
        let mut rows = vec![
            row("a", "1280", &around(1e9)),
            row("b", "1280", &around(0.5e9)),
            row("a", "2000", &around(1.5e9)),
            row("b", "2000", &around(1.5e9)),
        ];
        judge(&mut rows, &[]);
        let against: Vec<Option<&str>> = rows.iter().map(|row| row.against.as_deref()).collect();
        assert_eq!(against, [None, Some("a, mtu 1280"), Some("a, mtu 1280"), Some("a, mtu 2000")]);
        let judgements: Vec<Option<Judgement>> = rows.iter().map(ExperimentRow::judgement).collect();
        assert_eq!(
            judgements,
            [None, Some(Judgement::Worse), Some(Judgement::Better), Some(Judgement::Same)]
        );
        assert_eq!(rows[0].figures[0].text, "1.00 Gbit/s");
        let variants = Vec::new();
        let (name, paths, expect) = ("throughput".to_owned(), Vec::new(), Vec::new());
        let (kind, together, against) = ("throughput", None, Against::Values);
        let test = Test { name, kind, paths, together, against, expect, variants };
        judge(&mut rows, &[test]);
        assert_eq!(rows[3].against.as_deref(), Some("b, mtu 1280"));
    }

    #[test]
    fn round_trips_are_held_against_the_path_with_the_lowest_median() {
        let row_of = |path: &str, millis: f64| {
            let times: Vec<f64> = around(millis * 1e6);
            let mut row = row(path, "1500", &times);
            for figure in row.runs.iter_mut().flat_map(|run| &mut run.figures) {
                figure.name = MEDIAN_RTT.into();
            }
            row
        };
        let mut rows = vec![row_of("far", 30.0), row_of("near", 10.0), row_of("middle", 20.0)];
        judge(&mut rows, &[]);
        let against: Vec<Option<&str>> = rows.iter().map(|row| row.against.as_deref()).collect();
        assert_eq!(against, [Some("near, mtu 1500"), None, Some("near, mtu 1500")]);
        assert_eq!(rows[0].judgement(), Some(Judgement::Worse));
    }

    #[test]
    fn what_failed_is_void_or_was_cut_short_does_not_count() {
        let mut rows = vec![row("a", "1", &around(1e9)), row("b", "1", &around(1e9))];
        rows[1].runs[0].error = Some("cut short".into());
        rows[1].runs[1].status = Some(Status::Void);
        rows[1].runs[2].status = None;
        judge(&mut rows, &[]);
        assert_eq!(rows[1].figures[0].runs.runs, 5);
        rows[0].runs.clear();
        let mut empty = vec![rows[0].clone(), row("b", "1", &around(1e9))];
        judge(&mut empty, &[]);
        assert_eq!((empty[1].against.as_deref(), empty[1].judgement()), (None, None));
    }

    #[test]
    fn rows_between_sites_are_looked_at_together() {
        let between = |source: &str, target: &str, rate: f64| {
            let sites = Some(Sites { source: source.into(), target: target.into(), family: None });
            ExperimentRow { sites, ..row(&format!("{source}-{target}"), "1280", &around(rate)) }
        };
        let mut rows = vec![
            between("A", "B", 1e9),
            between("A", "C", 1e8),
            between("B", "A", 1e9),
            between("B", "C", 1e8),
            between("C", "A", 1e9),
            between("C", "B", 1e9),
        ];
        judge(&mut rows, &[]);
        let found = together(&rows);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].id.as_str(), found[0].test.as_str()), ("site-slow-in", "throughput"));
        // A path that cannot run here is no path that fails.
        rows[1] =
            ExperimentRow { unavailable: true, runs: Vec::new(), figures: Vec::new(), ..rows[1].clone() };
        assert!(together(&rows).iter().all(|one| !one.title.contains("A to C")), "{rows:?}");
        rows.iter_mut().for_each(|row| row.sites = None);
        assert!(together(&rows).is_empty());
    }

    #[test]
    fn findings_are_counted_by_run_and_the_worst_comes_first() {
        let finding =
            |id: &str, severity| Finding::new(id, severity, Direction::Up, format!("the title of {id}"));
        let first = [finding("host-noise", Severity::Info), finding("path-loss", Severity::Problem)];
        let second = [finding("host-noise", Severity::Info), finding("host-noise", Severity::Info)];
        let all = findings([&first[..], &second[..]].into_iter());
        let reported: Vec<(&str, u64)> = all.iter().map(|one| (one.id.as_str(), one.runs)).collect();
        assert_eq!(reported, [("path-loss", 1), ("host-noise", 2)]);
    }
}
