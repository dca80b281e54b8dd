//! A lab report as a document, with bars on a terminal, and as a chart.

mod brief;
mod chart;
mod csv;
mod sections;
mod sentences;
mod sweeps;

pub use chart::chart;

pub use sweeps::sweeps;

use crate::document::{
    Block, Chart, Conclusion, Csv, Document, Expectation, Head, Item, Judgement, Part, Published,
    parts_of_blocks,
};
use crate::plot::BarChart;
use model::finding::Status;
use model::lab::{LabReport, Variant};
use serde_json::Value;

impl Document for LabReport {
    fn head(&self) -> Head {
        let (title, started, finished) = (sentences::title(self), self.started, self.finished);
        Head { kind: "lab".into(), title, depth: 1, started, finished }
    }

    /// Comparisons come first; each topology after them.
    fn blocks(&self) -> Vec<Block> {
        let mut blocks = vec![Block::Paragraph(sentences::circumstances(self))];
        if !self.comparisons.is_empty() {
            blocks.push(Block::Heading("Compared".into()));
            blocks.extend(sections::compared(self).into_iter().map(Block::Table));
        }
        // Notes of the picture stand in the document, too.
        let bars = Some(BarChart { notes: Vec::new(), ..chart(self) }).filter(|bars| !bars.panels.is_empty());
        blocks.extend(drawn(self, bars).into_iter().map(Block::Chart));
        blocks.extend(self.variants.iter().flat_map(|one| part(self, one)));
        if !self.notes.is_empty() {
            blocks.extend([Block::Heading("Notes".into()), Block::list(self.notes.iter().cloned())]);
        }
        blocks.push(conclusion(self));
        blocks
    }

    /// A picture for itself has its notes in it.
    fn charts(&self) -> Vec<Chart> {
        drawn(self, Some(chart(self)).filter(|bars| !bars.panels.is_empty()))
    }

    fn expectations(&self) -> Vec<Expectation> {
        let expectations_of = |variant: &Variant| -> Vec<Expectation> {
            variant.expectations.iter().map(|one| expectation(variant, one)).collect()
        };
        self.variants.iter().flat_map(expectations_of).collect()
    }

    /// A row for each repetition.
    fn csv(&self) -> Csv {
        csv::rows(self)
    }

    /// Schema `pathmeter/lab/1`.
    fn value(&self) -> Value {
        Published::new(self, self.started, self.finished).value()
    }

    /// One screen; the details are its blocks.
    fn parts(&self, detail: bool) -> Vec<Part> {
        if detail { parts_of_blocks(&self.head().title, self.blocks()) } else { brief::parts(self) }
    }
}

fn part(report: &LabReport, variant: &Variant) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(format!("{}: {}", variant.name, variant.title))];
    blocks.extend(sections::section_tables(report, variant).into_iter().map(Block::Table));
    let before = sentences::of_measuring(variant).into_iter().map(Item::from);
    let findings = variant
        .findings
        .iter()
        .map(|one| Item { line: sentences::finding(one), finding: Some(one.finding.clone()) });
    let notes = variant.notes.iter().cloned().map(Item::from);
    blocks.push(Block::List(before.chain(findings).chain(notes).collect()));
    blocks
}

/// Sweeps, and then the bars that there are.
fn drawn(report: &LabReport, bars: Option<BarChart>) -> Vec<Chart> {
    sweeps(report).map(Chart::Lines).into_iter().chain(bars.map(Chart::Bars)).collect()
}

fn expectation(variant: &Variant, one: &model::lab::Expectation) -> Expectation {
    Expectation {
        of: variant.name.clone(),
        what: one.what.clone(),
        expected: one.expected.clone(),
        found: one.found.clone(),
        judgement: match one.held {
            Some(true) => Judgement::Held,
            Some(false) => Judgement::Broken,
            None => Judgement::Open,
        },
    }
}

fn status(report: &LabReport) -> Status {
    match (report.is_void(), report.is_broken()) {
        (true, _) => Status::Void,
        (_, true) => Status::Broken,
        // A test that did not run may hold or not.
        _ if report.is_interrupted() => Status::Void,
        _ => Status::Ok,
    }
}

fn conclusion(report: &LabReport) -> Block {
    Block::Conclusion(Conclusion::new(status(report), sentences::verdict(report)))
}

/// Whether it was measured, and no expectation is broken; one about a test that was not requested is not.
fn is_not_broken(variant: &Variant) -> bool {
    let was_measured = !variant.series.is_empty() || !variant.sweeps.is_empty();
    let broken = |one| expectation(variant, one).judgement == Judgement::Broken;
    was_measured && sentences::not_measured(variant).is_empty() && !variant.expectations.iter().any(broken)
}
