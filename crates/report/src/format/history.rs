//! The runs of a store as a document.

use crate::document::{Block, Column, Csv, Document, Head, Published, Table, json_line};
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

    fn csv(&self) -> Csv {
        let columns = [
            "id", "started", "finished", "kind", "target", "label", "note", "origin", "status", "figure",
            "value",
        ];
        Csv::new(columns, self.entries.iter().flat_map(csv_rows))
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

/// A row for each figure; one without, where there is none.
fn csv_rows(entry: &Entry) -> Vec<Vec<String>> {
    let time = |time: Option<model::time::WallTime>| time.map(|time| time.to_string()).unwrap_or_default();
    let head = || {
        vec![
            entry.id.clone(),
            time(Some(entry.started)),
            time(entry.finished),
            entry.kind.clone(),
            entry.target.clone(),
            entry.label.clone(),
            entry.note.clone(),
            entry.origin.name().into(),
            entry.status.clone().unwrap_or_default(),
        ]
    };
    let with = |name: String, value: String| {
        let mut row = head();
        row.extend([name, value]);
        row
    };
    match entry.figures.as_slice() {
        [] => vec![with(String::new(), String::new())],
        figures => figures.iter().map(|figure| with(figure.name.clone(), in_csv(figure))).collect(),
    }
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
