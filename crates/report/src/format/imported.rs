//! The document of a run that was read from another tool's output.

use super::RunDocument;
use crate::document::{Block, Csv, Document, Head, Line, Paint, Part};
use crate::import::Imported;
use serde_json::Value;

impl Document for Imported {
    fn head(&self) -> Head {
        RunDocument::from_run(&self.run).head()
    }

    fn blocks(&self) -> Vec<Block> {
        RunDocument::from_run(&self.run).blocks()
    }

    fn csv(&self) -> Csv {
        RunDocument::from_run(&self.run).csv()
    }

    fn value(&self) -> Value {
        RunDocument::from_run(&self.run).value()
    }

    fn ndjson(&self) -> String {
        RunDocument::from_run(&self.run).ndjson()
    }

    /// The name of the tool stands above its output: a file may hold many.
    fn parts(&self, detail: bool) -> Vec<Part> {
        let tool = self.tool.to_string();
        let tool = self.version.iter().fold(tool, |tool, version| format!("{tool} {version}"));
        let title = Line::new(Paint::Plain, format!("--- {}: {tool}", self.run.id));
        let run = RunDocument::from_run(&self.run).parts(detail);
        let [first, last] = [title, Line::default()].map(|line| Part::Lines(vec![line]));
        [first].into_iter().chain(run).chain([last]).collect()
    }
}
