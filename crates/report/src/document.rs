//! Documents: what a command has to say, as blocks that every format shows in its own form.
//!
//! A document reports what it holds and no format, a format states how a block looks and knows no document: so that a new one of
//! either is shown with all of the other.

mod block;
mod csv;
mod failure;
mod figures;
mod published;
mod screen;
mod style;
mod table;

pub use block::{Block, Chart, Conclusion, Expectation, Item, Judgement};
pub use csv::Csv;
pub(crate) use csv::{CsvCell, field, or_empty};
pub use failure::{ErrorBody, ErrorDocument};
pub use figures::{FigureRow, FigureTable};
pub use published::{Published, PublishedEvent, PublishedPlan, UNITS, with_units};
pub use screen::{Line, NamedLines, Part, Remark, Screen, Spark, TextBar};
pub use style::{Paint, Style};
pub(crate) use table::Cell;
pub use table::{Column, Table};

use crate::plot::{BarChart, Drawing, Figure, Heading};
use insight::answer::first_sentence;
use model::finding::Status;
use model::history::Entry;
use model::time::WallTime;
use serde::Serialize;
use serde_json::Value;

/// Something that a command prints: the result of a run, a report, a list.
pub trait Document {
    /// Its kind, its title and its times.
    fn head(&self) -> Head;

    /// All its blocks, in order. Text between backticks is code, as in Markdown.
    fn blocks(&self) -> Vec<Block>;

    /// The expectations, and whether each held.
    fn expectations(&self) -> Vec<Expectation> {
        Vec::new()
    }

    /// Its drawings, in order.
    fn charts(&self) -> Vec<Chart> {
        drawn(&self.blocks())
    }

    /// The hosts and the time of it, for below a drawing.
    fn provenance(&self) -> String {
        let Head { title, started, .. } = self.head();
        let at = started.map(|at| format!(", {at}")).unwrap_or_default();
        format!("{}{at}", title.replace('`', ""))
    }

    /// Its figures as rows.
    fn csv(&self) -> Csv;

    /// The document as JSON.
    fn value(&self) -> Value;

    /// The document as JSON, indented, with a line feed at its end.
    fn json(&self) -> String {
        indented(&self.value())
    }

    /// The document as lines of JSON.
    fn ndjson(&self) -> String {
        line(&self.value())
    }

    /// The runs that it is of, for formats that have a row or samples for each.
    fn entries(&self) -> Vec<Entry> {
        Vec::new()
    }

    /// Its text on a terminal: the verdicts and the title come first. `detail`: with what stands behind the answer.
    fn parts(&self, _detail: bool) -> Vec<Part> {
        parts_of_blocks(&self.head().title, self.blocks())
    }
}

/// Blocks as text, the verdicts and the title first.
pub(crate) fn parts_of_blocks(title: &str, blocks: Vec<Block>) -> Vec<Part> {
    let (verdicts, rest): (Vec<Block>, Vec<Block>) =
        blocks.into_iter().partition(|block| block.conclusion().is_some());
    verdicts.into_iter().chain([Block::Heading(title.into())]).chain(rest).map(Part::from).collect()
}

/// The drawings among blocks.
fn drawn(blocks: &[Block]) -> Vec<Chart> {
    let charts_of = |block: &Block| match block {
        Block::Chart(chart) => vec![chart.clone()],
        Block::Details(_, blocks) => drawn(blocks),
        _ => Vec::new(),
    };
    blocks.iter().flat_map(charts_of).collect()
}

/// The drawings of documents as one picture, with what they are of and `command` below. Of a document without figures it
/// has the verdict: a picture that was asked for states why it is empty.
pub fn picture(documents: &[&dyn Document], command: &str) -> Figure {
    let mut drawings: Vec<Drawing> =
        documents.iter().flat_map(|document| document.charts()).map(|chart| chart.drawing()).collect();
    if drawings.is_empty() {
        drawings.extend(documents.iter().map(|document| without_figures(*document)));
    }
    let is_void = |block: &Block| matches!(block, Block::Conclusion(of) if of.status == Status::Void);
    let whence = documents.iter().map(|document| document.provenance());
    Figure {
        heading: documents.first().filter(|_| documents.len() == 1).and_then(|document| heading(*document)),
        drawings,
        footer: whence.chain([command.to_owned()]).filter(|line| !line.is_empty()).collect(),
        void: documents.iter().any(|document| document.blocks().iter().any(is_void)),
    }
}

/// The verdict of a document with one conclusion.
fn heading(document: &dyn Document) -> Option<Heading> {
    let blocks = document.blocks();
    let mut conclusions = blocks.iter().filter_map(Block::conclusion);
    let conclusion = conclusions.next().filter(|_| conclusions.next().is_none())?;
    let text = if conclusion.answer.is_empty() { &conclusion.text } else { &conclusion.answer };
    let (word, paint) = conclusion.word();
    // The advice is for those who read the result.
    Some(Heading { word, is_good: paint == Paint::Good, text: first_sentence(text).replace('`', "") })
}

/// The title of a document in the place of its figures.
fn without_figures(document: &dyn Document) -> Drawing {
    let title = document.head().title.replace('`', "");
    BarChart { title, subtitle: "no figures to draw".into(), ..BarChart::default() }.drawing()
}

/// The head of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The kind of document in a word: `throughput`, `rfc2544`, `lab`.
    pub kind: String,
    /// Its title.
    pub title: String,
    /// How deep the title stands in Markdown, from 1: what is pasted into a ticket is a part of that.
    pub depth: usize,
    /// Begin.
    pub started: Option<WallTime>,
    /// End.
    pub finished: Option<WallTime>,
}

/// A value as indented JSON with a line feed.
///
/// # Panics
/// When a map in it has other keys than strings, which no document has.
pub fn indented_json(value: &(impl Serialize + ?Sized)) -> String {
    indented(&json_value(value))
}

/// A value as a line of JSON.
///
/// # Panics
/// See [`indented_json`].
pub fn json_line(value: &(impl Serialize + ?Sized)) -> String {
    line(&json_value(value))
}

/// A value as JSON that is not written yet.
///
/// # Panics
/// See [`indented_json`].
///
/// Every document is written from here: a serializer is compiled for each type and each form of text, and the documents are
/// large types.
pub fn json_value(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).expect("a document has string keys and plain values only")
}

fn indented(value: &Value) -> String {
    format!("{value:#}\n")
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}
