//! The runs of a store as a document.

use crate::document::{Block, Column, Csv, CsvCell, Document, Head, Published, Table, json_line, or_empty};
use crate::expect::is_word;
use model::history::{Entry, Headline};
use serde_json::Value;

/// Kept runs, in the order of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The runs.
    pub entries: Vec<Entry>,
    /// Notes behind the list.
    pub notes: Vec<String>,
}

impl Document for History {
    fn head(&self) -> Head {
        Head { kind: "history".into(), title: "Kept runs".into(), depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut columns =
            vec!["run", "began", "what", "target", "label", "verdict", "figure", "figure 2", "figure 3"];
        let has_notes = self.entries.iter().any(|entry| !entry.note.is_empty());
        columns.extend(has_notes.then_some("note"));
        let letters = short_ids(&self.entries);
        let cells = |entry| {
            let mut cells = row(entry, letters);
            cells.extend(has_notes.then(|| beginning(&entry.note)));
            cells
        };
        let rows = self.entries.iter().map(cells).collect();
        let table = Table::new(columns.into_iter().map(Column::left).collect(), rows)
            .with_spare(&["figure 3", "figure 2", "note", "what", "target", "label", "began"]);
        vec![Block::Table(table), Block::Sentences(self.notes.clone())]
    }

    /// A row for each figure of each entry; one without, where there is none.
    fn csv(&self) -> Csv {
        let cells: [CsvCell<(&Entry, Option<&Headline>)>; 11] = [
            CsvCell("id", |(entry, _)| entry.id.clone()),
            CsvCell("started", |(entry, _)| entry.started.to_string()),
            CsvCell("finished", |(entry, _)| or_empty(entry.finished)),
            CsvCell("kind", |(entry, _)| entry.kind.clone()),
            CsvCell("target", |(entry, _)| entry.target.clone()),
            CsvCell("label", |(entry, _)| entry.label.clone()),
            CsvCell("note", |(entry, _)| entry.note.clone()),
            CsvCell("origin", |(entry, _)| entry.origin.name().into()),
            CsvCell("status", |(entry, _)| entry.status.clone().unwrap_or_default()),
            CsvCell("figure", |(_, figure)| figure.map(|figure| figure.name.clone()).unwrap_or_default()),
            CsvCell("value", |(_, figure)| figure.map(in_csv).unwrap_or_default()),
        ];
        let rows = self.entries.iter().flat_map(|entry| {
            let none = entry.figures.is_empty().then_some((entry, None));
            entry.figures.iter().map(move |figure| (entry, Some(figure))).chain(none)
        });
        Csv::of_cells(&cells, &rows.collect::<Vec<_>>())
    }

    fn entries(&self) -> Vec<Entry> {
        self.entries.clone()
    }

    /// An array of entries.
    fn value(&self) -> Value {
        self.entries.iter().map(published).collect()
    }

    fn ndjson(&self) -> String {
        self.entries.iter().map(|entry| json_line(&published(entry))).collect()
    }
}

fn published(entry: &Entry) -> Value {
    Published::new(entry, Some(entry.started), entry.finished).value()
}

/// The number of letters of the names that distinguishes them, at least eight.
fn short_ids(entries: &[Entry]) -> usize {
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    let alike = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| alike(pair) + 1).max().unwrap_or_default().max(LEAST)
}

fn row(entry: &Entry, letters: usize) -> Vec<String> {
    let id: String = entry.id.chars().take(letters).collect();
    let without = if entry.running { "running" } else { "not ended" };
    let status = entry.status.clone().unwrap_or_else(|| without.into());
    let began: String = entry.started.to_string().chars().take(TO_THE_MINUTE).collect();
    let facts =
        [id, began.replace('T', " "), entry.kind.clone(), entry.target.clone(), entry.label.clone(), status];
    let figures = (0..SHOWN).map(|at| entry.figures.get(at).map(in_short).unwrap_or_default());
    facts.into_iter().chain(figures).collect()
}

/// The beginning of a note: `show` has all of it.
fn beginning(note: &str) -> String {
    let line = note.lines().next().unwrap_or_default();
    match line.chars().count() > BEGINNING || line.len() < note.len() {
        true => line.chars().take(BEGINNING).chain(['…']).collect(),
        false => line.into(),
    }
}

fn in_short(figure: &Headline) -> String {
    format!("{} {}", figure.name, figure.text)
}

/// The value of a figure in CSV: its number, or its word.
pub(super) fn in_csv(figure: &Headline) -> String {
    if is_word(&figure.name) { figure.text.clone() } else { figure.value.to_string() }
}

/// Letters of a name that are shown at least.
const LEAST: usize = 8;
/// Letters of a time as far as its minute: `2026-11-22T06:01`.
const TO_THE_MINUTE: usize = 16;
/// Letters of a note that a row has.
const BEGINNING: usize = 40;
/// Figures of a row.
const SHOWN: usize = 3;
