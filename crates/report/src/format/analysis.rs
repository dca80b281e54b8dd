//! An analysis of several runs as a document.

mod csv;
pub(super) mod sections;

use super::text::phrases;
use crate::document::{Block, Csv, Document, Head, Item, Table, json_value};
use insight::analysis::{Analysis, RunFinding};
use model::units::count;
use serde_json::Value;

impl Document for Analysis {
    fn head(&self) -> Head {
        let title = format!("Analysis of {}", count(self.runs, "run"));
        Head { kind: "analysis".into(), title, depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for table in sections::section_tables(self) {
            blocks.push(Block::Heading(table.title));
            blocks.push(Block::Table(Table { title: String::new(), ..table }));
        }
        let findings = self.findings.iter().map(item).collect();
        let lists =
            [("Conclusions", Block::list(self.conclusions.clone())), ("Findings", Block::List(findings))];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            blocks.extend([Block::Heading(title.into()), list]);
        }
        blocks
    }

    /// A row for each direction and path of each run.
    fn csv(&self) -> Csv {
        csv::rows(self)
    }

    /// Schema `pathmeter/analysis/1`.
    fn value(&self) -> Value {
        json_value(self)
    }
}

fn item(RunFinding { run, finding, .. }: &RunFinding) -> Item {
    let severity = phrases::severity(finding.severity);
    let advice = if finding.advice.is_empty() { String::new() } else { format!(" → {}", finding.advice) };
    let title = finding.title.trim_end_matches('.');
    let line = format!("{run} ({severity}, {}): {title}.{advice}", finding.id);
    Item { line, finding: Some(finding.clone()) }
}
