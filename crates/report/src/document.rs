//! Documents: what a command has to say, as blocks that every format shows in its own way.
//!
//! A document says what it holds and no format, a format says how a block looks and knows no document: so that a new one of
//! either is shown with all of the other.

mod block;
mod csv;
mod style;
mod table;

pub use block::{Block, Chart, Conclusion, Expectation, Item, Judgement};
pub use csv::{Csv, Field};
pub use style::{Paint, Style};
pub(crate) use table::Cell;
pub use table::{Column, Table};

use model::history::Entry;
use model::time::WallTime;
use serde::Serialize;

/// Something that a command prints: the result of a run, a report, a list.
pub trait Document {
    /// What it is and when it came to be.
    fn head(&self) -> Head;

    /// All that it says, in order. Text between backticks is code, as in Markdown.
    fn blocks(&self) -> Vec<Block>;

    /// What was expected, and whether it held.
    fn expectations(&self) -> Vec<Expectation> {
        Vec::new()
    }

    /// Its figures as rows.
    fn csv(&self) -> Csv;

    /// The document as JSON, indented, with a line feed at its end.
    fn json(&self) -> String;

    /// The document as lines of JSON.
    fn ndjson(&self) -> String;

    /// The runs that it is of, for formats that have a row or samples for each.
    fn entries(&self) -> Vec<Entry> {
        Vec::new()
    }

    /// Its text for people where blocks cannot lay it out: a run's is the one that is shown live.
    fn own_text(&self, _style: &Style) -> Option<String> {
        None
    }

    /// Its Markdown, likewise.
    fn own_markdown(&self) -> Option<String> {
        None
    }
}

/// What a document is.
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
    serde_json::to_string_pretty(value).expect("a document has string keys and plain values only") + "\n"
}

/// A value as a line of JSON.
///
/// # Panics
/// As [`indented_json`].
pub fn json_line(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("a document has string keys and plain values only") + "\n"
}
