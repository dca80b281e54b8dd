//! A plan carried out, as a document: what it comes to, then a table for each test, the worst row last.

mod chart;
mod matrix;
mod outline;
mod tables;

use crate::document::{
    Block, Chart, Conclusion, Csv, Document, Expectation, Head, Item, Judgement as Held, Published,
};
use crate::format::analysis::sections;
use model::experiment::{Experiment, ExperimentRow, RowFinding};
use model::finding::{Severity, Status};
use model::stats::compare::Judgement;
use model::units::count;
use serde_json::Value;

impl Document for Experiment {
    fn head(&self) -> Head {
        let (started, finished) = (self.started, self.finished);
        Head { kind: "plan".into(), title: self.title.clone(), depth: 1, started, finished }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![conclusion(self), Block::Paragraph(circumstances(self))];
        for test in tests(self) {
            let rows = tables::sorted(self, test);
            blocks.push(Block::Heading(test.to_owned()));
            blocks.push(Block::Table(tables::medians(&rows)));
            blocks.extend(chart::draw_chart(test, &rows).map(Block::Chart));
            blocks.extend(tables::round_trips(&rows).map(Block::Table));
            blocks.extend(matrix::matrix_tables(&rows).into_iter().map(Block::Table));
            let together = self.findings.iter().filter(|finding| finding.test == test);
            let together = together.map(|finding| Item::from(format!("{}: {}", finding.id, finding.title)));
            let alone = rows.iter().flat_map(|row| reasons(row));
            blocks.push(Block::List(together.chain(alone).collect()));
            blocks.push(Block::Details(format!("{test}: every figure"), tables::figures(&rows)));
        }
        if !self.notes.is_empty() {
            blocks.extend([Block::Heading("Notes".into()), Block::list(self.notes.iter().cloned())]);
        }
        blocks
    }

    fn charts(&self) -> Vec<Chart> {
        tests(self)
            .into_iter()
            .filter_map(|test| chart::draw_chart(test, &tables::sorted(self, test)))
            .collect()
    }

    fn expectations(&self) -> Vec<Expectation> {
        self.rows.iter().flat_map(expectations).collect()
    }

    /// A row for each figure of each run.
    fn csv(&self) -> Csv {
        tables::csv(self)
    }

    /// Schema `pathmeter/experiment/1`.
    fn value(&self) -> Value {
        Published::new(self, self.started, self.finished).value()
    }
}

/// The tests that have rows, in their order.
fn tests(report: &Experiment) -> Vec<&str> {
    let mut names: Vec<&str> = report.rows.iter().map(|row| row.test.as_str()).collect();
    names.dedup();
    names
}

/// How it was done.
fn circumstances(report: &Experiment) -> String {
    let sequence = if report.interleaved { "the rows took turns" } else { "one row after the other" };
    let runs: usize = report.rows.iter().map(|row| row.counted().count()).sum();
    let host = report.host.as_ref().map(|host| format!("; {}, {}", host.version, host.kernel));
    let repetitions = count(report.repetitions, "run");
    let rows = count(report.rows.len() as u64, "row");
    format!("{rows}, {repetitions} each, {sequence}; {runs} count{}", host.unwrap_or_default())
}

fn status(report: &Experiment) -> Status {
    let is_worse = report.rows.iter().any(|row| row.judgement() == Some(Judgement::Worse));
    match () {
        () if report.is_void() => Status::Void,
        () if report.failed().next().is_some() => Status::Problem,
        () if report.is_broken() => Status::Broken,
        () if is_worse || !report.findings.is_empty() || report.rows.iter().any(ExperimentRow::is_empty) => {
            Status::Degraded
        }
        () => Status::Ok,
    }
}

fn conclusion(report: &Experiment) -> Block {
    let mut sentences = Vec::new();
    if report.is_void() {
        let why = report.rows.iter().find_map(|row| row.reason.clone());
        sentences
            .push(format!("Nothing could be measured: {}.", why.unwrap_or_else(|| "it was stopped".into())));
    } else {
        sentences.extend(empty(report));
        let broken =
            report.rows.iter().filter(|row| row.is_broken() && !row.unavailable).map(ExperimentRow::name);
        let broken: Vec<String> = broken.collect();
        if !broken.is_empty() {
            sentences.push(format!("Expectations were broken: {}.", broken.join("; ")));
        }
        sentences
            .extend(report.findings.iter().map(|finding| format!("{}: {}.", finding.test, finding.title)));
        sentences.extend(changes(report));
        if sentences.is_empty() {
            sentences.push(nothing_stands_out(report));
        }
    }
    Block::Conclusion(Conclusion::new(status(report), sentences.join(" ")))
}

/// Every row was measured, and none is surely other than what it is held against.
fn nothing_stands_out(report: &Experiment) -> String {
    let is_open = |row: &&ExperimentRow| {
        matches!(row.judgement(), Some(Judgement::CannotTell { .. } | Judgement::TooFew { .. }))
    };
    let open = report.rows.iter().filter(is_open).count() as u64;
    match (report.rows.len(), open) {
        (1, _) => "It was measured, and there is nothing to compare it with.".into(),
        (_, 0) => "All rows were measured, and none is worse than what it is held against.".into(),
        (_, open) => format!(
            "All rows were measured. Of {} it is not clear whether there is a difference: more runs would.",
            count(open, "row")
        ),
    }
}

/// Rows of which there is nothing.
fn empty(report: &Experiment) -> Option<String> {
    let names: Vec<String> =
        report.rows.iter().filter(|row| row.is_empty()).map(ExperimentRow::name).collect();
    (!names.is_empty()).then(|| format!("There is no result for {}.", names.join("; ")))
}

/// The differences that are certain, first the changes for the worse; of many rows the table has the rest.
fn changes(report: &Experiment) -> Vec<String> {
    let changed_to = |word| report.rows.iter().filter_map(move |row| changed(row, word));
    let mut all: Vec<String> = changed_to(Judgement::Worse).chain(changed_to(Judgement::Better)).collect();
    let more = all.len().saturating_sub(MOST_CHANGES);
    all.truncate(MOST_CHANGES);
    all.extend((more > 0).then(|| format!("{} more.", count(more as u64, "difference"))));
    all
}

/// `b is worse than a: rtt.p50 +20.0 %, rtt.p99 +31.0 %.`
fn changed(row: &ExperimentRow, judgement: Judgement) -> Option<String> {
    let changed = row.figures.iter().filter_map(|figure| {
        let comparison = figure.comparison.as_ref()?;
        let change = sections::shift(comparison)?;
        (comparison.judgement == judgement).then(|| format!("{} {change}", figure.name))
    });
    let changed: Vec<String> = changed.collect();
    let against = row.against.as_ref()?;
    (!changed.is_empty())
        .then(|| format!("{} is {judgement} than {against}: {}.", row.name(), changed.join(", ")))
}

/// Why a row is as it is: what is missing, what was expected, what was found.
fn reasons(row: &ExperimentRow) -> Vec<Item> {
    let name = row.name();
    let missing = row.reason.iter().map(|why| Item::from(format!("{name}: {why}")));
    let broken = row.expectations.iter().filter(|one| !one.held && !row.unavailable);
    let broken =
        broken.map(|one| Item::from(format!("{name}: expected {}, {}", one.expectation, one.found())));
    let runs = row.counted().count() as u64;
    let found = row.findings.iter().filter(|finding| finding.severity > Severity::Info);
    missing.chain(broken).chain(found.map(|one| Item::from(finding(&name, one, runs)))).collect()
}

fn finding(name: &str, finding: &RowFinding, runs: u64) -> String {
    let often =
        if finding.runs < runs { format!(" ({} of {runs} runs)", finding.runs) } else { String::new() };
    format!("{name}: {}{often}: {}", finding.id, finding.title)
}

fn expectations(row: &ExperimentRow) -> Vec<Expectation> {
    let checked_expectation = |checked: &model::expectation::Checked| Expectation {
        of: format!("{}: {}", row.test, row.name()),
        what: checked.expectation.clone(),
        expected: String::new(),
        found: checked.found(),
        judgement: match (checked.held, row.unavailable) {
            (true, _) => Held::Held,
            (false, true) => Held::Open,
            (false, false) => Held::Broken,
        },
    };
    row.expectations.iter().map(checked_expectation).collect()
}

/// Differences that stand in the verdict.
const MOST_CHANGES: usize = 4;
