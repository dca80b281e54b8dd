//! A kept run with its row in the store: the user's note stands below it.

use crate::document::{Block, Chart, Csv, Document, Expectation, Head, Part};
use model::history::{Entry, StoredAs};
use serde_json::Value;

/// The document of a kept run, and its row.
pub struct Noted<'a> {
    /// The document.
    pub document: Box<dyn Document + 'a>,
    /// Its row, with the note.
    pub stored: StoredAs,
}

impl Noted<'_> {
    /// A paragraph for each line of the note.
    fn note(&self) -> Vec<Block> {
        let lines = self.stored.note.lines().filter(|line| !line.is_empty()).enumerate();
        let line =
            |(place, line): (usize, &str)| if place == 0 { format!("Note: {line}") } else { line.into() };
        lines.map(line).map(Block::Paragraph).collect()
    }
}

impl Document for Noted<'_> {
    fn head(&self) -> Head {
        self.document.head()
    }

    fn blocks(&self) -> Vec<Block> {
        self.document.blocks().into_iter().chain(self.note()).collect()
    }

    fn expectations(&self) -> Vec<Expectation> {
        self.document.expectations()
    }

    fn charts(&self) -> Vec<Chart> {
        self.document.charts()
    }

    fn provenance(&self) -> String {
        self.document.provenance()
    }

    fn csv(&self) -> Csv {
        self.document.csv()
    }

    /// With its row under the key `stored`, as an export has it, where there is a note.
    fn value(&self) -> Value {
        let mut value = self.document.value();
        let fields = value.as_object_mut().filter(|_| !self.stored.note.is_empty());
        if let (Some(fields), Ok(row)) = (fields, serde_json::to_value(&self.stored)) {
            fields.insert("stored".into(), row);
        }
        value
    }

    fn ndjson(&self) -> String {
        self.document.ndjson()
    }

    fn entries(&self) -> Vec<Entry> {
        self.document.entries()
    }

    fn parts(&self, detail: bool) -> Vec<Part> {
        let mut parts = self.document.parts(detail);
        let note = self.note();
        if !note.is_empty() {
            parts.push(Part::gap());
            parts.extend(note.into_iter().map(Part::Block));
        }
        parts
    }
}
